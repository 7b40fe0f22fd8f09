//! A page as runs of words that have one past.
//!
//! Programs that are checked by ranges leave few different histories on a page: a row of a matrix has one, with another for each of its
//! ends; of a red-black grid, two that alternate. A *run* is a span of neighbouring words with a *period*: each word has the
//! history of the word that many words on. For each place in the period there is a *lane*, the two cells of a
//! [`Location`](super::Location), which mean here what they mean there. An access that touches all words of a lane is one check.
//!
//! **Contract.** A page with runs says of each byte what a page with a location for each word would say, to all accesses: an
//! access to part of a run cuts it first, so a lane is always touched for all of its words. Neighbours are joined again where
//! an access has left them with the same histories. How runs are cut and joined is nobody's business: no verdict depends on it.
//!
//! ```text
//!   words   0        7   8                          509   510 511
//!         ┌────────────┬───────────────────────────────┬─────────┐
//!   runs  │ period 1   │ period 2                      │ period 1│
//!         └─────┬──────┴───────┬───────────────────────┴────┬────┘
//!   lanes      [a]            [b  c]                        [d]       word w of a run: lane w % period
//! ```
//!
//! A run is at least as long as its period, so that each lane has a word.

use alloc::vec::Vec;

use super::cell::Cell;
use super::depot::Depot;
use super::location::clear_cells;
use super::outside::{discard, shareable};
use super::pages::PAGE_WORDS;
use super::sweep::{Extent, LONGEST_PERIOD, Sweep};

/// One run. It begins where the one before ends.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// One past its last word.
    end: u16,
    /// Its first lane; its last is before the next run's first.
    lane: u16,
}

/// Cells of a location.
type Lane = [Cell; 2];

/// The runs of a page, and their lanes. To be used by one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    runs: Vec<Run>,
    lanes: Vec<Lane>,
}

/// What a sweep did.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Swept {
    /// Lanes touched.
    pub(crate) lanes: u32,
    /// Runs more, or less, than before.
    pub(crate) grown: i32,
    /// Was any of the lanes not [done](Runs::sweep)?
    pub(crate) changed: bool,
}

impl core::ops::AddAssign for Swept {
    fn add_assign(&mut self, more: Swept) {
        self.lanes += more.lanes;
        self.grown += more.grown;
        self.changed |= more.changed;
    }
}

/// A part of a run that is made a run of its own: where it ends, and its period.
type Piece = (u16, u16);

/// A run that is cut has at most this many pieces: words on both sides that are fewer than a period.
const PIECES: usize = 2 * LONGEST_PERIOD;

/// The pieces that a run is cut into.
struct Pieces {
    all: [Piece; PIECES],
    len: usize,
}

impl Pieces {
    fn new() -> Pieces {
        Pieces {
            all: [(0, 0); PIECES],
            len: 0,
        }
    }

    /// The words from `start` to `end`, with that period, or one by one if they are fewer.
    fn push(&mut self, start: u16, end: u16, period: u16) {
        if end - start >= period {
            self.all[self.len] = (end, period);
            self.len += 1;
        } else {
            for word in start..end {
                self.all[self.len] = (word + 1, 1);
                self.len += 1;
            }
        }
    }

    fn as_slice(&self) -> &[Piece] {
        &self.all[..self.len]
    }
}

fn same(a: Lane, b: Lane) -> bool {
    // The second cell of a shared state is a hint, and either is true.
    a[0] == b[0] && (a[1] == b[1] || a[0].as_shared().is_some())
}

impl Runs {
    /// A page in which all words have the history of `cells`, which may be copied, see [`shareable`].
    pub(super) fn new(cells: [Cell; 2]) -> Runs {
        let mut lanes = Vec::with_capacity(4);
        let mut runs = Vec::with_capacity(4);
        lanes.push(cells);
        runs.push(Run {
            end: PAGE_WORDS as u16,
            lane: 0,
        });
        Runs { runs, lanes }
    }

