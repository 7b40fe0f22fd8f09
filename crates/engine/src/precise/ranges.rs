//! Accesses to many words: as few steps as the form of each page allows.

use alloc::vec::Vec;

use event::{AccessKind, Addr, Elements};

use super::report::report_extent;
use super::{Shadow, Work};
use crate::detector::Sink;
use crate::shadow::{
    Asked, Cell, Comb, Conflict, Extent, Form, Location, Locked, PAGE_BYTES, Page, Rule, RuleName,
    Span, Sweep, Sweeps, Swept, touch_cells, word_of, words,
};

impl<'a, R: Rule> Work<'a, R> {
    /// An access to `len` bytes.
    pub(super) fn bytes(&mut self, addr: Addr, len: u64, races: Sink<'_>) {
        self.spans(addr, len, false, races);
    }

    /// The same; is it `part` of a longer one?
    fn spans(&mut self, addr: Addr, len: u64, part: bool, races: Sink<'_>) {
        for span in Span::cut(addr, len) {
            self.sweeps(
                Addr(span.addr.0 & !(PAGE_BYTES - 1)),
                &Sweeps::of(span)
                    .part_of_more(part || span.len < len)
                    .put_off(self.late),
                races,
            );
        }
    }

    /// An access to many elements. Is it `part` of a longer one?
    pub(super) fn elements(&mut self, elements: Elements, part: bool, races: Sink<'_>) {
        let (memory, epoch) = (&self.shadow.memory, self.thread.clock.epoch());
        let reads = self.kind == AccessKind::Read;
        let Some(range) = reads.then(|| memory.range(elements)).flatten() else {
            return self.each(elements, part, races);
        };
        if memory.is_reread(&self.thread.repeats, range, epoch) {
            return self.thread.counts.add(RuleName::RangeSameEpoch);
        }
        let read = memory.begin_read(range, epoch);
        let kept = self.thread.repeats.kept(range, epoch);
        match kept.and_then(|kept| memory.rest(kept, range)) {
            Some(rest) => {
                self.thread.counts.add(RuleName::RangeSameEpoch);
                for part in rest.into_iter().flatten() {
                    self.each(part.elements(), true, races);
                }
            }
            None => self.each(elements, part, races),
        }
        let thread = &mut *self.thread;
        // A thread that went on in another slot has recorded some of it there.
        if thread.clock.records_all() {
            thread.repeats.keep(read, thread.clock.epoch());
        }
    }

    /// The same, with nothing remembered of it as a whole. Is it `part` of a longer one?
    fn each(&mut self, elements: Elements, part: bool, races: Sink<'_>) {
        let elem = u64::from(elements.elem);
        if elements.stride <= 1 {
            let start = elements.lo.checked_mul(elem);
            if let Some(start) = start.and_then(|offset| elements.base.0.checked_add(offset)) {
                let len = elements.len().saturating_mul(elem);
                self.spans(Addr(start), len, part, races);
            }
            return;
        }
        if let Some(comb) = Comb::of(elements) {
            let all = comb.count;
            for (page, sweep) in comb {
                let part = part || u64::from(sweep.count()) < all;
                let sweeps = Sweeps::one(sweep).part_of_more(part).put_off(self.late);
                self.sweeps(page, &sweeps, races);
            }
            return;
        }
        let memory = &self.shadow.memory;
        let (mut number, mut page) = (u64::MAX, None);
        words(elements, |word, mask| {
            if page.is_none() || word.0 / PAGE_BYTES != number {
                if memory.layered(word).is_some() {
                    return self.one(word, mask, races);
                }
                page = self.page(word);
                number = word.0 / PAGE_BYTES;
            }
            if let Some(page) = page {
                self.word(&page[word_of(word)], word, mask, races);
            }
        });
    }

    /// Some bytes of a word.
    fn one(&mut self, addr: Addr, mask: u8, races: Sink<'_>) {
        let word = word_of(addr) as u16;
        let sweep = Sweep {
            first: word,
            last: word,
            period: 1,
            mask,
        };
        let base = Addr(addr.0 & !(PAGE_BYTES - 1));
        self.sweeps(base, &Sweeps::one(sweep).part_of_more(true), races);
    }

