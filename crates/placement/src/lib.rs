//! Static check placement: which race checks a program needs, and where.
//!
//! After Rhodes, Flanagan, Freund, *BigFoot: Static Check Placement for Dynamic Race Detection*, PLDI
//! 2017.
#![forbid(unsafe_code)]

mod alias;
mod analysis;
mod anticipate;
mod cfg;
mod coalesce;
mod conditions;
mod cover;
mod effects;
pub mod generate;
mod history;
pub mod interp;
pub mod ir;
mod lin;
mod place;
mod proxy;
pub mod schedule;
mod solve;
mod sweep;
pub mod text;
mod values;

pub use effects::effects;
pub use lin::Lin;
pub use place::{Context, Counts, Fate, Mode, Options, Placement, place};
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
