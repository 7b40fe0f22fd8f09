//! Where the runs of a page begin, and their lanes.
//!
//! A page that is gone through in a triangle, as a matrix is that is factorised, has a long run and ever more single words with a past of their
//! own, and is worked on by one thread after the other: what counts is how many lines of the cache a step needs. So beginnings are marked in a set of bits,
//! one line for all. Lanes stand side by side while they are few, and in the order of their runs. When they are more, each has the place
//! of a word in an array for all words, so that nothing moves when a run is cut.
//!
//! ```text
//!   words    0 1 2 3 4 5 6 7 8 9 …        a run from 0 with period 1, from 3 with period 2, from 9 on with period 1
//!   starts   1 0 0 1 0 0 0 0 0 1 …
//!   marks    1 0 0 1 1 0 0 0 0 1 …        a lane each: from the start of a run on, as many as its period
//!   lanes    a     b c         d          few: [a b c d]; many: [a - - b c - - - - d …]
//! ```

use alloc::vec::Vec;

use super::cell::Cell;
use super::pages::PAGE_WORDS;
use super::sweep::{LONGEST_PERIOD, Row, Sweep};

/// Cells of a location.
pub(super) type Lane = [Cell; 2];

/// A part of a run that is made a run of its own: where it ends, and its period.
pub(super) type Piece = (u16, u16);

/// Of a page.
pub(super) const WORDS: u16 = PAGE_WORDS as u16;
/// So many lanes are few.
const FEW: usize = 64;

/// Some words of a page.
#[derive(Debug, Default, Clone, Copy)]
struct Marks([u64; PAGE_WORDS / 64]);

const fn bits_from(word: u16) -> u64 {
    u64::MAX << (word % 64)
}

const fn bits_until(word: u16) -> u64 {
    u64::MAX >> (63 - word % 64)
}

impl Marks {
    fn has(&self, word: u16) -> bool {
        self.0[usize::from(word / 64)] >> (word % 64) & 1 != 0
    }

    fn set(&mut self, word: u16) {
        self.0[usize::from(word / 64)] |= 1 << (word % 64);
    }

    /// Takes the marks from `start` to `end`, exclusive.
    fn clear(&mut self, start: u16, end: u16) {
        let (from, to) = (usize::from(start / 64), usize::from((end - 1) / 64));
        for at in from..=to {
            let mut gone = u64::MAX;
            if at == from {
                gone &= bits_from(start);
            }
            if at == to {
                gone &= bits_until(end - 1);
            }
            self.0[at] &= !gone;
        }
    }

    /// The last one that is not after `word`. There is one.
    #[inline]
    fn last_until(&self, word: u16) -> u16 {
        let mut at = usize::from(word / 64);
        let mut bits = self.0[at] & bits_until(word);
        while bits == 0 && at > 0 {
            at -= 1;
            bits = self.0[at];
        }
        debug_assert!(bits != 0, "a run begins at the page's first word");
        at as u16 * 64 + 63 - bits.leading_zeros() as u16
    }

    /// The first one that is not before `word`; the number of words if there is none.
    #[inline]
    fn first_from(&self, word: u16) -> u16 {
        let mut at = usize::from(word / 64);
        let Some(&bits) = self.0.get(at) else {
            return WORDS;
        };
        let mut bits = bits & bits_from(word);
        while bits == 0 {
            at += 1;
            match self.0.get(at) {
                Some(&next) => bits = next,
                None => return WORDS,
            }
        }
        at as u16 * 64 + bits.trailing_zeros() as u16
    }

    /// Those of `word` and the words after it, from bit 0 on, at least 32.
    #[inline]
    fn after(&self, word: u16) -> u64 {
        let (at, shift) = (usize::from(word / 64), word % 64);
        let here = self.0[at] >> shift;
        match self.0.get(at + 1) {
            Some(&next) if shift > 32 => here | next << (64 - shift),
            _ => here,
        }
    }

    /// Those of `word` and the words before it, from bit 63 down, at least 32.
    #[inline]
    fn before(&self, word: u16) -> u64 {
        let (at, shift) = (usize::from(word / 64), 63 - word % 64);
        let here = self.0[at] << shift;
        match at.checked_sub(1) {
            Some(last) if shift > 32 => here | self.0[last] >> (64 - shift),
            _ => here,
        }
    }
}

