//! What one location remembers of many elements goes to the bytes that have them.

use super::Shadow;
use crate::shadow::{Cell, Comb, Form, Location, PAGE_BYTES, Rule, Span, Sweeps, word_of, words};
use event::{Addr, Elements};

impl<R: Rule> Shadow<R> {
    /// The bytes of `elements`, fresh until now, have the history that `from` has. Whole pages of them stay whole, and what
    /// has no history stays untouched: an array that is about to be accessed in detail costs what is accessed of it. `goes_on`: others of the array, beside these, have it still from one location.
    pub(crate) fn settle(&self, elements: Elements, goes_on: bool, from: &Location) {
        let history = from.history(self.depot());
        if history.is_empty() {
            return;
        }
        if history.iter().any(|&(_, atomic)| atomic) {
            return self.settle_words(elements, &history);
        }
        if elements.stride <= 1 {
            let start = elements.addr(elements.lo);
            let len = elements.len() * u64::from(elements.elem);
            for span in Span::cut(start, len) {
                let sweeps = Sweeps::of(span).part_of_more(goes_on || span.len < len);
                self.settle_on(Addr(span.addr.0 & !(PAGE_BYTES - 1)), &sweeps, &history);
            }
        } else if let Some(comb) = Comb::of(elements) {
            let all = comb.count;
            for (page, sweep) in comb {
                let part = goes_on || u64::from(sweep.count()) < all;
                self.settle_on(page, &Sweeps::one(sweep).part_of_more(part), &history);
            }
        } else {
            self.settle_words(elements, &history);
        }
    }

    /// The same for some words of the page at `base`, in the form that it has, or that an access to these words would give it: an array that is gone
    /// through in order has few histories, though none that its partition can say.
    fn settle_on(&self, base: Addr, sweeps: &Sweeps, history: &[(Cell, bool)]) {
        let (memory, depot) = (&self.memory, self.depot());
        loop {
            if let Some(page) = memory.page(base) {
                for sweep in sweeps.as_slice() {
                    for word in sweep.words() {
                        page[word].absorb(depot, history, sweep.mask);
                    }
                }
                return;
            }
            let Some(whole) = memory.whole(base) else {
                return;
            };
            match memory.form(base, whole) {
                None => {}
                Some(Form::Whole(whole))
                    if sweeps.is_whole() && whole.absorb_whole(depot, history) =>
                {
                    return;
                }
                Some(Form::Whole(whole)) if memory.pays(whole, sweeps) => memory.divide(base),
                Some(Form::Runs(mut page)) => {
                    let goes_on = page.absorb(depot, sweeps, history);
                    drop(page);
                    if !goes_on {
                        memory.split(base);
                    }
                    return;
                }
                Some(Form::Layers(page)) => {
                    drop(page);
                    memory.split(base);
                }
                Some(Form::Whole(_)) => {
                    memory.split(base);
                }
            }
        }
    }

    fn settle_words(&self, elements: Elements, history: &[(Cell, bool)]) {
        words(elements, |word, mask| {
            if let Some(page) = self.memory.page(word).or_else(|| self.memory.split(word)) {
                page[word_of(word)].absorb(self.depot(), history, mask);
            }
        });
    }
}