    /// Lanes of all runs.
    pub(super) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> u64 {
        (self.runs.capacity() * size_of::<Run>() + self.lanes.capacity() * size_of::<Lane>()) as u64
    }

    fn start(&self, run: usize) -> u16 {
        match run.checked_sub(1) {
            Some(before) => self.runs[before].end,
            None => 0,
        }
    }

    fn first_lane(&self, run: usize) -> usize {
        match self.runs.get(run) {
            Some(run) => usize::from(run.lane),
            None => self.lanes.len(),
        }
    }

    fn period(&self, run: usize) -> u16 {
        (self.first_lane(run + 1) - self.first_lane(run)) as u16
    }

    /// The run of a word.
    fn find(&self, word: u16) -> usize {
        // Most pages have a few.
        if self.runs.len() <= 8 {
            let past = self.runs.iter().take_while(|run| run.end <= word);
            return past.count();
        }
        self.runs.partition_point(|run| run.end <= word)
    }

    /// Calls `f` with each lane that has words of `sweep`, and what words these are. `f` may change the lane. Lanes that are `done` may be left
    /// out, so that runs need not be cut for nothing. Both are told `what` it is about.
    pub(crate) fn sweep<T>(
        &mut self,
        depot: &Depot,
        sweep: Sweep,
        what: &mut T,
        done: impl Fn(&T, Lane) -> bool,
        mut f: impl FnMut(&mut T, &mut Lane, Extent),
    ) -> Swept {
        let before = self.runs.len();
        let mut swept = Swept::default();
        let mut run = self.find(sweep.first);
        if sweep.first == sweep.last && self.length(run) > 1 {
            return self.single(depot, run, sweep.first, what, done, f);
        }
        // The first run that is not what it was, and how many are behind the last one.
        let mut changed = None;
        while run < self.runs.len() && self.start(run) <= sweep.last {
            if let Some(lanes) = self.is_done(run, sweep, |lane| done(what, lane)) {
                swept.lanes += lanes;
                run += 1;
                continue;
            }
            let behind = self.runs.len() - run - 1;
            changed = Some((changed.map_or(run, |(from, _)| from), behind));
            // Words of the run that the sweep goes past at its ends are in other lanes, if they are fewer than a period.
            if self.start(run) + sweep.period <= sweep.first {
                run = self.cut(depot, run, sweep.first);
            }
            if self.runs[run].end > sweep.last + sweep.period {
                self.cut(depot, run, sweep.last + 1);
            }
            while run < self.runs.len() - behind && self.start(run) <= sweep.last {
                let (start, period) = (self.start(run), self.period(run));
                let end = self.runs[run].end;
                if end - start > 1 && !period.is_multiple_of(sweep.period) {
                    self.refine(depot, run, sweep.period);
                    continue;
                }
                let lanes = self.first_lane(run);
                for word in start.max(sweep.first)..start + period {
                    if sweep.has(word) {
                        let lane = &mut self.lanes[lanes + usize::from(word % period)];
                        let extent = Extent {
                            first: word,
                            step: period,
                            count: (end - word).div_ceil(period),
                        };
                        f(what, lane, extent);
                        swept.lanes += 1;
                    }
                }
                run += 1;
            }
        }
        if let Some((from, behind)) = changed {
            self.join(depot, from, self.runs.len() - behind + 1);
            swept.changed = true;
        }
        swept.grown = self.runs.len() as i32 - before as i32;
        swept
    }

