//! What all passes over one function share, and the transfer functions' common part: what an
//! instruction kills.

use crate::cfg::Cfg;
use crate::conditions::Conditions;
use crate::cover::Fact;
use crate::effects;
use crate::ir::{AccessId, BlockId, Effects, Function, Instr, Terminator};
use crate::solve::Solver;
use crate::values::{Edge, Values};

/// At most this many past accesses are carried along; further ones are checked on the spot.
pub(crate) const MAX_FACTS: usize = 320;

pub(crate) struct Analysis<'a> {
    pub(crate) f: &'a Function,
    pub(crate) cfg: Cfg,
    pub(crate) values: Values,
    pub(crate) conditions: Conditions,
    effects: &'a [Effects],
    pub(crate) endless: Vec<bool>,
    /// Per loop: ranges that its induction variables may have swept, see [`Analysis::sweeps`].
    pub(crate) swept: Vec<Vec<Fact>>,
    /// Each access as a fact; `None` if it cannot be expressed.
    facts: Vec<Option<Fact>>,
}

/// What an instruction does to contexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kills {
    /// Pending accesses cannot wait for a check after it: [ACQ], calls that may not come back.
    pub(crate) deadline: bool,
    /// Past accesses and checks are forgotten: [REL].
    pub(crate) forgets: bool,
}

impl Kills {
    const NOTHING: Kills = Kills {
        deadline: false,
        forgets: false,
    };

    fn of(e: Effects, handled: bool) -> Kills {
        Kills {
            deadline: e.acquires || e.leaves || e.frees || (e.unwinds && !handled),
            forgets: e.releases || e.frees,
        }
    }

    pub(crate) fn any(self) -> bool {
        self.deadline || self.forgets
    }
}

impl<'a> Analysis<'a> {
    pub(crate) fn new(
        f: &'a Function,
        cfg: Cfg,
        values: Values,
        effects: &'a [Effects],
        loops_end: bool,
    ) -> Analysis<'a> {
        let conditions = Conditions::new(f, &cfg, &values);
        let endless = (0..cfg.loops.len())
            .map(|l| !loops_end && effects::may_be_endless(f, &cfg, &values, &conditions, l))
            .collect();
        let mut facts = vec![None; f.accesses as usize];
        for b in &f.blocks {
            for i in &b.instrs {
                if let Instr::Access { id, kind, path, .. } = i
                    && let Some(slot) = facts.get_mut(id.index())
                {
                    *slot = values
                        .resolve_path(path)
                        .and_then(|p| Fact::new(&values, p, *kind, vec![*id]));
                }
            }
        }
        let mut a = Analysis {
            f,
            cfg,
            values,
            conditions,
            effects,
            endless,
            swept: Vec::new(),
            facts,
        };
        a.swept = (0..a.cfg.loops.len()).map(|l| a.sweeps(l)).collect();
        a
    }

    /// An access as a fact, with itself as its source.
    pub(crate) fn fact(&self, id: AccessId) -> Option<&Fact> {
        self.facts.get(id.index())?.as_ref()
    }

    pub(crate) fn solver(&self, b: BlockId) -> Solver<'_> {
        self.conditions.solver(&self.values, b)
    }

    pub(crate) fn edge(&self, pred: BlockId, block: BlockId) -> Edge<'_> {
        Edge::new(self.f, &self.cfg, &self.values, pred, block)
    }

    pub(crate) fn kills(&self, i: &Instr) -> Kills {
        match i {
            Instr::Sync(s) => Kills::of(s.effects(), false),
            Instr::Call(c) => Kills::of(effects::of_call(c, self.effects), false),
            _ => Kills::NOTHING,
        }
    }

    /// Is anybody called in loop `l`?
    pub(crate) fn calls(&self, l: usize) -> bool {
        let this = &self.cfg.loops[l];
        let blocks = self
            .cfg
            .order
            .iter()
            .map(|b| (b, &self.f.blocks[b.index()]));
        blocks
            .filter(|(b, _)| this.contains[b.index()])
            .any(|(_, block)| {
                matches!(block.term, Terminator::Invoke { .. })
                    || block.instrs.iter().any(|i| matches!(i, Instr::Call(_)))
            })
    }

    /// As [`Analysis::kills`], for the end of a block.
    pub(crate) fn terminator_kills(&self, t: &Terminator) -> Kills {
        match t {
            Terminator::Invoke { call, .. } => {
                Kills::of(effects::of_call(call, self.effects), true)
            }
            // Nothing is carried beyond the function.
            Terminator::Return(_) | Terminator::Unwind | Terminator::Stop => Kills {
                deadline: true,
                forgets: true,
            },
            _ => Kills::NOTHING,
        }
    }

    /// May the memory that a load saw be written by this instruction, as far as alias facts go?
    pub(crate) fn effects_of(&self, i: &Instr) -> Effects {
        match i {
            Instr::Sync(s) => s.effects(),
            Instr::Call(c) => effects::of_call(c, self.effects),
            _ => Effects::NONE,
        }
    }
}
