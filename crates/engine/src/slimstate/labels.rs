//! Bit-set partitions, for the variants `slimstate-bp` and `slimstate-bb` of Table II: any partition
//! has a representation, so `refine(P, f)` is the coarsest refinement there is: each part `p` that
//! `f` cuts becomes `p ∩ f` and `p \ f`.
//!
//! The paper keeps a bit set for each part, and reports that this is prohibitive. The parts are
//! disjoint, so one label per element says the same: cutting costs the size of the footprint, whatever the
//! number of parts. `chunk` has the labels of neighbours in few bytes.

use super::chunk::{CHUNK, Chunk, Run};
use super::footprint::Footprint;
use super::partition::{Part, Partition, Shadow};
use super::pieces::Pieces;
use super::{Rule, Strided};
use crate::shadow::Location;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// An arbitrary partition.
#[derive(Clone, Debug)]
pub enum Labels {
    /// `{0, …, n-1}`.
    Coarse,
    /// `{0}, {1}, …, {n-1}`.
    Fine,
    /// Whatever a label for each element says.
    Parts(Box<Parts>),
}

/// A partition of at least two parts.
#[derive(Clone, Debug)]
pub struct Parts {
    chunks: Vec<Chunk>,
    /// Number of elements of each part, by label.
    sizes: Pieces<u32>,
    /// Of all of them.
    n: u64,
    /// Bytes of the labels beside `chunks`.
    packed: usize,
}

/// How many elements of one part a footprint has, while it is being cut, and one of them.
struct Cut {
    label: u32,
    inside: u64,
    member: u64,
}

/// So many parts that were met last are looked at before one is taken for a new one: alternating parts are met again and again.
const RECENT: usize = 4;

/// Calls `g` with the chunks that a piece of a footprint is in, and what of the piece is in each.
fn chunks_of(piece: Strided, mut g: impl FnMut(usize, Strided)) {
    let mut i = piece.first();
    while i <= piece.last() {
        let end = (i / CHUNK + 1) * CHUNK - 1;
        let within = Strided::new(i, end.min(piece.last()), piece.step());
        g((i / CHUNK) as usize, within);
        i = within.last() + piece.step();
    }
}

impl Parts {
    fn coarse(n: u64) -> Option<Parts> {
        let chunks = usize::try_from(n.div_ceil(CHUNK)).ok()?;
        Some(Parts {
            chunks: alloc::vec![Chunk::Uniform(0); chunks],
            sizes: alloc::vec![u32::try_from(n).ok()?].into(),
            n,
            packed: 0,
        })
    }

    fn set(&mut self, number: usize, chunk: Chunk) {
        let old = core::mem::replace(&mut self.chunks[number], chunk);
        self.packed += self.chunks[number].bytes();
        self.packed -= old.bytes();
    }

    fn size(&self, label: u32) -> u64 {
        u64::from(*self.sizes.get(label as usize))
    }

    /// Elements of a chunk.
    fn len(&self, chunk: usize) -> usize {
        (self.n - chunk as u64 * CHUNK).min(CHUNK) as usize
    }

    /// Calls `g` with runs of `f` that have one label.
    fn labelled<F: Footprint>(&self, f: &F, g: &mut dyn FnMut(u32, Strided)) {
        let (mut labels, mut unpacked) = (Vec::new(), usize::MAX);
        f.pieces(&mut |piece| {
            chunks_of(piece, |number, within| {
                let first = number as u64 * CHUNK;
                let chunk = &self.chunks[number];
                if let Chunk::Uniform(label) = chunk {
                    return g(*label, within);
                }
                if within.len() == 1 {
                    return g(chunk.label((within.first() - first) as usize), within);
                }
                if within.step() == 1
                    && let Some(runs) = chunk.runs()
                {
                    let [from, to] = [within.first(), within.last()].map(|i| (i - first) as usize);
                    return Run::each(runs, from, to, |label, from, to| {
                        g(label, Strided::run(first + from as u64, first + to as u64));
                    });
                }
                if unpacked != number {
                    chunk.unpack(self.len(number), &mut labels);
                    unpacked = number;
                }
                let all = &labels[(within.first() - first) as usize..];
                let step = within.step();
                let mut each = all.iter().step_by(step as usize);
                let (mut at, last) = (within.first(), within.last());
                while at <= last
                    && let Some(&label) = each.next()
                {
                    let more = (last - at) / step;
                    let same = each.clone().take(more as usize);
                    let same = same.take_while(|&&next| next == label).count();
                    let end = at + same as u64 * step;
                    g(label, Strided::new(at, end, step));
                    if same > 0 {
                        each.nth(same - 1);
                    }
                    at = end + step;
                }
            });
        });
    }

