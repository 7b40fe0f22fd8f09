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
use core::ops::RangeInclusive;

use super::cell::Cell;
use super::depot::Depot;
use super::location::clear_cells;
use super::outside::{discard, shareable};
use super::run_list::{Lane, Piece, Run, RunList, WORDS};
use super::sweep::{Extent, LONGEST_PERIOD, Sweep};

/// The runs of a page, and their lanes. To be used by one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    list: RunList,
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

/// A run that is cut has at most this many pieces, and as many lanes: words on both sides that are fewer than a period.
const PIECES: usize = 2 * LONGEST_PERIOD;

/// Words of a run that nobody accesses one by one.
const LONG: u16 = 16;

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
        Runs {
            list: RunList::new(cells),
        }
    }

    /// Lanes of all runs.
    pub(super) fn lanes(&self) -> usize {
        self.list.lanes()
    }

    /// Lanes of the runs that have some of these words.
    pub(super) fn lanes_in(&self, words: RangeInclusive<u16>) -> u64 {
        let mut run = self.list.find(*words.start());
        let mut lanes = u64::from(run.period);
        while run.end <= *words.end() {
            run = self.list.next(run);
            lanes += u64::from(run.period);
        }
        lanes
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> u64 {
        self.list.bytes()
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
        let before = self.list.runs();
        let mut swept = Swept::default();
        let mut run = self.list.find(sweep.first);
        if sweep.first == sweep.last && run.len() > 1 {
            return self.single(depot, run, sweep.first, what, done, f);
        }
        // The first run that is not what it was, where the last of them ends, and whether they may be like their neighbours.
        let mut changed: Option<(Run, u16, bool)> = None;
        // Was a run accessed as it is, or but for its first word, as in a triangle?
        let mut known = false;
        loop {
            if let Some(lanes) = self.is_done(run, sweep, |lane| done(what, lane)) {
                swept.lanes += lanes;
            } else {
                let old = run;
                let cells = |lane: &mut Lane, extent: Extent| f(what, lane, extent);
                run = self.touch(depot, run, sweep, &mut swept, cells);
                // One that is accessed again as it is, its neighbours are accessed without.
                let whole = run == old;
                known = whole || run.start == old.start + 1 && run.end == old.end;
                let again = whole && run.len() >= LONG;
                changed = Some(match changed {
                    None if again => (run, old.end, false),
                    None => (self.list.run(old.start), old.end, true),
                    Some((from, ..)) => (self.list.run(from.start), old.end, true),
                });
            }
            if run.end > sweep.last {
                break;
            }
            run = self.list.next(run);
        }
        if let Some((from, to, alike)) = changed {
            if alike {
                self.join(depot, (from, to), (sweep.first, sweep.last));
            }
            if known {
                // It may be again.
                self.list.note(self.list.find(sweep.first), sweep);
            }
            swept.changed = true;
        }
        swept.grown = i32::from(self.list.runs()) - i32::from(before);
        swept
    }

    /// Its list, for who accesses a lane that [is known](RunList::known_place) as [`Runs::sweep`] does.
    #[inline(always)]
    pub(super) fn list(&mut self) -> &mut RunList {
        &mut self.list
    }

    /// The part of a sweep that is in one run. Returns the last of the runs that this one has become.
    fn touch(
        &mut self,
        depot: &Depot,
        mut run: Run,
        sweep: Sweep,
        swept: &mut Swept,
        mut f: impl FnMut(&mut Lane, Extent),
    ) -> Run {
        let behind = run.end;
        // Words of the run that the sweep goes past at its ends are in other lanes, if they are fewer than a period.
        if run.start + sweep.period <= sweep.first {
            self.cut(depot, run, sweep.first);
            run = self.list.run(sweep.first);
        }
        if behind > sweep.last + sweep.period {
            let last = self.list.find(sweep.last);
            self.cut(depot, last, sweep.last + 1);
            run = self.list.run(run.start);
        }
        loop {
            if run.len() > 1 && !run.period.is_multiple_of(sweep.period) {
                self.refine(depot, run, sweep.period);
                run = self.list.run(run.start);
                continue;
            }
            let mut word = sweep.from(run.start);
            while word < run.start + run.period {
                let extent = Extent {
                    first: word,
                    step: run.period,
                    count: (run.end - word).div_ceil(run.period),
                };
                f(self.list.at_mut(run.lane(word)), extent);
                swept.lanes += 1;
                word += sweep.period;
            }
            if run.end == behind {
                return run;
            }
            if run.end > sweep.last {
                return self.list.find(behind - 1);
            }
            run = self.list.next(run);
        }
    }

    /// The same for one word of a run that has more. Loops that go through a page word by word move the border between what they have done and
    /// what they have not: that needs no new run.
    fn single<T>(
        &mut self,
        depot: &Depot,
        run: Run,
        word: u16,
        what: &mut T,
        done: impl Fn(&T, Lane) -> bool,
        mut f: impl FnMut(&mut T, &mut Lane, Extent),
    ) -> Swept {
        let mut swept = Swept {
            lanes: 1,
            ..Swept::default()
        };
        let lane = run.lane(word);
        if done(what, self.list.at(lane)) {
            return swept;
        }
        swept.changed = true;
        let old = shareable(depot, self.list.at(lane));
        *self.list.at_mut(lane) = old;
        hold(depot, old);
        let mut new = old;
        let extent = Extent {
            first: word,
            step: 1,
            count: 1,
        };
        f(what, &mut new, extent);
        // What is left of the run needs a word for each lane.
        if run.len() > run.period {
            let is_in = |other: &Run| same(new, self.list.at(other.lane(word)));
            if word == run.start && self.list.previous(run).as_ref().is_some_and(is_in) {
                self.list.give_first(run);
                discard(depot, new);
                return swept;
            }
            if word == run.end - 1 && run.end < WORDS && is_in(&self.list.next(run)) {
                self.list.take_last(self.list.next(run));
                discard(depot, new);
                return swept;
            }
        }
        let before = self.list.runs();
        self.cut(depot, run, word);
        self.cut(depot, self.list.find(word), word + 1);
        let lane = self.list.find(word).lane(word);
        discard(depot, core::mem::replace(self.list.at_mut(lane), new));
        let from = self.list.run(run.start);
        self.join(depot, (from, run.end), (word, word));
        swept.grown = i32::from(self.list.runs()) - i32::from(before);
        swept
    }

    /// Are all lanes of a run that have words of `sweep` done? How many these are.
    #[inline]
    fn is_done(&self, run: Run, sweep: Sweep, done: impl Fn(Lane) -> bool) -> Option<u32> {
        if run.period == 1 {
            return done(self.list.at(run.first)).then_some(1);
        }
        let end = run.end.min(sweep.last + 1);
        let mut word = sweep.from(run.start);
        let (mut lanes, mut seen) = (0, 0u8);
        // The lanes come again after as many words as both periods have in common, which may be more than there are.
        while word < end {
            let lane = run.lane(word);
            let bit = 1 << (lane - run.first);
            if seen & bit != 0 {
                break;
            }
            if !done(self.list.at(lane)) {
                return None;
            }
            seen |= bit;
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

    /// Sees to it that a run begins at `word`, which is in `run` or behind it.
    fn cut(&mut self, depot: &Depot, run: Run, word: u16) {
        if run.start == word || run.end == word {
            return;
        }
        if run.period == 1 {
            let lane = shareable(depot, self.list.at(run.first));
            *self.list.at_mut(run.first) = lane;
            hold(depot, lane);
            return self.list.cut(run, word, lane);
        }
        let mut pieces = Pieces::new();
        pieces.push(run.start, word, run.period);
        pieces.push(word, run.end, run.period);
        self.remake(depot, run, pieces.as_slice());
    }

    /// Gives a run a period that is a multiple of its own and of `period`; or makes words of it, if it is too short or the period
    /// too long.
    fn refine(&mut self, depot: &Depot, run: Run, period: u16) {
        let mut common = run.period;
        while !common.is_multiple_of(period) {
            common += run.period;
        }
        if usize::from(common) <= LONGEST_PERIOD {
            let mut pieces = Pieces::new();
            pieces.push(run.start, run.end, common);
            self.remake(depot, run, pieces.as_slice());
        } else {
            let words: Vec<Piece> = (run.start..run.end).map(|word| (word + 1, 1)).collect();
            self.remake(depot, run, &words);
        }
    }

    /// Cuts a run into pieces with their periods. Each is at least as long as its period, which is one or a multiple of the run's.
    fn remake(&mut self, depot: &Depot, run: Run, pieces: &[Piece]) {
        let mut old = [[Cell::EMPTY; 2]; LONGEST_PERIOD];
        let old = &mut old[..usize::from(run.period)];
        for (lane, place) in old.iter_mut().zip(run.lanes()) {
            *lane = shareable(depot, self.list.at(place));
        }
        let count: u16 = pieces.iter().map(|&(_, period)| period).sum();
        let (mut few, mut many);
        let lanes = if usize::from(count) <= PIECES {
            few = [[Cell::EMPTY; 2]; PIECES];
            &mut few[..usize::from(count)]
        } else {
            many = alloc::vec![[Cell::EMPTY; 2]; usize::from(count)];
            &mut many[..]
        };
        let (mut start, mut next) = (run.start, lanes.iter_mut());
        for &(end, new) in pieces {
            // The first word with the first lane; and if that is beyond the end, it is as good.
            let word = start.next_multiple_of(new);
            for (word, lane) in (word..word + new).zip(&mut next) {
                *lane = old[usize::from(word % run.period)];
                hold(depot, *lane);
            }
            start = end;
        }
        for &lane in &*old {
            discard(depot, lane);
        }
        self.list.replace(run.start, run.end, pieces, lanes);
    }

    /// Joins each of the runs from `from` to the one that begins at `to` with the one before it if they are the same; shortens periods. The words from
    /// `first` to `last` were touched: if single words repeat themselves now, then some of these do.
    fn join(&mut self, depot: &Depot, (from, to): (Run, u16), (first, last): (u16, u16)) {
        let mut run = from;
        let mut before = self.list.previous(run);
        loop {
            if run.period > 1 && self.shorten(depot, run) {
                run = self.list.run(run.start);
            }
            if (first..=last).contains(&run.start)
                && let Some((first, last)) = self.find_period(run)
            {
                self.alternate(depot, first, last);
                run = self.list.run(first);
                before = self.list.previous(run);
            }
            if let Some(left) = before.filter(|&left| self.is_joined(left, run)) {
                self.merge(depot, left, run);
                let longer = run.period > left.period;
                run = self.list.run(left.start);
                // Its neighbours have another neighbour now: the next run comes up in any case, the one before if the period is new to it.
                if longer {
                    before = self.list.previous(run);
                    continue;
                }
            }
            if run.end > to || run.end == WORDS {
                return;
            }
            before = Some(run);
            run = self.list.next(run);
        }
    }

    /// Is a run the first or the last of some single words that repeat themselves? The first of these words, and the last.
    fn find_period(&self, run: Run) -> Option<(u16, u16)> {
        if run.len() > 1 {
            return None;
        }
        let (before, after) = self.list.singles(run);
        if before.max(after) < 4 {
            return None;
        }
        // Lanes of single words side by side are side by side.
        let own = run.first;
        let like = |a: usize, b: usize| same(self.list.at(a), self.list.at(b));
        (2..=LONGEST_PERIOD as u16).find_map(|period| {
            let far = usize::from(period);
            if before >= 2 * period && (0..far).all(|i| like(own - i, own - far - i)) {
                return Some((run.start + 1 - 2 * period, run.start));
            }
            let repeats = after >= 2 * period && (0..far).all(|i| like(own + i, own + far + i));
            repeats.then_some((run.start, run.start + 2 * period - 1))
        })
    }

    /// Makes one run of the single words from `first` to `last`, the second half of which repeats the first.
    fn alternate(&mut self, depot: &Depot, first: u16, last: u16) {
        let period = (last + 1 - first) / 2;
        let place = self.list.run(first).first;
        let mut lanes = [[Cell::EMPTY; 2]; LONGEST_PERIOD];
        for (place, word) in (place..).zip(first..first + period) {
            lanes[usize::from(word % period)] = self.list.at(place);
            discard(depot, self.list.at(place + usize::from(period)));
        }
        let lanes = &lanes[..usize::from(period)];
        self.list
            .replace(first, last + 1, &[(last + 1, period)], lanes);
    }

    /// May a run be one with the run before it? Each is as long as its period.
    fn is_joined(&self, left: Run, right: Run) -> bool {
        let like = |a: usize, b: usize| same(self.list.at(a), self.list.at(b));
        if left.period == right.period {
            left.lanes().zip(right.lanes()).all(|(a, b)| like(a, b))
        } else if right.len() == 1 {
            like(left.lane(right.start), right.first)
        } else if left.len() == 1 {
            like(left.first, right.lane(left.start))
        } else {
            false
        }
    }

    /// Makes one of a run and the run before it, with the lanes of the one that has more.
    fn merge(&mut self, depot: &Depot, left: Run, right: Run) {
        let (kept, gone) = if right.period > left.period {
            (right, left)
        } else {
            (left, right)
        };
        let mut lanes = [[Cell::EMPTY; 2]; LONGEST_PERIOD];
        let lanes = self.copy(kept, &mut lanes);
        for place in gone.lanes() {
            discard(depot, self.list.at(place));
        }
        let pieces = [(right.end, kept.period)];
        self.list.replace(left.start, right.end, &pieces, lanes);
    }

    /// Gives a run the shortest period that says the same, if it is another one.
    fn shorten(&mut self, depot: &Depot, run: Run) -> bool {
        let like = |a: usize, b: usize| same(self.list.at(a), self.list.at(b));
        let repeats = |&shorter: &u16| {
            let far = usize::from(shorter);
            run.period.is_multiple_of(shorter)
                && run.lanes().skip(far).all(|lane| like(lane, lane - far))
        };
        let Some(shorter) = (1..run.period).find(repeats) else {
            return false;
        };
        let mut lanes = [[Cell::EMPTY; 2]; LONGEST_PERIOD];
        let (kept, gone) = self.copy(run, &mut lanes).split_at(usize::from(shorter));
        for &lane in gone {
            discard(depot, lane);
        }
        let pieces = [(run.end, shorter)];
        self.list.replace(run.start, run.end, &pieces, kept);
        true
    }

    /// The lanes of a run.
    fn copy<'a>(&self, run: Run, lanes: &'a mut [Lane; LONGEST_PERIOD]) -> &'a [Lane] {
        let lanes = &mut lanes[..usize::from(run.period)];
        for (lane, place) in lanes.iter_mut().zip(run.lanes()) {
            *lane = self.list.at(place);
        }
        lanes
    }

    /// Gives each word's cells to `f`, in order, for it to keep; nothing is left.
    pub(super) fn take_words(&mut self, depot: &Depot, mut f: impl FnMut(Lane)) {
        let mut list = core::mem::take(&mut self.list);
        for place in list.places() {
            *list.at_mut(place) = shareable(depot, list.at(place));
        }
        let mut run = list.run(0);
        loop {
            for word in run.start..run.end {
                let lane = list.at(run.lane(word));
                hold(depot, lane);
                f(lane);
            }
            if run.end == WORDS {
                break;
            }
            run = list.next(run);
        }
        for place in list.places() {
            discard(depot, list.at(place));
        }
    }
}

