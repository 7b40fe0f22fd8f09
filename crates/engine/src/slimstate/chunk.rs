//! The labels of neighbouring elements, in few bytes.
//!
//! | form | bytes | where |
//! |---|---|---|
//! | one label | none | most of a long array |
//! | runs of one label, or of labels that climb by one | 8 a run | a matrix that is cut row by row, the shares of threads |
//! | half a byte each, into a list of at most 16 labels | ½ an element | red and black; sets that look random |
//! | a byte each, into a list of at most 256 | 1 an element | |
//! | the label itself | 4 an element | |
//!
//! A chunk that changes is written out, changed, and put into the smallest form.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Elements of a chunk; the last one of an array may have fewer.
pub(super) const CHUNK: u64 = 1024;

/// Runs up to so many are taken without a look at the other forms.
const FEW: usize = 16;
const NIBBLE: usize = 1 << 4;
const BYTE: usize = 1 << 8;

/// The labels of a chunk.
#[derive(Clone, Debug)]
pub(super) enum Chunk {
    Uniform(u32),
    Packed(Box<Packed>),
}

#[derive(Clone, Debug)]
pub(super) enum Packed {
    Runs(Box<[Run]>),
    Nibbles(Indexed),
    Bytes(Indexed),
    Each(Box<[u32]>),
}

/// The labels that there are, and which of them each element has.
#[derive(Clone, Debug)]
pub(super) struct Indexed {
    labels: Box<[u32]>,
    indices: Box<[u8]>,
}

/// Neighbours from `first` on, up to the next run, with one label; or each with a label of its own, from `label` up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    first: u16,
    climbs: bool,
    label: u32,
}

const _: () = assert!(size_of::<Run>() == 8 && CHUNK <= 1 << 16);

impl Run {
    /// Calls `g` with neighbours from `from` to `to`, all in the chunk of these runs, that have one label.
    pub(super) fn each(runs: &[Run], from: usize, to: usize, mut g: impl FnMut(u32, usize, usize)) {
        let after = runs.partition_point(|run| usize::from(run.first) <= from);
        let mut at = from;
        for number in after - 1..runs.len() {
            let run = runs[number];
            let next = runs.get(number + 1);
            let last = next.map_or(to, |next| to.min(usize::from(next.first) - 1));
            while at <= last {
                let end = if run.climbs { at } else { last };
                g(run.label(at), at, end);
                at = end + 1;
            }
            if at > to {
                break;
            }
        }
    }

    const fn label(&self, i: usize) -> u32 {
        if self.climbs {
            self.label + (i - self.first as usize) as u32
        } else {
            self.label
        }
    }
}

impl Chunk {
    /// The label of element `i` of the chunk.
    pub(super) fn label(&self, i: usize) -> u32 {
        match self {
            Chunk::Uniform(label) => *label,
            Chunk::Packed(packed) => packed.label(i),
        }
    }

    /// Its runs, if it has no other form.
    pub(super) fn runs(&self) -> Option<&[Run]> {
        match self {
            Chunk::Uniform(_) => None,
            Chunk::Packed(packed) => match &**packed {
                Packed::Runs(runs) => Some(runs),
                _ => None,
            },
        }
    }

    /// Writes out the labels of `len` elements.
    pub(super) fn unpack(&self, len: usize, labels: &mut Vec<u32>) {
        labels.clear();
        match self {
            Chunk::Uniform(label) => labels.resize(len, *label),
            Chunk::Packed(packed) => match &**packed {
                Packed::Runs(runs) => {
                    for (at, run) in runs.iter().enumerate() {
                        let end = runs.get(at + 1).map_or(len, |next| usize::from(next.first));
                        labels.extend((usize::from(run.first)..end).map(|i| run.label(i)));
                    }
                }
                Packed::Each(each) => labels.extend_from_slice(each),
                Packed::Bytes(of) => {
                    labels.extend(of.indices.iter().map(|&at| of.labels[usize::from(at)]));
                }
                Packed::Nibbles(of) => {
                    let pairs = of.indices.iter().flat_map(|at| [at & 0xF, at >> 4]);
                    labels.extend(pairs.take(len).map(|at| of.labels[usize::from(at)]));
                }
            },
        }
    }

    /// These labels in the smallest form.
    pub(super) fn pack(labels: &[u32]) -> Chunk {
        let runs = runs(labels);
        if let [run] = runs[..]
            && !run.climbs
        {
            return Chunk::Uniform(run.label);
        }
        let packed = if runs.len() <= FEW {
            Packed::Runs(runs.into())
        } else {
            Packed::pack(labels, runs)
        };
        Chunk::Packed(Box::new(packed))
    }