    /// The parts that `f` meets, with the number of elements it has of each, ordered by label.
    fn met<F: Footprint>(&self, f: &F) -> Vec<Cut> {
        let mut met: Vec<Cut> = Vec::new();
        self.labelled(f, &mut |label, run| {
            let mut recent = met.iter_mut().rev().take(RECENT);
            match recent.find(|cut| cut.label == label) {
                Some(cut) => cut.inside += run.len(),
                None => met.push(Cut {
                    label,
                    inside: run.len(),
                    member: run.first(),
                }),
            }
        });
        met.sort_unstable_by_key(|cut| cut.label);
        met.dedup_by(|next, first| {
            let same = next.label == first.label;
            if same {
                first.inside += next.inside;
            }
            same
        });
        met
    }

    fn has_all(&self, cut: &Cut) -> bool {
        cut.inside == self.size(cut.label)
    }

    /// Each part that `f` cuts loses what `f` has of it to a new part.
    fn cut<F: Footprint>(&mut self, f: &F, shadow: &mut dyn Shadow) -> Rule {
        let mut met = self.met(f);
        met.retain(|cut| !self.has_all(cut));
        if met.is_empty() {
            return Rule::PartsKept;
        }
        let first_new = self.sizes.len();
        for cut in &met {
            let inside = cut.inside as u32;
            *self.sizes.get_mut(cut.label as usize) -= inside;
            self.sizes.push(inside);
            shadow.grow(u64::from(cut.label));
        }
        let new = |label: u32| {
            let at = met.binary_search_by_key(&label, |cut| cut.label);
            at.map_or(label, |at| (first_new + at) as u32)
        };
        // The chunk that is written out, and its labels.
        let (mut labels, mut unpacked) = (Vec::new(), None);
        f.pieces(&mut |piece| {
            chunks_of(piece, |number, within| {
                if let Chunk::Uniform(label) = self.chunks[number]
                    && (within.len() == self.len(number) as u64 || new(label) == label)
                {
                    self.set(number, Chunk::Uniform(new(label)));
                    return;
                }
                if unpacked != Some(number) {
                    if let Some(before) = unpacked.replace(number) {
                        self.set(before, Chunk::pack(&labels));
                    }
                    self.chunks[number].unpack(self.len(number), &mut labels);
                }
                let mut last = (u32::MAX, u32::MAX);
                for i in within.indices() {
                    let label = &mut labels[(i % CHUNK) as usize];
                    if *label != last.0 {
                        last = (*label, new(*label));
                    }
                    *label = last.1;
                }
            });
        });
        if let Some(number) = unpacked {
            self.set(number, Chunk::pack(&labels));
        }
        Rule::PartsCut
    }

    fn finer(&self, ratio: u64) -> Option<Parts> {
        let n = self.n * ratio;
        let mut finer = Parts::coarse(n)?;
        let sizes = self.sizes.iter().map(|size| size * ratio as u32);
        finer.sizes = sizes.collect::<Vec<_>>().into();
        let (mut labels, mut smaller) = (Vec::new(), Vec::new());
        let mut at = 0;
        for (number, chunk) in self.chunks.iter().enumerate() {
            chunk.unpack(self.len(number), &mut labels);
            for piece in labels.chunks((CHUNK / ratio) as usize) {
                smaller.clear();
                let each = piece
                    .iter()
                    .flat_map(|&label| (0..ratio).map(move |_| label));
                smaller.extend(each);
                finer.set(at, Chunk::pack(&smaller));
                at += 1;
            }
        }
        Some(finer)
    }
}

impl core::fmt::Display for Labels {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Labels::Coarse | Labels::Fine => Ok(()),
            Labels::Parts(parts) => write!(f, "({})", parts.sizes.len()),
        }
    }
}