/// One run, as it was when somebody looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// Its first word.
    pub(super) start: u16,
    /// One past its last word.
    pub(super) end: u16,
    pub(super) period: u16,
    /// The place of its first lane; the others are next to it.
    pub(super) first: usize,
}

impl Run {
    /// The place of the lane of a word, even of one that would be in it if it were longer.
    #[inline]
    pub(super) fn lane(self, word: u16) -> usize {
        // Most are even.
        let lane = match self.period {
            1 => 0,
            2 => word % 2,
            period => word % period,
        };
        self.first + usize::from(lane)
    }

    /// The places of its lanes.
    pub(super) fn lanes(self) -> core::ops::Range<usize> {
        self.first..self.first + usize::from(self.period)
    }

    /// How many words it has.
    pub(super) fn len(self) -> u16 {
        self.end - self.start
    }
}

/// How many sweeps are known to be a lane.
const KNOWN: usize = 8;

/// Sweeps whose words are those of one lane: a row that is gone through again and again is found without a look at the marks.
#[derive(Debug, Default)]
#[repr(C)]
struct Known {
    /// The one to be forgotten next.
    next: u16,
    /// A [`Row`] each; 0: none.
    sweeps: [u32; KNOWN],
    /// Of their lanes.
    places: [u16; KNOWN],
}

impl Known {
    #[inline(always)]
    fn find(&self, row: Row) -> Option<usize> {
        Some(usize::from(self.places[self.position(row)?]))
    }

    #[inline(always)]
    fn position(&self, row: Row) -> Option<usize> {
        self.sweeps.iter().position(|&known| known == row.0)
    }

    fn note(&mut self, row: Row, place: usize) {
        let at = usize::from(self.next) % KNOWN;
        self.next = at as u16 + 1;
        self.set(at, row, place);
    }

    #[inline(always)]
    fn set(&mut self, at: usize, row: Row, place: usize) {
        self.sweeps[at] = row.0;
        self.places[at] = place as u16;
    }

    /// There is one more lane behind `place`.
    #[inline(always)]
    fn inserted(&mut self, place: usize) {
        for known in &mut self.places {
            *known += u16::from(usize::from(*known) > place);
        }
    }
}

/// The runs of a page. What is needed for a sweep that is known comes first, and each part has lines of the cache to itself, see
/// [`RunPages`](super::run_pages::RunPages).
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct RunList {
    /// As many as there are lanes, or one for each word.
    lanes: Vec<Lane>,
    runs: u16,
    /// How many lanes there are.
    count: u16,
    /// As long as no lane moves.
    known: Known,
    /// Lanes before each word of `marks`.
    before: [u16; PAGE_WORDS / 64],
    starts: Marks,
    marks: Marks,
}

/// Where what a known sweep is found by begins: a line of the cache, if the list begins half a line before. So do marks and starts.
pub(super) const KNOWN_AT: usize =
    core::mem::offset_of!(RunList, known) + core::mem::offset_of!(Known, sweeps);
const _: () = assert!(
    KNOWN_AT == 32
        && core::mem::offset_of!(RunList, starts) == KNOWN_AT + 64
        && core::mem::offset_of!(RunList, marks) == KNOWN_AT + 128
);

impl RunList {
    /// One run.
    pub(super) fn new(lane: Lane) -> RunList {
        let mut list = RunList {
            before: [1; PAGE_WORDS / 64],
            runs: 1,
            count: 1,
            lanes: Vec::with_capacity(4),
            ..RunList::default()
        };
        list.before[0] = 0;
        list.starts.set(0);
        list.marks.set(0);
        list.lanes.push(lane);
        list
    }

    /// How many runs there are.
    pub(super) fn runs(&self) -> u16 {
        self.runs
    }