    /// The page of `addr`, split. One that nothing was recorded on is made only if there is something to record now.
    fn page(&mut self, addr: Addr) -> Option<&'a Page<Location>> {
        let memory = &self.shadow.memory;
        match memory.page(addr) {
            None if self.thread.clock.recording() || memory.touched(addr).is_some() => {
                self.thread.counts.add(RuleName::PageSplit);
                memory.split(addr)
            }
            None => {
                self.thread.counts.add(RuleName::Unsampled);
                None
            }
            found => found,
        }
    }

    /// Some words of the page at `base`.
    fn sweeps(&mut self, base: Addr, sweeps: &Sweeps, races: Sink<'_>) {
        let memory = &self.shadow.memory;
        loop {
            if let Some(page) = memory.page(base) {
                return self.words(page, base, sweeps, races);
            }
            if !self.thread.clock.recording() && memory.touched(base).is_none() {
                return self.thread.counts.add(RuleName::Unsampled);
            }
            if self.atomic {
                self.page(base);
                continue;
            }
            if self.put_off(base, sweeps, races) {
                return;
            }
            let Some(whole) = memory.whole(base) else {
                return;
            };
            let epoch = self.thread.clock.epoch();
            if memory.is_repeated(whole, epoch, self.kind, sweeps) {
                return self.thread.counts.add(RuleName::RunSameEpoch);
            }
            match memory.form(base, whole) {
                None => {}
                Some(Form::Whole(whole)) if sweeps.is_whole() => {
                    let done = self.whole(whole, base, races);
                    if done {
                        return;
                    }
                }
                Some(Form::Whole(whole)) if memory.pays(whole, sweeps) => {
                    self.thread.counts.add(RuleName::RunPage);
                    memory.divide(base);
                }
                Some(Form::Whole(_)) if memory.lay(base) => {}
                Some(Form::Whole(_)) => {
                    if let Some(page) = self.page(base) {
                        page[usize::from(sweeps.first())].make_room();
                    }
                }
                Some(Form::Layers(page)) => drop(page),
                Some(Form::Runs(page)) => {
                    if !self.runs(page, base, sweeps, races) && !memory.lay(base) {
                        self.page(base);
                    }
                    return;
                }
            }
        }
    }

    /// Words of a page that is split.
    pub(super) fn words(
        &mut self,
        page: &Page<Location>,
        base: Addr,
        sweeps: &Sweeps,
        races: Sink<'_>,
    ) {
        for sweep in sweeps.as_slice() {
            self.row(page, base, sweep.words(), sweep.mask, races);
        }
    }

    /// The same bytes of each of some words of a split page. Neighbours mostly have the same past: then this is a loop of some twenty instructions.
    #[inline]
    fn row(
        &mut self,
        page: &Page<Location>,
        base: Addr,
        mut words: impl Iterator<Item = usize>,
        mask: u8,
        races: Sink<'_>,
    ) {
        let asked = Asked::new(self.kind, mask);
        let plain = !self.atomic;
        loop {
            // Nothing of this changes as long as all is as simple as that.
            let epoch = self.thread.clock.epoch();
            let cell = plain.then(|| self.cell(mask)).flatten();
            let (mut same, mut alike) = (0, 0);
            let other = words.find(|&word| {
                let location = &page[word];
                if cell.is_some_and(|cell| self.like.is_of(cell))
                    && location.touch_alike(&self.like)
                {
                    alike += 1;
                    return false;
                }
                if plain && location.gives(epoch, asked) {
                    same += 1;
                    return false;
                }
                self.count_alike(&mut alike);
                !cell.is_some_and(|cell| self.unlike(location, cell))
            });
            self.count_alike(&mut alike);
            let counts = &mut self.thread.counts;
            counts.add_many(RuleName::same_epoch(self.kind), same);
            let Some(word) = other else { return };
            let addr = Addr(base.0 + 8 * word as u64);
            self.slow(&page[word], addr, mask, races);
        }
    }

    /// Counts the words that the last one was like.
    #[inline(always)]
    fn count_alike(&mut self, alike: &mut u64) {
        let times = core::mem::take(alike);
        self.thread.counts.add_many(self.like.rule(), times);
    }

    /// One more word of a range, unlike the last one, if it is as simple as that.
    #[inline(never)]
    fn unlike(&mut self, location: &Location, cell: Cell) -> bool {
        let (clock, slots) = (&mut self.thread.clock, self.order.slots());
        let rule = location.touch_inline::<R>(clock, slots, cell, &mut self.like);
        rule.is_some_and(|rule| {
            self.thread.counts.add(rule);
            true
        })
    }

    /// The access as the words of a range remember it, if the site's number is known and they may.
    #[inline(always)]
    fn cell(&mut self, mask: u8) -> Option<Cell> {
        let (slot, number) = self.number?;
        let clock = &mut self.thread.clock;
        (clock.numbering() == Some(slot))
            .then(|| Cell::new(clock.stamp_again(), self.kind, mask, number))
    }

    /// All of a page, if it still is whole. Otherwise nothing is done.
    fn whole(&mut self, location: &Location, base: Addr, races: Sink<'_>) -> bool {
        if location.is_redundant(self.thread.clock.epoch(), self.kind, 0xFF) {
            self.thread.counts.add(RuleName::WholePage);
            return true;
        }
        let Some(touch) = self.prepare(location, 0xFF) else {
            return true;
        };
        let thread = &mut *self.thread;
        let touched = location.touch_whole::<R>(
            self.shadow.depot(),
            &mut thread.clock,
            self.order.slots(),
            &mut thread.memo,
            touch,
            &mut thread.found,
        );
        if touched.is_none() {
            return false;
        }
        thread.counts.add(RuleName::WholePage);
        let all = Extent {
            first: 0,
            step: 1,
            count: (PAGE_BYTES / 8) as u16,
        };
        let found = core::mem::take(&mut self.thread.found);
        self.report_all(
            base,
            found.into_iter().map(|conflict| (conflict, all)),
            races,
        );
        true
    }

    /// Words of a page with runs. Returns false if the page had better be split now.
    fn runs(&mut self, mut page: Locked<'_>, base: Addr, sweeps: &Sweeps, races: Sink<'_>) -> bool {
        let depot = self.shadow.depot();
        let epoch = self.thread.clock.epoch();
        // One word of a longer range is not a walk.
        let single = sweeps.single().filter(|_| !sweeps.is_part()).map(|word| {
            let addr = Addr(base.0 + 8 * u64::from(word));
            (addr, self.shadow.memory.watch(addr))
        });
        let mut what = (&mut *self, Vec::<(Conflict, Extent)>::new());
        let mut swept = Swept::default();
        for &sweep in sweeps.as_slice() {
            let asked = Asked::new(what.0.kind, sweep.mask);
            swept += page.runs().sweep(
                depot,
                sweep,
                &mut what,
                |(work, _), lane| {
                    // The same-epoch rules.
                    let epoch = work.thread.clock.epoch();
                    let memo = &work.thread.memo;
                    lane[0].gives(epoch, asked)
                        || lane[1].gives(epoch, asked)
                        || memo.settles(lane[0], epoch, work.kind, sweep.mask)
                },
                |(work, found), lane, extent| {
                    let Some(touch) = work.touch_of(lane[0].is_empty(), sweep.mask) else {
                        return;
                    };
                    let thread = &mut *work.thread;
                    let (new, _) = touch_cells::<R>(
                        *lane,
                        depot,
                        &mut thread.clock,
                        work.order.slots(),
                        &mut thread.memo,
                        touch,
                        &mut thread.found,
                    );
                    *lane = new;
                    if !thread.found.is_empty() {
                        found.extend(thread.found.drain(..).map(|conflict| (conflict, extent)));
                    }
                },
            );
        }
        let (_, found) = what;
        let thread = &mut *self.thread;
        let mut answered = 0;
        // A thread that went on in another slot has recorded some of it there.
        if thread.clock.records_all() && thread.clock.epoch() == epoch {
            match single {
                Some((addr, watch)) => answered = thread.repeats.went(addr, epoch, watch),
                None if sweeps.single().is_none() => page.hint(epoch, self.kind, sweeps),
                None => {}
            }
        }
        let goes_on = page.spend(sweeps, swept, answered);
        drop(page);
        let counts = &mut self.thread.counts;
        counts.add_many(RuleName::Run, u64::from(swept.lanes));
        match swept.grown {
            0 => {}
            1.. => counts.add(RuleName::RunSplit),
            _ => counts.add(RuleName::RunJoin),
        }
        self.report_all(base, found.into_iter(), races);
        goes_on
    }

    /// Says what was found on a page, for each conflict with all words that it concerns. No lock is held.
    fn report_all(
        &mut self,
        base: Addr,
        found: impl ExactSizeIterator<Item = (Conflict, Extent)>,
        races: Sink<'_>,
    ) {
        if found.len() == 0 {
            return;
        }
        let second = self.side();
        for (conflict, extent) in found {
            report_extent(self.order, conflict, extent, second, base, races);
        }
    }
}

impl<R: Rule> Shadow<R> {
    /// Makes a span fresh, if its page is whole or has runs. Otherwise nothing is done: its words.
    pub(super) fn clear_together(&self, span: Span) -> Option<&Page<Location>> {
        let memory = &self.memory;
        loop {
            if let Some(page) = memory.page(span.addr) {
                return Some(page);
            }
            let whole = memory.touched(span.addr)?;
            let sweeps = Sweeps::of(span);
            match memory.form(span.addr, whole) {
                None => {}
                Some(Form::Whole(whole)) if sweeps.is_whole() => {
                    let done = whole.clear_whole(self.depot());
                    if done {
                        return None;
                    }
                }
                Some(Form::Whole(_)) => memory.divide(span.addr),
                Some(Form::Layers(mut page)) => {
                    memory.clear_layers(&mut page, &sweeps);
                    return None;
                }
                Some(Form::Runs(mut page)) => {
                    let goes_on = page.clear(self.depot(), &sweeps);
                    drop(page);
                    if !goes_on && !memory.lay(span.addr) {
                        memory.split(span.addr);
                    }
                    return None;
                }
            }
        }
    }
}