impl Partition for Labels {
    /// The labels, each with an element that has it.
    type Met = Vec<(u32, u64)>;
    fn coarse(n: u64) -> Self {
        if n == 1 { Labels::Fine } else { Labels::Coarse }
    }
    fn kind(&self) -> &'static str {
        match self {
            Labels::Coarse => "COARSE",
            Labels::Fine => "FINE",
            Labels::Parts(_) => "PARTS",
        }
    }
    fn parts(&self, n: u64) -> u64 {
        match self {
            Labels::Coarse => 1,
            Labels::Fine => n,
            Labels::Parts(parts) => parts.sizes.len() as u64,
        }
    }
    fn part_of(&self, i: u64) -> Part {
        match self {
            Labels::Coarse => 0,
            Labels::Fine => i,
            Labels::Parts(parts) => {
                u64::from(parts.chunks[(i / CHUNK) as usize].label((i % CHUNK) as usize))
            }
        }
    }
    fn singles(&self, n: u64) -> u64 {
        if matches!(self, Labels::Fine) { n } else { 0 }
    }
    fn keeps<F: Footprint>(&self, f: &F, n: u64) -> Option<(Rule, Self::Met)> {
        match self {
            Labels::Coarse => (f.len() == n).then(|| (Rule::PartsKept, alloc::vec![(0, 0)])),
            Labels::Fine => Some((Rule::FineFine, Vec::new())),
            Labels::Parts(parts) => {
                let met = parts.met(f);
                met.iter()
                    .map(|cut| parts.has_all(cut).then_some((cut.label, cut.member)))
                    .collect::<Option<_>>()
                    .map(|labels| (Rule::PartsKept, labels))
            }
        }
    }
    fn refine<F: Footprint>(&mut self, f: &F, n: u64, shadow: &mut dyn Shadow) -> Rule {
        if matches!(self, Labels::Coarse) && f.len() == n {
            return Rule::PartsKept;
        }
        if matches!(self, Labels::Coarse) {
            // Longer ones than we can count are long enough for anything else.
            match Parts::coarse(n) {
                Some(parts) => *self = Labels::Parts(Box::new(parts)),
                None => {
                    self.refine_to_fine(n, shadow);
                    return Rule::AnyFine;
                }
            }
        }
        let Labels::Parts(parts) = self else {
            return Rule::FineFine;
        };
        let rule = parts.cut(f, shadow);
        if parts.sizes.len() as u64 >= shadow.singles(n) {
            self.refine_to_fine(n, shadow);
        }
        rule
    }
    fn refine_to_fine(&mut self, n: u64, shadow: &mut dyn Shadow) {
        let all = Strided::run(0, n - 1);
        match core::mem::replace(self, Labels::Fine) {
            Labels::Fine => return,
            Labels::Coarse => shadow.single(all, 0, false),
            Labels::Parts(parts) => parts.labelled(&all, &mut |label, run| {
                shadow.single(run, u64::from(label), false);
            }),
        }
        shadow.rebuild(0, &|x| x);
    }
    fn each_part<F: Footprint>(&self, _f: &F, met: &Self::Met, g: &mut dyn FnMut(Part, u64)) {
        met.iter()
            .for_each(|&(label, member)| g(u64::from(label), member));
    }
    fn members(&self, p: Part, n: u64, g: &mut dyn FnMut(Strided)) {
        let all = Strided::run(0, n - 1);
        match self {
            Labels::Coarse => g(all),
            Labels::Fine => g(Strided::one(p)),
            Labels::Parts(parts) => parts.labelled(&all, &mut |label, run| {
                if u64::from(label) == p {
                    g(run);
                }
            }),
        }
    }
    fn finer(&self, ratio: u64) -> Option<Self> {
        Some(match self {
            Labels::Coarse => Labels::Coarse,
            Labels::Fine => Labels::Fine,
            Labels::Parts(parts) => Labels::Parts(Box::new(parts.finer(ratio)?)),
        })
    }
    fn is_in_vain(&self, singles: u64) -> bool {
        let Labels::Parts(parts) = self else {
            return false;
        };
        let count = parts.sizes.len();
        let labels = parts.packed + size_of_val(&*parts.chunks);
        let all = labels + count * (size_of::<Location>() + size_of::<u32>());
        // As many bytes for each part as a matrix takes that is cut row by row, and it goes on: not for long.
        labels > 2 * size_of::<Run>() * count && 4 * all >= size_of::<Location>() * singles as usize
    }
    fn bytes(&self) -> usize {
        match self {
            Labels::Coarse | Labels::Fine => 0,
            Labels::Parts(parts) => {
                let sizes = parts.sizes.capacity() * size_of::<u32>();
                size_of::<Parts>() + size_of_val(&*parts.chunks) + parts.packed + sizes
            }
        }
    }
}
