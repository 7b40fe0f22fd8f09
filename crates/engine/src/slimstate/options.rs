//! What can be chosen when a detector is made.

use crate::clock::Limits;

/// What can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Blocks with fewer elements are FINE from the start: 16 in the paper.
    pub small: u64,
    /// Arrays whose parts, in no order, are about to take more memory than single elements become FINE. The paper has no such rule.
    pub frugal: bool,
    /// Do the tables of a thread begin small? They grow with [`Slim::access_at`](super::Slim::access_at) only. And are arrays FINE from the beginning if most of their site became so?
    pub thrifty: bool,
    /// Is it to be told in the end what became of arrays that are no more? That takes memory.
    pub history: bool,
    /// How large numbers may get.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            small: 16,
            frugal: false,
            thrifty: false,
            history: true,
            limits: Limits::CELL,
        }
    }
}