    /// The same for one word of a run that has more. Loops that go through a page word by word move the border between what they have done and
    /// what they have not: that needs no new run.
    fn single<T>(
        &mut self,
        depot: &Depot,
        run: usize,
        word: u16,
        what: &mut T,
        done: impl Fn(&T, Lane) -> bool,
        mut f: impl FnMut(&mut T, &mut Lane, Extent),
    ) -> Swept {
        let mut swept = Swept {
            lanes: 1,
            ..Swept::default()
        };
        let lane = self.lane(run, word);
        if done(what, self.lanes[lane]) {
            return swept;
        }
        swept.changed = true;
        let old = shareable(depot, self.lanes[lane]);
        self.lanes[lane] = old;
        hold(depot, old);
        let mut new = old;
        let extent = Extent {
            first: word,
            step: 1,
            count: 1,
        };
        f(what, &mut new, extent);
        let (start, end) = (self.start(run), self.runs[run].end);
        let is_in = |other: usize| same(new, self.lanes[self.lane(other, word)]);
        // What is left of the run needs a word for each lane.
        if self.length(run) > self.period(run) {
            if word == start && run > 0 && is_in(run - 1) {
                self.runs[run - 1].end += 1;
                discard(depot, new);
                return swept;
            }
            if word == end - 1 && run + 1 < self.runs.len() && is_in(run + 1) {
                self.runs[run].end -= 1;
                discard(depot, new);
                return swept;
            }
        }
        let (before, behind) = (self.runs.len(), self.runs.len() - run - 1);
        let mut own = self.cut(depot, run, word);
        if self.runs[own].end > word + 1 {
            own = self.cut(depot, own, word + 1) - 1;
        }
        let lane = self.lane(own, word);
        discard(depot, core::mem::replace(&mut self.lanes[lane], new));
        self.join(depot, run, self.runs.len() - behind + 1);
        swept.grown = self.runs.len() as i32 - before as i32;
        swept
    }

    /// Words of a run.
    fn length(&self, run: usize) -> u16 {
        self.runs[run].end - self.start(run)
    }

    /// The lane of a word in `run`, or of one that would be in it if it were longer.
    fn lane(&self, run: usize, word: u16) -> usize {
        self.first_lane(run) + usize::from(word % self.period(run))
    }

    /// Are all lanes of a run that have words of `sweep` done? How many these are.
    #[inline]
    fn is_done(&self, run: usize, sweep: Sweep, done: impl Fn(Lane) -> bool) -> Option<u32> {
        let (first, period) = (self.first_lane(run), self.period(run));
        if period == 1 {
            return done(self.lanes[first]).then_some(1);
        }
        let start = self.start(run).max(sweep.first);
        let end = self.runs[run].end.min(sweep.last + 1);
        let mut word = start + (sweep.period - (start - sweep.first) % sweep.period) % sweep.period;
        let mut lanes = 0;
        let mut seen = 0u8;
        // The lanes come again after as many words as both periods have in common, which may be more than there are.
        while word < end {
            let lane = word % period;
            if seen >> lane & 1 != 0 {
                break;
            }
            if !done(self.lanes[first + usize::from(lane)]) {
                return None;
            }
            seen |= 1 << lane;
            lanes += 1;
            word += sweep.period;
        }
        Some(lanes)
    }

    /// Makes the bytes of `sweep` fresh.
    pub(super) fn clear(&mut self, depot: &Depot, sweep: Sweep) -> Swept {
        let untouched = |_: &(), lane: Lane| lane[0] == Cell::EMPTY;
        self.sweep(depot, sweep, &mut (), untouched, |(), lane, _| {
            let (new, overwritten) = clear_cells(depot, *lane, sweep.mask);
            debug_assert!(overwritten == 0, "no atomic access is to a run");
            *lane = new;
        })
    }

    /// Sees to it that a run begins at `word`, which is in `run`: which.
    fn cut(&mut self, depot: &Depot, run: usize, word: u16) -> usize {
        let start = self.start(run);
        if start == word {
            return run;
        }
        let (end, period) = (self.runs[run].end, self.period(run));
        let mut pieces = Pieces::new();
        pieces.push(start, word, period);
        let before = pieces.len;
        pieces.push(word, end, period);
        self.remake(depot, run, pieces.as_slice());
        run + before
    }

