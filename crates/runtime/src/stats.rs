//! `stats=1`: what the detector did, told at the end.
//!
//! A thread's counts are added up when it ends. Those that still run when the process ends stand still for that, and what they count afterwards counts no more.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use abi::counts::{COUNTERS, Counter};
use event::Addr;
use report::Stack;

use crate::analysis::{Analysis, State};
use crate::heap::HeapBlock;
use crate::intercept::mapping;
use crate::lock::Spin;
use crate::{heap, memory, records, site, tls};

/// Allocation sites that are told apart, by number of elements; the others are added up.
const SITES: usize = 32;

static COUNTS: Spin<Vec<(&'static str, u64)>> = Spin::new(Vec::new());

/// Blocks of an allocation site: how many, their elements, and their locations.
type Sum = (u64, u64, u64);

/// Blocks that are gone, by the stack of their allocation and what became of them, for detectors whose shadow knows no blocks.
static ENDED: Spin<BTreeMap<(u32, &str), Sum>> = Spin::new(BTreeMap::new());

/// Blocks with fewer elements are no arrays, as in SlimState.
const SMALL: u64 = 16;

/// Accesses that were not checked because their thread was [alone](crate::alone).
static ALONE: AtomicU64 = AtomicU64::new(0);

static COUNTED: Spin<[u64; COUNTERS]> = Spin::new([0; COUNTERS]);

/// The process ends, and every thread was asked.
static TOLD: AtomicBool = AtomicBool::new(false);

/// The calling thread ends.
pub fn add(state: &State) {
    if !TOLD.load(Ordering::Relaxed) {
        add_of(tls::own(), state);
    }
}

/// The process ends, and all other threads stand still: `others` calls its argument with each of them.
pub fn add_others(others: impl FnOnce(&mut dyn FnMut(&tls::Block, &State))) {
    others(&mut add_of);
    TOLD.store(true, Ordering::Relaxed);
}

fn add_of(block: &tls::Block, state: &State) {
    let unchecked = block.unchecked.load(Ordering::Relaxed);
    ALONE.fetch_add(unchecked, Ordering::Relaxed);
    for (sum, count) in COUNTED.lock().iter_mut().zip(block.counts()) {
        *sum = sum.wrapping_add(count);
    }
    let mut all = COUNTS.lock();
    let mut at = 0;
    state.counters(&mut |rule, count| {
        // All threads of a detector name the same rules in the same order.
        match all.get_mut(at) {
            Some((name, sum)) if *name == rule => *sum += count,
            _ => all.push((rule, count)),
        }
        at += 1;
    });
}

/// In the child of a fork: what the parent did is the parent's.
pub fn forked() {
    COUNTS.lock().clear();
    ENDED.lock().clear();
    ALONE.store(0, Ordering::Relaxed);
    tls::own().unchecked.store(0, Ordering::Relaxed);
    // What this thread counted before the fork is the parent's, and is counted again when the thread ends: take it off.
    *COUNTED.lock() = tls::own().counts().map(u64::wrapping_neg);
}

/// A block's memory is about to be somebody else's. Its elements are words: smaller ones share a location there.
pub fn ends(analysis: &Analysis, block: Option<HeapBlock>) {
    let Some(block) = block else { return };
    let Some(census) = analysis.census(Addr(block.start), block.bytes) else {
        return;
    };
    let elements = block.bytes.div_ceil(8);
    let key = if elements < SMALL {
        (0, "SMALL")
    } else {
        (site::stack_of(block.site).0, census.kind())
    };
    let mut ended = ENDED.lock();
    let sum = ended.entry(key).or_default();
    *sum = (sum.0 + 1, sum.1 + elements, sum.2 + census.locations());
}

fn arrays(analysis: &Analysis) -> Vec<report::Arrays> {
    let mut sums: BTreeMap<(u32, String), Sum> = BTreeMap::new();
    heap::each_live(|block| ends(analysis, Some(block)));
    mapping::each(|block| ends(analysis, Some(block)));
    for ((stack, kind), sum) in ENDED.lock().iter() {
        sums.insert((*stack, kind.to_string()), *sum);
    }
    analysis.shadow(&mut |block| {
        let kind = block.partition.split('(').next().unwrap_or_default();
        let key = (site::stack_of(block.site).0, kind.to_string());
        let sum = sums.entry(key).or_default();
        *sum = (
            sum.0 + block.blocks,
            sum.1 + block.elements,
            sum.2 + block.locations,
        );
    });
    let mut all: Vec<_> = sums.into_iter().collect();
    all.sort_by_key(|&(_, (_, elements, _))| core::cmp::Reverse(elements));
    let mut rest: BTreeMap<String, Sum> = BTreeMap::new();
    for ((_, kind), (blocks, elements, locations)) in all.drain(SITES.min(all.len())..) {
        let sum = rest.entry(kind).or_default();
        *sum = (sum.0 + blocks, sum.1 + elements, sum.2 + locations);
    }
    let others = rest.into_iter().map(|(kind, sum)| ((0, kind), sum));
    let all = all.into_iter().chain(others);
    let describe = |((stack, partition), (blocks, elements, locations))| report::Arrays {
        partition,
        blocks,
        elements,
        locations,
        stack: Stack(site::frames(site::StackId(stack))),
    };
    all.map(describe).collect()
}

/// The process ends, and so does the calling thread: everything into the records.
pub fn finish(analysis: &Analysis, state: &State) {
    add_of(tls::own(), state);
    let mut stats = report::Stats::default();
    let counted = *COUNTED.lock();
    for (counter, count) in Counter::ALL.into_iter().zip(counted) {
        if counted != [0; COUNTERS] {
            stats.counts.push((counter.name().to_string(), count));
        }
    }
    for (rule, count) in COUNTS.lock().iter() {
        stats.counts.push((rule.to_string(), *count));
    }
    let unchecked = ALONE.load(Ordering::Relaxed);
    stats.counts.push(("Alone".to_string(), unchecked));
    let mut bytes = |what, bytes| {
        let what = alloc::format!("bytes of {what}");
        stats.counts.push((what, bytes));
    };
    analysis.bytes(&mut bytes);
    analysis.order().bytes(&mut bytes);
    site::bytes(&mut bytes);
    let most = memory::most_mapped() as u64;
    stats
        .counts
        .push(("bytes of the runtime, at most".to_string(), most));
    stats.arrays = arrays(analysis);
    records::stats(stats);
}
