//! What the shadow tells of itself.

use event::Addr;

use super::Shadow;
use crate::shadow::{Census, Rule};

impl<R: Rule> Shadow<R> {
    /// See [`Detector::bytes`](crate::Detector::bytes).
    pub(crate) fn bytes_used(&self, f: &mut dyn FnMut(&'static str, u64)) {
        let [split, runs, layers, whole] = self.memory.bytes();
        f("locations by word", split);
        f("locations by run", runs);
        f("layers", layers);
        f("locations by page", whole);
        f("states outside, at least", self.depot().bytes());
    }

    /// The locations that some bytes have now.
    pub fn census(&self, addr: Addr, bytes: u64) -> Census {
        self.memory.census(addr, bytes)
    }
}
