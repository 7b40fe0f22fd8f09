//! Lists of addresses ([`ir::Gather`]) as code: an array on the stack and how much of it is in use.
use super::insert::Inserter;
use super::lower::Lowered;
use crate::access::{Effect, Kind};
use crate::llvm::{Opcode, Value};
use crate::stats::Count;
use placement::Placement;
use placement::ir::{self, ListId};
use std::collections::HashMap;

/// Entries of a list: enough that a call of the runtime for all of them is little for each, and a kilobyte of the stack.
const ENTRIES: u64 = 128;

/// May the function have lists on its stack? One that calls itself may be there many times.
pub(super) fn is_allowed(lowered: &Lowered) -> bool {
    lowered.others.iter().all(|(instruction, effect)| {
        !matches!(effect, Effect::Call(_)) || instruction.callee() != Some(lowered.function)
    })
}

/// Steps from an index to the load that it is made of.
const STEPS: usize = 4;

/// The load that a value is a part of, or the same number in another size.
pub(super) fn index_behind(mut value: Value) -> Option<Value> {
    for _ in 0..STEPS {
        value = match value.opcode() {
            Some(
                Opcode::LLVMZExt
                | Opcode::LLVMSExt
                | Opcode::LLVMTrunc
                | Opcode::LLVMAnd
                | Opcode::LLVMLShr
                | Opcode::LLVMAShr
                | Opcode::LLVMURem,
            ) => value.operand(0)?,
            _ => return None,
        };
        if value.opcode() == Some(Opcode::LLVMLoad) {
            return Some(value);
        }
    }
    None
}

/// All lists of a function, with where to put code for them.
pub(super) struct Lists<'p> {
    gathers: Vec<(Value, &'p ir::Gather)>,
    gathered: Vec<(Value, ListId)>,
}

/// A list, and what its entries are.
#[derive(Clone, Copy)]
struct List {
    entries: Value,
    used: Value,
    kind: Kind,
    size: u64,
    line_of: Value,
}

/// Finds the places. Nothing is changed yet but that edges get blocks.
pub(super) fn find<'p>(
    this: &mut Inserter<'_>,
    placement: &'p Placement,
) -> Result<Lists<'p>, String> {
    let mut lists = Lists {
        gathers: Vec::new(),
        gathered: Vec::new(),
    };
    for (point, gathers) in &placement.gathers {
        let before = this.place_of(*point)?;
        lists.gathers.extend(gathers.iter().map(|g| (before, g)));
    }
    for (point, ids) in &placement.gathered {
        let before = this.place_of(*point)?;
        lists.gathered.extend(ids.iter().map(|id| (before, *id)));
    }
    Ok(lists)
}

impl Lists<'_> {
    pub(super) fn insert(self, this: &mut Inserter<'_>) {
        let mut lists: HashMap<ListId, List> = HashMap::new();
        for (before, gather) in self.gathers {
            if let Some(list) = this.list(before, gather) {
                lists.insert(gather.list, list);
                this.gather(before, gather, list);
            }
        }
        for (before, id) in self.gathered {
            if let Some(list) = lists.get(&id) {
                this.gathered(before, *list);
            }
        }
    }
}

impl Inserter<'_> {
    /// Makes an empty list where the function begins.
    fn list(&mut self, before: Value, gather: &ir::Gather) -> Option<List> {
        let blocks = self.lowered.blocks.first();
        let entry = blocks.and_then(|block| block.instructions().first().copied())?;
        let size = gather.check.paths.first()?.size;
        let (kind, line_of) = self.describe(before, &gather.check, places::Extent::Gathered);
        let i64 = self.context.integer(64);
        self.checks.before(entry, entry, self.lowered.function);
        let builder = self.checks.builder();
        let list = List {
            entries: builder.stack_slot(i64.array(ENTRIES)),
            used: builder.stack_slot(i64),
            kind,
            size: u64::from(size),
            line_of,
        };
        builder.store(i64.constant(0), list.used);
        self.stats.add(Count::Gathers);
        Some(list)
    }

    /// One more entry; a full list is checked.
    fn gather(&mut self, before: Value, gather: &ir::Gather, list: List) {
        let (function, i64) = (self.lowered.function, self.context.integer(64));
        self.checks.before(before, list.line_of, function);
        for path in &gather.check.paths {
            let address = self.number(&path.lo);
            let builder = self.checks.builder();
            let used = builder.load(i64, list.used);
            let at = builder.multiply(used, i64.constant(8));
            builder.store(address, builder.offset(list.entries, at));
            let now = builder.add(used, i64.constant(1));
            builder.store(now, list.used);
            let full = builder.are_equal(now, i64.constant(ENTRIES));
            let inside = full.branch_before(before);
            self.checks.before(inside, list.line_of, function);
            self.check_list(list, i64.constant(ENTRIES));
            self.checks.before(before, list.line_of, function);
        }
    }

    /// Whatever is on the list is checked.
    fn gathered(&mut self, before: Value, list: List) {
        let (function, i64) = (self.lowered.function, self.context.integer(64));
        self.checks.before(before, list.line_of, function);
        let used = self.checks.builder().load(i64, list.used);
        self.check_list(list, used);
    }

    fn check_list(&mut self, list: List, used: Value) {
        self.checks
            .gathered(list.kind, list.entries, used, list.size);
        let zero = self.context.integer(64).constant(0);
        self.checks.builder().store(zero, list.used);
    }
}
