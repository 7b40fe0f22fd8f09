//! Bit-set partitions, for the variants `slimstate-bp` and `slimstate-bb` of Table II: any partition
//! has a representation, so `refine(P, f)` is the coarsest refinement there is: each part `p` that
//! `f` cuts becomes `p ∩ f` and `p \ f`.
//!
//! The paper keeps a bit set for each part, and reports that this is prohibitive. The parts are
//! disjoint, so one label per element says the same: cutting costs the size of the footprint, whatever the
//! number of parts. Stretches of elements with the same label are kept as one.

use super::footprint::Footprint;
use super::partition::{Part, Partition, Shadow};
use super::{Rule, Strided};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Elements in a chunk of labels.
const CHUNK: u64 = 1024;

#[derive(Clone, Debug)]
enum Chunk {
    Uniform(u32),
    Each(Box<[u32; CHUNK as usize]>),
}

/// An arbitrary partition.
#[derive(Clone, Debug)]
pub struct Labels {
    chunks: Vec<Chunk>,
    /// Number of elements of each part, by label. Empty if every element is a part: FINE.
    sizes: Vec<u64>,
}

/// How many elements of one part a footprint has, while it is being cut.
struct Cut {
    label: u32,
    inside: u64,
}

impl Labels {
    fn label(&self, i: u64) -> u32 {
        match &self.chunks[(i / CHUNK) as usize] {
            Chunk::Uniform(label) => *label,
            Chunk::Each(labels) => labels[(i % CHUNK) as usize],
        }
    }

    /// Calls `g` with runs of `f` that have one label.
    fn labelled<F: Footprint>(&self, f: &F, g: &mut dyn FnMut(u32, Strided)) {
        f.pieces(&mut |piece| {
            let mut i = piece.first();
            while i <= piece.last() {
                match &self.chunks[(i / CHUNK) as usize] {
                    Chunk::Uniform(label) => {
                        let end = (i / CHUNK + 1) * CHUNK - 1;
                        let within = Strided::new(i, end.min(piece.last()), piece.step());
                        g(*label, within);
                        i = within.last() + piece.step();
                    }
                    Chunk::Each(labels) => {
                        g(labels[(i % CHUNK) as usize], Strided::one(i));
                        i += piece.step();
                    }
                }
            }
        });
    }

