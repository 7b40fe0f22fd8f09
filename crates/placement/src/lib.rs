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
pub mod schedule;
mod solve;
mod sweep;
pub mod text;
mod values;

pub use effects::effects;
pub use lin::Lin;
pub use place::{Context, Counts, Fate, Mode, Options, Placement, place};

/// Places checks in every function of a program; says what was done in each.
pub fn place_program(program: &ir::Program, options: Options) -> (ir::Program, Vec<Placement>) {
    let effects = effects(program);
    let placements: Vec<Placement> = program
        .funcs
        .iter()
        .map(|f| place(f, &effects, options))
        .collect();
    let mut placed = program.clone();
    for (f, p) in placed.funcs.iter_mut().zip(&placements) {
        *f = p.apply(f);
    }
    (placed, placements)
}