    /// Gives a run a period that is a multiple of its own and of `period`; or makes words of it, if it is too short or the period
    /// too long.
    fn refine(&mut self, depot: &Depot, run: usize, period: u16) {
        let (start, end) = (self.start(run), self.runs[run].end);
        let own = self.period(run);
        let mut common = own;
        while !common.is_multiple_of(period) {
            common += own;
        }
        if usize::from(common) <= LONGEST_PERIOD {
            let mut pieces = Pieces::new();
            pieces.push(start, end, common);
            self.remake(depot, run, pieces.as_slice());
        } else {
            let words: Vec<Piece> = (start..end).map(|word| (word + 1, 1)).collect();
            self.remake(depot, run, &words);
        }
    }

    /// Cuts a run into pieces with their periods. Each is at least as long as its period, which is one or a multiple of the run's.
    fn remake(&mut self, depot: &Depot, run: usize, pieces: &[Piece]) {
        let (mut start, first) = (self.start(run), self.first_lane(run));
        let period = self.period(run);
        for lane in &mut self.lanes[first..first + usize::from(period)] {
            *lane = shareable(depot, *lane);
        }
        let mut old = [[Cell::EMPTY; 2]; LONGEST_PERIOD];
        old[..usize::from(period)].copy_from_slice(&self.lanes[first..first + usize::from(period)]);
        let lanes: u16 = pieces.iter().map(|&(_, period)| period).sum();
        open(&mut self.lanes, first, usize::from(lanes - period));
        open(&mut self.runs, run, pieces.len() - 1);
        let mut lane = first;
        for (run, &(end, new)) in self.runs[run..].iter_mut().zip(pieces) {
            run.end = end;
            run.lane = lane as u16;
            // The first word of the piece with the first lane.
            let mut word = start.next_multiple_of(new);
            for _ in 0..new {
                // Words that are beyond the end are as good.
                let cells = old[usize::from(word % period)];
                hold(depot, cells);
                self.lanes[lane] = cells;
                lane += 1;
                word += 1;
            }
            start = end;
        }
        for &lane in &old[..usize::from(period)] {
            discard(depot, lane);
        }
        for run in &mut self.runs[run + pieces.len()..] {
            run.lane += lanes - period;
        }
    }

    /// Joins the runs from `from` to `to`, exclusive, each with the one before it if they are the same; shortens periods.
    fn join(&mut self, depot: &Depot, from: usize, to: usize) {
        let mut run = from;
        while run < to.min(self.runs.len()) {
            self.shorten(depot, run);
            if let Some((first, last)) = self.find_period(run) {
                self.alternate(depot, first, last);
                run = first;
            }
            if run > 0 && self.is_joined(run) {
                let longer = self.period(run) > self.period(run - 1);
                // Its neighbours have another neighbour now: the next run comes up in any case, the one before if the period is new to it.
                self.merge(depot, run);
                run -= usize::from(longer && run > 1);
            } else {
                run += 1;
            }
        }
    }

    /// Is a run the first or the last of some single words that repeat themselves? The first of these, and the last.
    fn find_period(&self, run: usize) -> Option<(usize, usize)> {
        let is_single = |run: usize| run < self.runs.len() && self.length(run) == 1;
        let beside = [run > 0 && is_single(run - 1), is_single(run + 1)];
        if !is_single(run) || beside == [false; 2] {
            return None;
        }
        let lane = |run: usize| self.lanes[self.first_lane(run)];
        let group = |first: usize, period: usize| {
            let singles = first..first + 2 * period;
            let mut again = first..first + period;
            let repeats = singles.into_iter().all(is_single)
                && again.all(|run| same(lane(run), lane(run + period)));
            repeats.then_some((first, first + 2 * period - 1))
        };
        // Most words are like none of their neighbours.
        let like = |other: usize| same(lane(run), lane(other));
        (2..=LONGEST_PERIOD).find_map(|period| {
            let upward = (run + 1).checked_sub(2 * period);
            upward
                .filter(|_| beside[0] && like(run - period))
                .and_then(|first| group(first, period))
                .or_else(|| {
                    let downward = beside[1] && run + period < self.runs.len();
                    (downward && like(run + period))
                        .then(|| group(run, period))
                        .flatten()
                })
        })
    }

