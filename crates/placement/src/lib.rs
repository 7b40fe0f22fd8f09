//! Static check placement: which race checks a program needs, and where.
//!
//! After Rhodes, Flanagan, Freund, *BigFoot: Static Check Placement for Dynamic Race Detection*, PLDI
//! 2017, and its predecessor RedCard. What is promised is the paper's definition of precise checks (its section 2, transcribed in
//! `oracle::checks`): in every execution each access is covered by a check, and each check is legitimate for
//! an access. Then checks race on the very bytes on which accesses race.
//!
//! The analysis works on an IR of its own ([`ir`]): SSA over a control-flow graph, addresses as linear
//! integer expressions. BFJ, the paper's language, is its text form ([`text`]); LLVM functions are lowered to it elsewhere.
//!
//! # Life of a function
//!
//! 1. `cfg`, `values`, `conditions`: dominators and loops; what variables are worth (definitions, induction variables,
//!    merges); what branch tests and loop invariants say.
//!    `choices`, if wanted: what a loop chooses is taken for what it began with.
//! 2. `history`: past accesses, forwards. `sweep` conjectures what loops have swept over; the fixed point decides.
//! 3. `anticipate`: accesses to come, backwards.
//! 4. `place`: past checks, forwards, and the checks themselves, where they can wait no longer. `coalesce` makes few of many.
//! 5. `gather`, if wanted: checks of `a[b[i]]` that stayed in a loop become entries of a list.
//!
//! Entailment is `solve` (linear facts) and `cover` (paths); both may say "not known" at any time, at the price of a check
//! more. No solver beyond that: a function takes microseconds to a few milliseconds.
//!
//! # Where this deviates from the paper
//!
//! - Reads and writes are told apart everywhere (its section 5.1).
//! - SSA makes [ASSIGN] and [RENAME] properties of values instead of history.
//! - Loops that may not end do not hold back checks for ever: they commit them every now and then
//!   ([`ir::Instr::Commit`]) and promise nothing to what precedes them. Calls that may not return are deadlines.
//! - A cycle that is no natural loop carries nothing into its next round: what is pending is checked on the way back.
//! - What stays in place in a loop that may be left before it is reached was accessed *if there was a round* ([`ir::ONCE`]);
//!   the paper checks it in each round.
//! - What an index in memory leads to is put on a list ([`ir::Gather`]), if asked for; the paper checks it in each round.
//! - An element that a loop keeps or replaces, such as the largest so far, is the one that it began with (`choices`), if asked for; the paper checks it in each round.
//! - Exceptions are edges, or deadlines where nothing handles them.
//! - Alias facts and one-way proxies, which are not address-precise, are off unless asked for.
//!
//! A crash (a signal, a stack overflow) loses the checks that are pending at that moment.
//!
//! # For producers of IR
//!
//! Build [`ir::Function`]s, call [`ir::Function::split_critical_edges`], [`effects`] once for the program and [`place`]
//! for each function. [`Placement::checks`] says before which [`ir::Point`] to insert which checks; a block made
//! by splitting says in [`ir::Block::on_edge`] which edge it stands for. Each check names the accesses it stands for;
//! [`Placement::fates`] says the same from the side of the access.
#![forbid(unsafe_code)]

mod alias;
mod analysis;
mod anticipate;
mod cfg;
mod choices;
mod coalesce;
mod conditions;
mod cover;
mod effects;
mod gather;
pub mod generate;
mod history;
pub mod interp;
pub mod ir;
mod lin;
mod place;
mod placement;
mod proxy;
pub mod schedule;
mod segments;
mod solve;
mod sweep;
pub mod text;
mod values;

pub use effects::effects;
pub use lin::Lin;
pub use place::{Mode, Options, place};
pub use placement::{Context, Counts, Fate, Placement};
pub use proxy::{Proxies, ProxyUse};

/// A program with its checks.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The program, checks in it.
    pub program: ir::Program,
    /// What was done in each function.
    pub placements: Vec<Placement>,
    /// Fields that others stand for.
    pub proxies: Proxies,
}

/// Places checks in every function of a program.
pub fn place_program(program: &ir::Program, options: Options) -> Placed {
    let effects = effects(program);
    let mut placements: Vec<Placement> = program
        .funcs
        .iter()
        .map(|f| place(f, &effects, options))
        .collect();
    let proxies = Proxies::find(&placements, options.proxies);
    let mut placed = program.clone();
    for (f, p) in placed.funcs.iter_mut().zip(&mut placements) {
        proxies.apply(p);
        p.recount();
        *f = p.apply(f);
    }
    Placed {
        program: placed,
        placements,
        proxies,
    }
}