    /// Bytes beside the chunk itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Chunk::Uniform(_) => 0,
            Chunk::Packed(packed) => size_of::<Packed>() + packed.bytes(),
        }
    }
}

impl Packed {
    fn label(&self, i: usize) -> u32 {
        match self {
            Packed::Runs(runs) => {
                let after = runs.partition_point(|run| usize::from(run.first) <= i);
                runs[after - 1].label(i)
            }
            Packed::Nibbles(Indexed { labels, indices }) => {
                labels[usize::from(indices[i / 2] >> (4 * (i % 2)) & 0xF)]
            }
            Packed::Bytes(Indexed { labels, indices }) => labels[usize::from(indices[i])],
            Packed::Each(labels) => labels[i],
        }
    }

    fn pack(all: &[u32], runs: Vec<Run>) -> Packed {
        let mut labels = all.to_vec();
        labels.sort_unstable();
        labels.dedup();
        let index = |label: &u32| labels.binary_search(label).unwrap_or(0) as u8;
        let indexed = labels.len() * size_of::<u32>();
        let (runs_bytes, each) = (size_of_val(&runs[..]), size_of_val(all));
        let nibbles = all.len().div_ceil(2) + indexed;
        if labels.len() <= NIBBLE && nibbles < runs_bytes {
            let pair = |pair: &[u32]| index(&pair[0]) | pair.get(1).map_or(0, index) << 4;
            let indices = all.chunks(2).map(pair).collect();
            let labels = labels.into();
            return Packed::Nibbles(Indexed { labels, indices });
        }
        if labels.len() <= BYTE && all.len() + indexed < runs_bytes.min(each) {
            let indices = all.iter().map(index).collect();
            let labels = labels.into();
            return Packed::Bytes(Indexed { labels, indices });
        }
        if runs_bytes < each {
            Packed::Runs(runs.into())
        } else {
            Packed::Each(all.into())
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Packed::Runs(runs) => size_of_val(&**runs),
            Packed::Nibbles(indexed) | Packed::Bytes(indexed) => {
                size_of_val(&*indexed.labels) + indexed.indices.len()
            }
            Packed::Each(labels) => size_of_val(&**labels),
        }
    }
}

/// The labels as runs. A run that climbs has three elements or more: of fewer, it would be as many runs as without.
fn runs(labels: &[u32]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < labels.len() {
        let label = labels[at];
        let same = labels[at..].iter().take_while(|&&next| next == label);
        let mut len = same.count();
        let mut climbs = false;
        if len == 1 {
            let rest = labels[at..].iter().zip(label..);
            let climbing = rest.take_while(|&(&next, up)| next == up).count();
            // The last one may be the first of many that are the same.
            let many = labels
                .get(at + climbing)
                .is_some_and(|&next| next == labels[at + climbing - 1]);
            let climbing = climbing - usize::from(many);
            climbs = climbing > 2;
            len = if climbs { climbing } else { 1 };
        }
        runs.push(Run {
            first: at as u16,
            climbs,
            label,
        });
        at += len;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// What is packed is what comes out, in each form, and the form is a small one.
    #[test]
    fn unpacks_what_was_packed() {
        let mut numbers = Random::new(11, 0);
        let mut forms = [0; 5];
        for round in 0..2000 {
            let len = 1 + numbers.up_to(CHUNK - 1) as usize;
            let kinds = [1, 3, 12, 200, 100_000][round % 5];
            let mut labels = Vec::new();
            while labels.len() < len {
                let (label, climbs) = (numbers.up_to(kinds - 1) as u32, numbers.up_to(3) == 0);
                let run = 1 + numbers.up_to([1, 5, 300][round / 5 % 3]) as u32;
                labels.extend((0..run).map(|i| if climbs { label + i } else { label }));
            }
            labels.truncate(len);
            let chunk = Chunk::pack(&labels);
            forms[match &chunk {
                Chunk::Uniform(_) => 0,
                Chunk::Packed(packed) => match &**packed {
                    Packed::Runs(_) => 1,
                    Packed::Nibbles(_) => 2,
                    Packed::Bytes(_) => 3,
                    Packed::Each(_) => 4,
                },
            }] += 1;
            let mut all = Vec::new();
            chunk.unpack(len, &mut all);
            assert_eq!(all, labels);
            let one_by_one: Vec<u32> = (0..len).map(|i| chunk.label(i)).collect();
            assert_eq!(one_by_one, labels);
            assert!(chunk.bytes() <= size_of::<Packed>() + size_of_val(&labels[..]).max(8 * FEW));
        }
        assert!(forms.iter().all(|&count| count > 20), "{forms:?}");
    }
}
