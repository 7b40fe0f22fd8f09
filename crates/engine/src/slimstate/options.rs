//! What can be chosen when a detector is made.

use crate::clock::Limits;

/// What can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Blocks with fewer elements are FINE from the start: 16 in the paper.
    pub small: u64,
    /// Arrays whose parts, in no order, are about to take more memory than single elements become FINE. The paper has no such rule.
    pub frugal: bool,
    /// How large numbers may get.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            small: 16,
            frugal: false,
            limits: Limits::CELL,
        }
    }
}
