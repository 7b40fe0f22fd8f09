//! A list that grows by pieces: what an array has one of for each part.
//!
//! Arrays that are used alike grow alike. If their lists were moved whenever they are full, each of them would leave blocks behind that are too small for
//! all the others.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Entries of a long list's pieces; the first ones are shorter.
const PIECE: usize = 64;
/// Up to so many entries are moved when there are more.
const FEW: usize = 8;

/// A list that is one block while it is short, and made in one go while it is as long as it was made. One entry, which most have, needs no block.
#[derive(Clone, Debug)]
pub(super) enum Pieces<T> {
    Single(T),
    One(Vec<T>),
    Many(Box<Many<T>>),
}

/// A list to which something was added when it was long. The first of `more` has as many entries as `first`, the next one twice as many, up to
/// [`PIECE`].
#[derive(Clone, Debug)]
pub(super) struct Many<T> {
    first: Vec<T>,
    more: Vec<Vec<T>>,
}

impl<T> Many<T> {
    /// How many of `more` are shorter than the others, and the entries before these.
    fn short(&self) -> (usize, usize) {
        let (mut pieces, mut entries) = (0, self.first.len());
        while entries < PIECE {
            pieces += 1;
            entries *= 2;
        }
        (pieces, entries)
    }

    /// In which of `more` entry `at` is, and where; none if it is in `first`.
    fn place(&self, at: usize) -> Option<(usize, usize)> {
        let first = self.first.len();
        if at < first {
            return None;
        }
        let (pieces, entries) = self.short();
        Some(match at.checked_sub(entries) {
            Some(at) => (pieces + at / PIECE, at % PIECE),
            None => {
                let piece = (at / first).ilog2();
                (piece as usize, at - (first << piece))
            }
        })
    }

    /// Room of piece `number`.
    fn room(&self, number: usize) -> usize {
        if number < self.short().0 {
            self.first.len() << number
        } else {
            PIECE
        }
    }
}

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Pieces::One(Vec::new())
    }
}

impl<T> From<Vec<T>> for Pieces<T> {
    fn from(all: Vec<T>) -> Self {
        match <[T; 1]>::try_from(all) {
            Ok([only]) => Pieces::Single(only),
            Err(all) => Pieces::One(all),
        }
    }
}

impl<T> Pieces<T> {
    pub(super) fn len(&self) -> usize {
        match self {
            Pieces::Single(_) => 1,
            Pieces::One(all) => all.len(),
            Pieces::Many(many) => {
                let all = many.more.len().saturating_sub(1);
                let short = many.short().0.min(all);
                let before = (many.first.len() << short) + (all - short) * PIECE;
                before + many.more.last().map_or(0, Vec::len)
            }
        }
    }

    /// Entries that there is room for beside itself.
    pub(super) fn capacity(&self) -> usize {
        match self {
            Pieces::Single(_) => 0,
            Pieces::One(all) => all.capacity(),
            Pieces::Many(many) => {
                many.first.capacity() + many.more.iter().map(Vec::capacity).sum::<usize>()
            }
        }
    }

    pub(super) fn get(&self, at: usize) -> &T {
        match self {
            Pieces::Single(only) => &core::slice::from_ref(only)[at],
            Pieces::One(all) => &all[at],
            Pieces::Many(many) => match many.place(at) {
                None => &many.first[at],
                Some((piece, at)) => &many.more[piece][at],
            },
        }
    }

    pub(super) fn get_mut(&mut self, at: usize) -> &mut T {
        match self {
            Pieces::Single(only) => &mut core::slice::from_mut(only)[at],
            Pieces::One(all) => &mut all[at],
            Pieces::Many(many) => match many.place(at) {
                None => &mut many.first[at],
                Some((piece, at)) => &mut many.more[piece][at],
            },
        }
    }

    pub(super) fn push(&mut self, entry: T) {
        match self {
            Pieces::Single(_) => {
                let Pieces::Single(first) = core::mem::take(self) else {
                    unreachable!("it is one");
                };
                *self = Pieces::One(alloc::vec![first, entry]);
            }
            Pieces::One(all) if all.is_empty() && all.capacity() == 0 => {
                *self = Pieces::Single(entry);
            }
            Pieces::One(all) => {
                if all.len() < FEW || all.len() < all.capacity() {
                    if all.len() == all.capacity() {
                        all.reserve_exact(all.len());
                    }
                    return all.push(entry);
                }
                let first = core::mem::take(all);
                let more = Vec::new();
                *self = Pieces::Many(Box::new(Many { first, more }));
                self.push(entry);
            }
            Pieces::Many(many) => match many.more.last_mut() {
                Some(last) if last.len() < last.capacity() => last.push(entry),
                _ => {
                    let mut piece = Vec::with_capacity(many.room(many.more.len()));
                    piece.push(entry);
                    many.more.push(piece);
                }
            },
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let (first, more) = match self {
            Pieces::Single(only) => (core::slice::from_ref(only), [].as_slice()),
            Pieces::One(all) => (all.as_slice(), [].as_slice()),
            Pieces::Many(many) => (many.first.as_slice(), many.more.as_slice()),
        };
        first.iter().chain(more.iter().flatten())
    }

    /// Back to no entries.
    pub(super) fn clear(&mut self) {
        *self = Pieces::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_where_they_are() {
        for first in [0, 1, 3, 8, 40, 64, 100] {
            let mut list: Pieces<usize> = Vec::from_iter(0..first).into();
            for at in first..1000 {
                assert_eq!(list.len(), at);
                list.push(at);
                assert!(list.capacity() <= (2 * list.len()).min(list.len() + PIECE));
            }
            assert!(list.iter().copied().eq(0..1000));
            for at in 0..1000 {
                assert_eq!((*list.get(at), *list.get_mut(at)), (at, at));
            }
            list.clear();
            assert_eq!((list.len(), list.iter().count()), (0, 0));
        }
    }
}