/// Cells that may be copied were.
fn hold(depot: &Depot, lane: Lane) {
    debug_assert!(
        lane[0].as_owned().is_none()
            && lane[0].as_block().is_none()
            && lane[0].as_fields().is_none()
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
    use crate::shadow::PAGE_WORDS;
    use alloc::collections::BTreeSet;
    use event::AccessKind;

    fn check(runs: &Runs, words: &[Lane]) {
        let list = &runs.list;
        let (mut run, mut many, mut lanes) = (list.run(0), 0, 0);
        loop {
            assert!(run.period >= 1 && usize::from(run.period) <= LONGEST_PERIOD);
            assert!(run.len() >= run.period);
            for word in run.start..run.end {
                let lane = list.at(run.lane(word));
                assert!(same(lane, words[usize::from(word)]), "word {word}");
                let found = list.find(word);
                assert_eq!((found.start, found.first), (run.start, run.first));
            }
            (many, lanes) = (many + 1, lanes + usize::from(run.period));
            if run.end == WORDS {
                break;
            }
            let next = list.next(run);
            assert_eq!(next.start, run.end);
            let before = list.previous(next).unwrap();
            assert_eq!((before.start, before.first), (run.start, run.first));
            run = next;
        }
        assert_eq!((list.runs(), list.lanes()), (many, lanes));
        assert_eq!(list.places().count(), lanes);
    }

    /// Is it known, and true, that the words of `sweep` are a lane?
    fn is_known(runs: &Runs, sweep: Sweep) -> bool {
        let list = &runs.list;
        let Some(place) = list.known_place(sweep.row()) else {
            return false;
        };
        let is_in = |word: &u16| list.find(*word).lane(*word) == place;
        let words = (0..WORDS).filter(is_in).map(usize::from);
        assert!(words.eq(sweep.words()), "{sweep:?}");
        true
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
        let (mut widest, mut known, mut shortened) = (0, 0, 0);
        for seed in 0..200 {
            let mut random = Random::new(seed, 0);
            let mut words = [[Cell::EMPTY; 2]; PAGE_WORDS];
            let mut runs = Runs::new(words[0]);
            let (mut most, mut many) = (0, 0);
            let mut sweeps = Vec::new();
            for _ in 0..100 {
                let sweep = random_sweep(&mut random);
                sweeps.push(sweep);
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
                // A row that is known, without its first word.
                let shorter = Sweep {
                    first: sweep.first + 1,
                    ..sweep
                };
                if sweep.first < sweep.last && runs.list.shorten_known(shorter.row()).is_some() {
                    shortened += 1;
                    check(&runs, &words);
                    assert!(is_known(&runs, shorter));
                    sweeps.push(shorter);
                }
                known += sweeps.iter().filter(|&&s| is_known(&runs, s)).count();
                most = most.max(usize::from(runs.list.runs()));
                many = many.max(runs.lanes());
            }
            assert!(most > 8);
            widest = widest.max(many);
            let mut at = 0;
            runs.take_words(&depot, |lane| {
                assert!(same(lane, words[at]));
                discard(&depot, lane);
                at += 1;
            });
            assert_eq!(at, PAGE_WORDS);
            assert!(depot.is_empty());
        }
        // Some have more lanes than stand side by side.
        assert!(widest > 100, "{widest}");
        assert!(known > 1000, "{known}");
        assert!(shortened > 100, "{shortened}");
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
                (runs.list.runs(), runs.lanes())
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
            assert_eq!((runs.list.runs(), runs.lanes()), (1, usize::from(period)));
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
            assert!(
                usize::from(runs.list.runs()) <= 5 && runs.lanes() <= 6,
                "{runs:?}"
            );
        }
    }
}
