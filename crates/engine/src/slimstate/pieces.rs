//! A list that grows by pieces: what an array has one of for each part.
//!
//! Arrays that are used alike grow alike. If their lists were moved whenever they are full, each of them would leave blocks behind that are too small for
//! all the others.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Entries of a piece.
const PIECE: usize = 64;

/// A list that is one block while it is short, and made in one go while it is as long as it was made.
#[derive(Clone, Debug)]
pub(super) enum Pieces<T> {
    One(Vec<T>),
    Many(Box<Many<T>>),
}

/// A list that was longer than a piece when something was added.
#[derive(Clone, Debug)]
pub(super) struct Many<T> {
    first: Vec<T>,
    more: Vec<Vec<T>>,
}

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Pieces::One(Vec::new())
    }
}

impl<T> From<Vec<T>> for Pieces<T> {
    fn from(all: Vec<T>) -> Self {
        Pieces::One(all)
    }
}

impl<T> Pieces<T> {
    pub(super) fn len(&self) -> usize {
        match self {
            Pieces::One(all) => all.len(),
            Pieces::Many(many) => {
                let last = many.more.last().map_or(0, Vec::len);
                many.first.len() + many.more.len().saturating_sub(1) * PIECE + last
            }
        }
    }

    /// Entries that there is room for.
    pub(super) fn capacity(&self) -> usize {
        match self {
            Pieces::One(all) => all.capacity(),
            Pieces::Many(many) => many.first.capacity() + many.more.len() * PIECE,
        }
    }

    pub(super) fn get(&self, at: usize) -> &T {
        match self {
            Pieces::One(all) => &all[at],
            Pieces::Many(many) => match at.checked_sub(many.first.len()) {
                None => &many.first[at],
                Some(at) => &many.more[at / PIECE][at % PIECE],
            },
        }
    }

    pub(super) fn get_mut(&mut self, at: usize) -> &mut T {
        match self {
            Pieces::One(all) => &mut all[at],
            Pieces::Many(many) => match at.checked_sub(many.first.len()) {
                None => &mut many.first[at],
                Some(at) => &mut many.more[at / PIECE][at % PIECE],
            },
        }
    }

    pub(super) fn push(&mut self, entry: T) {
        match self {
            Pieces::One(all) => {
                if all.len() < PIECE || all.len() < all.capacity() {
                    if all.len() == all.capacity() {
                        // Most have one.
                        all.reserve_exact(all.len().max(1));
                    }
                    return all.push(entry);
                }
                let first = core::mem::take(all);
                let more = Vec::new();
                *self = Pieces::Many(Box::new(Many { first, more }));
                self.push(entry);
            }
            Pieces::Many(many) => match many.more.last_mut() {
                Some(last) if last.len() < PIECE => last.push(entry),
                _ => {
                    let mut piece = Vec::with_capacity(PIECE);
                    piece.push(entry);
                    many.more.push(piece);
                }
            },
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let (first, more) = match self {
            Pieces::One(all) => (all, [].as_slice()),
            Pieces::Many(many) => (&many.first, many.more.as_slice()),
        };
        first.iter().chain(more.iter().flatten())
    }

    /// Back to no entries. Room for one, which most lists begin with, is kept.
    pub(super) fn clear(&mut self) {
        match self {
            Pieces::One(all) => {
                all.clear();
                all.shrink_to(1);
            }
            Pieces::Many(_) => *self = Pieces::default(),
        }
    }
}