    /// Makes one run of the single words from run `first` to run `last`, the second half of which repeats the first.
    fn alternate(&mut self, depot: &Depot, first: usize, last: usize) {
        let period = (last + 1 - first) / 2;
        let (start, end) = (self.start(first), self.runs[last].end);
        let lane = self.first_lane(first);
        self.lanes[lane..lane + period].rotate_right(usize::from(start) % period);
        for lane in self.lanes.drain(lane + period..lane + 2 * period) {
            discard(depot, lane);
        }
        self.runs[first].end = end;
        self.runs.drain(first + 1..=last);
        for run in &mut self.runs[first + 1..] {
            run.lane -= period as u16;
        }
    }

    /// May a run be one with the run before it? Each is as long as its period.
    fn is_joined(&self, run: usize) -> bool {
        let (left, right) = (self.first_lane(run - 1), self.first_lane(run));
        let (before, period) = (self.period(run - 1), self.period(run));
        let (border, end) = (self.runs[run - 1].end, self.runs[run].end);
        if before == period {
            let lanes = 0..usize::from(period);
            lanes
                .into_iter()
                .all(|lane| same(self.lanes[left + lane], self.lanes[right + lane]))
        } else if end - border == 1 {
            same(
                self.lanes[left + usize::from(border % before)],
                self.lanes[right],
            )
        } else if border - self.start(run - 1) == 1 {
            let word = border - 1;
            same(
                self.lanes[left],
                self.lanes[right + usize::from(word % period)],
            )
        } else {
            false
        }
    }

    /// Makes one of a run and the run before it, with the lanes of the one that has more.
    fn merge(&mut self, depot: &Depot, run: usize) {
        let keep_right = self.period(run) > self.period(run - 1);
        let (gone, kept) = if keep_right {
            (run - 1, run)
        } else {
            (run, run - 1)
        };
        let end = self.runs[run].end;
        let lanes = self.first_lane(gone)..self.first_lane(gone + 1);
        let less = lanes.len() as u16;
        for lane in self.lanes.drain(lanes) {
            discard(depot, lane);
        }
        self.runs[kept].end = end;
        self.runs.remove(gone);
        for run in &mut self.runs[gone..] {
            run.lane -= less;
        }
    }

    /// Gives a run the shortest period that says the same.
    fn shorten(&mut self, depot: &Depot, run: usize) {
        let period = self.period(run);
        if period == 1 {
            return;
        }
        let first = self.first_lane(run);
        let repeats = |shorter: u16| {
            period.is_multiple_of(shorter)
                && (shorter..period).all(|lane| {
                    let [a, b] = [lane, lane - shorter].map(|l| self.lanes[first + usize::from(l)]);
                    same(a, b)
                })
        };
        let Some(shorter) = (1..period).find(|&shorter| repeats(shorter)) else {
            return;
        };
        let lanes = first + usize::from(shorter)..first + usize::from(period);
        for lane in self.lanes.drain(lanes) {
            discard(depot, lane);
        }
        for run in &mut self.runs[run + 1..] {
            run.lane -= period - shorter;
        }
    }

    /// Gives each word's cells to `f`, in order, for it to keep; nothing is left.
    pub(super) fn take_words(&mut self, depot: &Depot, mut f: impl FnMut(Lane)) {
        for lane in &mut self.lanes {
            *lane = shareable(depot, *lane);
        }
        for run in 0..self.runs.len() {
            let (first, period) = (self.first_lane(run), self.period(run));
            for word in self.start(run)..self.runs[run].end {
                let lane = self.lanes[first + usize::from(word % period)];
                hold(depot, lane);
                f(lane);
            }
        }
        for lane in core::mem::take(self).lanes {
            discard(depot, lane);
        }
    }
}