    /// How many lanes there are.
    pub(super) fn lanes(&self) -> usize {
        usize::from(self.count)
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> u64 {
        (self.lanes.capacity() * size_of::<Lane>()) as u64
    }

    /// The run of a word.
    #[inline]
    pub(super) fn find(&self, word: u16) -> Run {
        self.run(self.starts.last_until(word))
    }

    /// The run that begins at `start`.
    #[inline]
    pub(super) fn run(&self, start: u16) -> Run {
        let first = if self.is_spread() {
            usize::from(start)
        } else {
            let at = usize::from(start / 64);
            let before = self.marks.0[at] & !bits_from(start);
            usize::from(self.before[at]) + before.count_ones() as usize
        };
        self.with(start, first)
    }

    #[inline]
    fn with(&self, start: u16, first: usize) -> Run {
        let end = self.starts.first_from(start + 1);
        Run {
            start,
            end,
            period: (self.marks.after(start).trailing_ones() as u16).min(end - start),
            first,
        }
    }

    /// The run behind one that is not the last.
    #[inline]
    pub(super) fn next(&self, run: Run) -> Run {
        let first = if self.is_spread() {
            usize::from(run.end)
        } else {
            run.lanes().end
        };
        self.with(run.end, first)
    }

    /// The run before one.
    #[inline]
    pub(super) fn previous(&self, run: Run) -> Option<Run> {
        let last = run.start.checked_sub(1)?;
        let before = self.with(self.starts.last_until(last), 0);
        let first = if self.is_spread() {
            usize::from(before.start)
        } else {
            run.first - usize::from(before.period)
        };
        Some(Run { first, ..before })
    }

    /// A run is a single word. How many runs like that end with it, and how many begin with it, as far as anybody cares: itself included.
    pub(super) fn singles(&self, run: Run) -> (u16, u16) {
        let most = 2 * LONGEST_PERIOD as u16;
        let before = self.starts.before(run.start).leading_ones() as u16;
        let after = self.starts.after(run.start).trailing_ones() as u16;
        // The last of them has a beginning behind it, or it is none.
        let is_last = run.start + after >= WORDS;
        let after = if is_last { after } else { after - 1 };
        (before.min(most), after.min(most))
    }

    /// Has each lane the place of a word?
    fn is_spread(&self) -> bool {
        self.lanes.len() == PAGE_WORDS
    }

    /// A lane by its place.
    #[inline]
    pub(super) fn at(&self, place: usize) -> Lane {
        self.lanes[place]
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn at_mut(&mut self, place: usize) -> &mut Lane {
        &mut self.lanes[place]
    }

    /// The place of the lane that has the words of `row`, and no others, if that is [known](RunList::note).
    #[inline(always)]
    pub(super) fn known_place(&self, row: Row) -> Option<usize> {
        self.known.find(row)
    }

    /// The same for a lane that has one word more, the one before: a row of a triangle. It is cut, if that is easy.
    #[inline(never)]
    pub(super) fn shorten_known(&mut self, row: Row) -> Option<usize> {
        if row.period() != 1 {
            return None;
        }
        let at = self.known.position(row.longer()?)?;
        let place = usize::from(self.known.places[at]);
        let lane = self.lanes[place];
        let before = place.checked_sub(1).map(|before| self.lanes[before]);
        // One that may be copied; and the word that is left over need not be joined with the one before it.
        if !lane[0].is_inline() || before == Some(lane) {
            return None;
        }
        let word = row.first();
        let place = if self.is_spread() {
            self.begin(word);
            self.lanes[usize::from(word)] = lane;
            usize::from(word)
        } else {
            self.insert(place, word, lane);
            if self.is_spread() {
                self.known = Known::default();
                usize::from(word)
            } else {
                self.known.inserted(place);
                place + 1
            }
        };
        self.known.set(at, row, place);
        Some(place)
    }

    /// Remembers the words of `sweep`, if they are those of a lane of `run`.
    pub(super) fn note(&mut self, run: Run, sweep: Sweep) {
        let is_lane = run.start <= sweep.first
            && sweep.last < run.end
            && (run.period == sweep.period || run.len() == 1)
            && sweep.first - run.start < run.period
            && run.end - sweep.last <= run.period;
        if is_lane && self.known.find(sweep.row()).is_none() {
            self.known.note(sweep.row(), run.lane(sweep.first));
        }
    }

    /// Puts other runs in the place of those from `start` to `end`, exclusive, with these lanes.
    pub(super) fn replace(&mut self, start: u16, end: u16, pieces: &[Piece], lanes: &[Lane]) {
        self.known = Known::default();
        let mut run = self.run(start);
        let (first, mut gone, mut runs) = (run.first, run.period, 1);
        while run.end < end {
            run = self.with(run.end, 0);
            gone += run.period;
            runs += 1;
        }
        self.starts.clear(start, end);
        self.marks.clear(start, end);
        self.runs = self.runs - runs + pieces.len() as u16;
        self.count = self.count - gone + lanes.len() as u16;
        if !self.is_spread() {
            let old = first..first + usize::from(gone);
            put(&mut self.lanes, old, lanes);
        }
        let (mut run, mut lane) = (start, 0);
        for &(end, period) in pieces {
            self.starts.set(run);
            for place in run..run + period {
                self.marks.set(place);
                if self.is_spread() {
                    self.lanes[usize::from(place)] = lanes[lane];
                }
                lane += 1;
            }
            run = end;
        }
        self.recount(start, end - 1);
        if self.lanes.len() > FEW && !self.is_spread() {
            self.spread();
        }
    }

    /// A run with one lane ends before `word`, where another one with that lane begins.
    pub(super) fn cut(&mut self, run: Run, word: u16, lane: Lane) {
        self.known = Known::default();
        self.insert(run.first, word, lane);
    }

    /// The same for the run whose one lane is at `place`, with what is known left as it was.
    fn insert(&mut self, place: usize, word: u16, lane: Lane) {
        self.begin(word);
        if self.is_spread() {
            self.lanes[usize::from(word)] = lane;
            return;
        }
        put(&mut self.lanes, place + 1..place + 1, &[lane]);
        self.recount(word, word);
        if self.lanes.len() > FEW {
            self.spread();
        }
    }

    /// A run with one lane begins at `word`.
    #[inline(always)]
    fn begin(&mut self, word: u16) {
        self.starts.set(word);
        self.marks.set(word);
        self.runs += 1;
        self.count += 1;
    }

    /// The first word of a run that has more words than its period belongs to the run before it from now on.
    pub(super) fn give_first(&mut self, run: Run) {
        self.shift(run, run.start + 1);
    }

    /// The last word of the run before, which has more words than its period, belongs to this one from now on.
    pub(super) fn take_last(&mut self, run: Run) {
        self.shift(run, run.start - 1);
    }

    fn shift(&mut self, run: Run, to: u16) {
        self.known = Known::default();
        self.starts.clear(run.start, run.start + 1);
        self.starts.set(to);
        self.marks.clear(run.start, run.start + run.period);
        for place in to..to + run.period {
            self.marks.set(place);
        }
        if self.is_spread() {
            self.lanes.copy_within(run.lanes(), usize::from(to));
        }
        self.recount(run.start.min(to), run.start.max(to) + run.period - 1);
    }

    /// Marks from word `first` to `last` have changed.
    fn recount(&mut self, first: u16, last: u16) {
        if self.is_spread() {
            return;
        }
        let (first, last) = (usize::from(first / 64), usize::from(last / 64));
        let mut before = self.before[first];
        for at in first..=last {
            self.before[at] = before;
            before += self.marks.0[at].count_ones() as u16;
        }
        // Those behind have moved together.
        if let Some(&old) = self.before.get(last + 1) {
            for behind in &mut self.before[last + 1..] {
                *behind = behind.wrapping_add(before).wrapping_sub(old);
            }
        }
    }

    /// Gives each lane the place of a word.
    #[cold]
    fn spread(&mut self) {
        let mut few = core::mem::take(&mut self.lanes).into_iter();
        let mut all = Vec::with_capacity(PAGE_WORDS);
        for word in 0..WORDS {
            let lane = self.marks.has(word).then(|| few.next()).flatten();
            all.push(lane.unwrap_or([Cell::EMPTY; 2]));
        }
        self.lanes = all;
    }

    /// The places of all lanes.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let (spread, marks, len) = (self.is_spread(), self.marks, self.lanes.len());
        (0..len).filter(move |&place| !spread || marks.has(place as u16))
    }
}

/// Puts `new` in the place of some others.
fn put(all: &mut Vec<Lane>, old: core::ops::Range<usize>, new: &[Lane]) {
    let (len, end) = (all.len(), old.start + new.len());
    if new.len() > old.len() {
        let more = new.len() - old.len();
        if len + more > all.capacity() {
            all.reserve_exact((len + more).next_power_of_two() - len);
        }
        all.resize(len + more, [Cell::EMPTY; 2]);
    }
    all.copy_within(old.end..len, end);
    all.truncate(len + new.len() - old.len());
    all[old.start..end].copy_from_slice(new);
}