    /// The parts that `f` meets, with the number of elements it has of each, ordered by label.
    fn met<F: Footprint>(&self, f: &F) -> Vec<Cut> {
        let mut met: Vec<Cut> = Vec::new();
        self.labelled(f, &mut |label, run| match met.last_mut() {
            Some(cut) if cut.label == label => cut.inside += run.len(),
            _ => met.push(Cut {
                label,
                inside: run.len(),
            }),
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

    fn relabel(&mut self, run: Strided, label: u32) {
        let chunk = &mut self.chunks[(run.first() / CHUNK) as usize];
        if run.step() == 1 && run.len() == CHUNK {
            *chunk = Chunk::Uniform(label);
            return;
        }
        if let Chunk::Uniform(old) = *chunk {
            *chunk = Chunk::Each(Box::new([old; CHUNK as usize]));
        }
        if let Chunk::Each(labels) = chunk {
            for i in run.indices() {
                labels[(i % CHUNK) as usize] = label;
            }
        }
    }

    fn is_fine(&self) -> bool {
        self.sizes.is_empty()
    }
}

impl core::fmt::Display for Labels {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.kind())?;
        match self.sizes.len() {
            0 | 1 => Ok(()),
            parts => write!(f, "({parts})"),
        }
    }
}

impl Partition for Labels {
    fn coarse(n: u64) -> Self {
        if n == 1 {
            return Labels {
                chunks: Vec::new(),
                sizes: Vec::new(),
            };
        }
        let chunks = usize::try_from(n.div_ceil(CHUNK)).unwrap_or(usize::MAX);
        Labels {
            chunks: alloc::vec![Chunk::Uniform(0); chunks],
            sizes: alloc::vec![n],
        }
    }
    fn kind(&self) -> &'static str {
        match self.sizes.len() {
            0 => "FINE",
            1 => "COARSE",
            _ => "PARTS",
        }
    }
    fn parts(&self, n: u64) -> u64 {
        if self.is_fine() {
            n
        } else {
            self.sizes.len() as u64
        }
    }
    fn part_of(&self, i: u64) -> Part {
        if self.is_fine() {
            i
        } else {
            u64::from(self.label(i))
        }
    }
    fn singles(&self, n: u64) -> u64 {
        if self.is_fine() { n } else { 0 }
    }
    fn keeps<F: Footprint>(&self, f: &F, _n: u64) -> Option<Rule> {
        if self.is_fine() {
            return Some(Rule::FineFine);
        }
        let whole = |cut: &Cut| cut.inside == self.sizes[cut.label as usize];
        self.met(f).iter().all(whole).then_some(Rule::PartsKept)
    }
    fn refine<F: Footprint>(&mut self, f: &F, n: u64, shadow: &mut dyn Shadow) -> Rule {
        if self.is_fine() {
            return Rule::FineFine;
        }
        let mut met = self.met(f);
        met.retain(|cut| cut.inside < self.sizes[cut.label as usize]);
        if met.is_empty() {
            return Rule::PartsKept;
        }
        let first_new = self.sizes.len();
        for cut in &met {
            self.sizes[cut.label as usize] -= cut.inside;
            self.sizes.push(cut.inside);
            shadow.grow(u64::from(cut.label));
        }
        let mut moves = Vec::new();
        self.labelled(f, &mut |label, run| {
            if let Ok(at) = met.binary_search_by_key(&label, |cut| cut.label) {
                moves.push((run, (first_new + at) as u32));
            }
        });
        for (run, label) in moves {
            self.relabel(run, label);
        }
        if self.sizes.len() as u64 == n {
            self.refine_to_fine(n, shadow);
        }
        Rule::PartsCut
    }
    fn refine_to_fine(&mut self, n: u64, shadow: &mut dyn Shadow) {
        if self.is_fine() {
            return;
        }
        self.labelled(&Strided::run(0, n - 1), &mut |label, run| {
            shadow.single(run, u64::from(label));
        });
        shadow.rebuild(0, &|x| x);
        self.chunks = Vec::new();
        self.sizes = Vec::new();
    }
    fn each_part<F: Footprint>(&self, f: &F, g: &mut dyn FnMut(Part)) {
        if !self.is_fine() {
            self.met(f).iter().for_each(|cut| g(u64::from(cut.label)));
        }
    }
    fn members(&self, p: Part, n: u64, g: &mut dyn FnMut(Strided)) {
        if self.is_fine() {
            g(Strided::one(p));
        } else {
            self.labelled(&Strided::run(0, n - 1), &mut |label, run| {
                if u64::from(label) == p {
                    g(run);
                }
            });
        }
    }
    fn finer(&self, ratio: u64) -> Option<Self> {
        if self.is_fine() {
            return Some(self.clone());
        }
        let mut finer = Labels {
            chunks: Vec::new(),
            sizes: self.sizes.iter().map(|size| size * ratio).collect(),
        };
        for chunk in &self.chunks {
            match chunk {
                Chunk::Uniform(label) => {
                    for _ in 0..ratio {
                        finer.chunks.push(Chunk::Uniform(*label));
                    }
                }
                Chunk::Each(labels) => {
                    for piece in labels.chunks((CHUNK / ratio) as usize) {
                        let mut each = Box::new([0; CHUNK as usize]);
                        for (i, label) in each.iter_mut().enumerate() {
                            *label = piece[i / ratio as usize];
                        }
                        finer.chunks.push(Chunk::Each(each));
                    }
                }
            }
        }
        Some(finer)
    }
}