/// Room for `more`. Pages that get many lanes get them side by side, each block of memory that they grow out of being left to nobody: so there are few steps
/// from some to all. All of the lanes of a page are as large as the words of the next one that is split.
fn make_room<T>(all: &mut Vec<T>, more: usize) {
    let needed = all.len() + more;
    if needed > all.capacity() {
        let room = match needed {
            0..=64 => needed.next_power_of_two(),
            65..=256 => 256,
            _ => needed.max(PAGE_WORDS),
        };
        all.reserve_exact(room - all.len());
    }
}

/// Makes room for `more` behind what is at `at`.
fn open<T: Copy>(all: &mut Vec<T>, at: usize, more: usize) {
    if more == 0 {
        return;
    }
    let len = all.len();
    let filling = all[at];
    make_room(all, more);
    all.resize(len + more, filling);
    all.copy_within(at + 1..len, at + 1 + more);
}

/// Cells that may be copied were.
fn hold(depot: &Depot, lane: Lane) {
    debug_assert!(
        lane[0].as_owned().is_none()
            && lane[0].as_block().is_none()
            && lane[0].as_mixed().is_none(),
        "made shareable before"
    );
    if let Some(index) = lane[0].as_shared() {
        depot.hold(index, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Slot, Time};
    use crate::random::Random;
    use crate::shadow::Epoch;
    use alloc::collections::BTreeSet;
    use event::AccessKind;

    fn check(runs: &Runs, words: &[Lane]) {
        assert_eq!(runs.runs.last().map(|run| run.end), Some(512));
        for run in 0..runs.runs.len() {
            let (start, end, period) = (runs.start(run), runs.runs[run].end, runs.period(run));
            assert!(period >= 1 && usize::from(period) <= LONGEST_PERIOD);
            assert!(end - start >= period);
            for word in start..end {
                let lane = runs.lanes[runs.first_lane(run) + usize::from(word % period)];
                assert!(same(lane, words[usize::from(word)]), "word {word}");
            }
        }
    }

    fn random_sweep(random: &mut Random) -> Sweep {
        // Few places to begin and end at, so that runs are met again; and all others.
        let place = |random: &mut Random| match random.up_to(3) {
            0 => random.up_to(511) as u16,
            1 => random.up_to(1) as u16 * 511,
            _ => random.up_to(7) as u16 * 64 + random.up_to(1) as u16,
        };
        let (a, mut b) = (place(random), place(random));
        if random.up_to(2) == 0 {
            // One word, often next to where a run ends.
            b = a;
        }
        let period = match random.up_to(3) {
            0 => 1 + random.up_to(7) as u16,
            1 => 2,
            _ => 1,
        };
        let first = a.min(b);
        Sweep {
            first,
            last: first + (a.max(b) - first) / period * period,
            period,
            mask: 0xFF,
        }
    }

    /// Whatever is done to the runs of a page is done to its words, and nobody is left to hold a state in the end.
    #[test]
    fn runs_say_what_words_say() {
        let depot = Depot::new();
        let cell = |time| {
            let epoch = Epoch::new(Slot(1), Time(time));
            Cell::new(epoch, AccessKind::Read, 0xFF, 0)
        };
        for seed in 0..200 {
            let mut random = Random::new(seed, 0);
            let mut words = [[Cell::EMPTY; 2]; PAGE_WORDS];
            let mut runs = Runs::new(words[0]);
            let mut most = 0;
            for _ in 0..100 {
                let sweep = random_sweep(&mut random);
                let new = random.up_to(4) as u32;
                // What a word becomes depends on what it is, as in an access.
                let step = |old: Lane| -> Lane {
                    match (new, old[0].as_shared()) {
                        (0, _) => [Cell::EMPTY; 2],
                        (1..=2, _) => [cell(new), Cell::EMPTY],
                        (_, Some(index)) => [cell(10 + index), cell(new)],
                        (_, None) => {
                            let history = [cell(100), cell(101), cell(110 + new)];
                            [Cell::shared(depot.intern(&history, 1)), Cell::EMPTY]
                        }
                    }
                };
                let mut seen = BTreeSet::new();
                let is_done = |lane: Lane| new == 1 && lane == [cell(1), Cell::EMPTY];
                runs.sweep(
                    &depot,
                    sweep,
                    &mut (),
                    |(), lane| is_done(lane),
                    |(), lane, extent| {
                        let old = *lane;
                        *lane = step(old);
                        discard(&depot, old);
                        for i in 0..extent.count {
                            let word = extent.first + i * extent.step;
                            assert!(sweep.words().any(|w| w == usize::from(word)));
                            let model = &mut words[usize::from(word)];
                            assert!(same(*model, old));
                            *model = *lane;
                            assert!(seen.insert(usize::from(word)));
                        }
                    },
                );
                for word in sweep.words() {
                    // What is left out is as it would be.
                    assert!(seen.contains(&word) || is_done(words[word]));
                }
                check(&runs, &words);
                most = most.max(runs.runs.len());
            }
            assert!(most > 8);
            let mut at = 0;
            runs.take_words(&depot, |lane| {
                assert!(same(lane, words[at]));
                discard(&depot, lane);
                at += 1;
            });
            assert_eq!(at, PAGE_WORDS);
            assert!(depot.is_empty());
        }
    }

    /// Who goes through a page word by word, up or down, leaves it as one who goes through it at once does, whatever pattern it has.
    #[test]
    fn word_by_word_is_as_good_as_at_once() {
        let depot = Depot::new();
        let cell = |time| {
            let epoch = Epoch::new(Slot(1), Time(time));
            Cell::new(epoch, AccessKind::Write, 0xFF, 0)
        };
        for (period, down) in (1..=LONGEST_PERIOD as u16).flat_map(|p| [(p, false), (p, true)]) {
            let mut runs = Runs::new([Cell::EMPTY; 2]);
            let mut touch = |sweep: Sweep, time: u32| {
                runs.sweep(
                    &depot,
                    sweep,
                    &mut (),
                    |(), _| false,
                    |(), lane, _| *lane = [cell(time), lane[0]],
                );
                (runs.runs.len(), runs.lanes())
            };
            for first in 0..period {
                let last = first + (PAGE_WORDS as u16 - 1 - first) / period * period;
                let sweep = Sweep {
                    first,
                    last,
                    period,
                    mask: 0xFF,
                };
                touch(sweep, 1 + u32::from(first));
            }
            for i in 0..PAGE_WORDS as u16 {
                let word = if down { PAGE_WORDS as u16 - 1 - i } else { i };
                let sweep = Sweep {
                    first: word,
                    last: word,
                    period: 1,
                    mask: 0xFF,
                };
                let (many, lanes) = touch(sweep, 100);
                assert!(lanes <= 5 * usize::from(period), "{period} {word} {many}");
            }
            assert_eq!((runs.runs.len(), runs.lanes()), (1, usize::from(period)));
        }
    }

    /// A grid that is swept in two colours stays two lanes, whoever sweeps and where its rows end.
    #[test]
    fn a_red_black_grid_stays_small() {
        let depot = Depot::new();
        let mut runs = Runs::new([Cell::EMPTY; 2]);
        for time in 1..100 {
            let epoch = Epoch::new(Slot(1), Time(time));
            let first = 3 + time as u16 % 2;
            let sweep = Sweep {
                first,
                last: first + 400,
                period: 2,
                mask: 0xFF,
            };
            runs.sweep(
                &depot,
                sweep,
                &mut (),
                |(), _| false,
                |(), lane, _| {
                    *lane = [Cell::new(epoch, AccessKind::Write, 0xFF, 0), Cell::EMPTY];
                },
            );
            assert!(runs.runs.len() <= 5 && runs.lanes() <= 6, "{runs:?}");
        }
    }
}
