//! LLVM values as linear expressions.
//!
//! # Contract
//!
//! A variable of the IR is an integer: the value of a root (argument, load, merge, result of something
//! that is not linear), seen as signed. A pointer is a root like any other.
//!
//! *Addresses* may wrap: `p + 8·i` is computed modulo 2⁶⁴, and a set of integers that contains
//! another one does so modulo 2⁶⁴, too. So additions of 64 bits are linear whatever their flags, as long as
//! they end in an address or a test for equality. Other *tests* may not: `i + 1 < n` says something about integers only if the sum
//! is one. Each expression therefore says whether it is [exact](Linear::exact): equal to its value as a signed
//! integer. Flags (`nsw`, `inbounds`, `nusw`) make it so, and for counters also time: one that starts at a constant and
//! moves by a small constant does not get to 2⁶³ while anybody waits. Narrow integers are linear if exact, and roots otherwise.
//!
//! A value that breaks its flags is poison. Whoever branches on it or accesses memory through it has
//! no defined behaviour, and nobody else asks.
use crate::llvm::{Module, Opcode, Predicate, Type, TypeKind, Value};
use placement::Lin;
use placement::ir::{Cond, Var};
use std::collections::HashMap;

/// A value in terms of roots.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) lin: Lin,
    /// The value, seen as signed, is the expression; otherwise only modulo 2⁶⁴.
    pub(super) exact: bool,
}

impl Linear {
    fn constant(value: i64) -> Linear {
        Linear {
            lin: Lin::from(value),
            exact: true,
        }
    }
}

/// The roots of a function, and what its values are in terms of them.
#[derive(Debug)]
pub(super) struct Values {
    module: Module,
    pointer: Type,
    known: HashMap<Value, Linear>,
    vars: HashMap<Value, Var>,
    /// By variable.
    roots: Vec<Value>,
    /// Merges whose operands have not been looked at.
    todo: Vec<Value>,
}

/// Steps of arithmetic that are followed; beyond them a value is a root.
const DEPTH: u32 = 48;

/// A counter that moves by no more than this does not wrap.
const SMALL_STEP: i64 = 1 << 16;

/// A counter that starts within this does not wrap.
const SMALL_START: i64 = 1 << 40;

impl Values {
    pub(super) fn new(module: Module) -> Values {
        Values {
            module,
            pointer: module.context().pointer(),
            known: HashMap::new(),
            vars: HashMap::new(),
            roots: Vec::new(),
            todo: Vec::new(),
        }
    }

    /// By variable: the value it stands for.
    pub(super) fn roots(&self) -> &[Value] {
        &self.roots
    }

    /// The variable of a value that is a root.
    pub(super) fn var(&self, value: Value) -> Option<Var> {
        self.vars.get(&value).copied()
    }

    /// Something to compute with: an integer of at most 64 bits, or a pointer.
    fn is_number(&self, value: Value) -> bool {
        let kind = value.kind();
        kind == self.pointer || (1..=64).contains(&kind.integer_bits())
    }

    /// The expression for a value; `None` if it is no number.
    pub(super) fn of(&mut self, value: Value) -> Option<Linear> {
        self.is_number(value).then(|| self.number(value, DEPTH))
    }

    fn number(&mut self, value: Value, depth: u32) -> Linear {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        if let Some(number) = value.as_i64() {
            return Linear::constant(number);
        }
        let found = if depth == 0 {
            None
        } else {
            self.computed(value, depth - 1)
        };
        let linear = found.unwrap_or_else(|| self.root(value));
        self.known.insert(value, linear.clone());
        linear
    }

    fn root(&mut self, value: Value) -> Linear {
        if value.kind() == self.pointer && !value.is_instruction() && value.is_null() {
            return Linear::constant(0);
        }
        let next = Var(u32::try_from(self.roots.len()).unwrap_or(u32::MAX));
        let var = *self.vars.entry(value).or_insert(next);
        let mut exact = true;
        if var == next {
            self.roots.push(value);
            if value.opcode() == Some(Opcode::LLVMPHI) {
                self.todo.push(value);
                exact = is_exact_merge(value);
            }
        }
        Linear {
            lin: Lin::from(var),
            exact,
        }
    }

    /// What a merge gets from one of its predecessors. If the merge is exact, so is this: a value
    /// that is not becomes a root.
    pub(super) fn merged(&mut self, phi: Value, value: Value) -> Lin {
        let exact = self.number(phi, DEPTH).exact;
        let linear = self.number(value, DEPTH);
        if exact && !linear.exact {
            return self.root(value).lin;
        }
        linear.lin
    }

    /// What a choice gets if it is `value`: one that is not exact is a root.
    pub(super) fn chosen(&mut self, value: Value) -> Option<Lin> {
        let linear = self.of(value)?;
        Some(if linear.exact {
            linear.lin
        } else {
            self.root(value).lin
        })
    }

    /// Merges that have become roots since the last call.
    pub(super) fn take_merges(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.todo)
    }

    fn computed(&mut self, value: Value, depth: u32) -> Option<Linear> {
        let opcode = value.opcode()?;
        let bits = value.kind().integer_bits();
        let wide = bits == 64;
        let sum = |lin: Option<Lin>, exact: bool| {
            (exact || wide)
                .then(|| lin.map(|lin| Linear { lin, exact }))
                .flatten()
        };
        match opcode {
            Opcode::LLVMAdd | Opcode::LLVMSub => {
                let left = self.operand(value, 0, depth)?;
                let right = self.operand(value, 1, depth)?;
                let exact = left.exact && right.exact && keeps_sign(value, &right.lin);
                let sign = if opcode == Opcode::LLVMAdd { 1 } else { -1 };
                sum(left.lin.add_scaled(&right.lin, sign), exact)
            }
            Opcode::LLVMOr if value.is_disjoint() => {
                let left = self.operand(value, 0, depth)?;
                let right = self.operand(value, 1, depth)?;
                sum(left.lin.plus(&right.lin), left.exact && right.exact)
            }
            Opcode::LLVMMul => {
                let left = self.operand(value, 0, depth)?;
                let right = self.operand(value, 1, depth)?;
                let exact = left.exact && right.exact && value.no_signed_wrap();
                let (one, factor) = match (left.lin.as_constant(), right.lin.as_constant()) {
                    (_, Some(k)) => (left.lin, k),
                    (Some(k), None) => (right.lin, k),
                    (None, None) => return None,
                };
                sum(one.scaled(factor), exact)
            }
            Opcode::LLVMShl => {
                let left = self.operand(value, 0, depth)?;
                let by = value.operand(1)?.as_u64().filter(|by| *by < 62)?;
                let exact = left.exact && value.no_signed_wrap();
                sum(left.lin.scaled(1 << by), exact)
            }
            Opcode::LLVMSExt => {
                let inner = self.operand(value, 0, depth)?;
                (inner.exact && value.operand(0)?.kind().integer_bits() > 1).then_some(inner)
            }
            Opcode::LLVMZExt if value.is_nonnegative_extension() => {
                let inner = self.operand(value, 0, depth)?;
                (inner.exact && value.operand(0)?.kind().integer_bits() > 1).then_some(inner)
            }
            Opcode::LLVMPtrToInt if wide => self.operand(value, 0, depth),
            Opcode::LLVMIntToPtr => {
                let inner = value.operand(0)?;
                if inner.kind().integer_bits() != 64 {
                    return None;
                }
                self.operand(value, 0, depth)
            }
            Opcode::LLVMBitCast => {
                let inner = value.operand(0)?;
                (inner.kind() == value.kind()).then(|| self.number(inner, depth))
            }
            Opcode::LLVMGetElementPtr => self.gep(value, depth),
            _ => None,
        }
    }

    fn operand(&mut self, value: Value, index: u32, depth: u32) -> Option<Linear> {
        let operand = value.operand(index)?;
        self.is_number(operand).then(|| self.number(operand, depth))
    }

    /// The merge that a pointer is equal to, whichever way it came: the one that a loop read last (last_values.h). Since when it
    /// has been the same is beside it, and of interest from now on.
    fn last(&mut self, pointer: Value, depth: u32) -> Option<Linear> {
        let mark = self.module.context().metadata_kind("footrace.last");
        if !pointer.has_metadata(mark) {
            return None;
        }
        let read = pointer.operand(0)?;
        let mut last = None;
        for phi in pointer.parent().instructions() {
            if phi.opcode() != Some(Opcode::LLVMPHI) {
                break;
            }
            if phi.has_metadata(mark) {
                let number = self.number(phi, depth);
                if phi.incoming().iter().any(|(_, from)| *from == read) {
                    last = Some(number);
                }
            }
        }
        last
    }

    fn gep(&mut self, gep: Value, depth: u32) -> Option<Linear> {
        if let Some(last) = self.last(gep, depth) {
            return Some(last);
        }
        let base = self.operand(gep, 0, depth)?;
        let mut lin = base.lin;
        let mut exact = base.exact && gep.gep_no_wrap().signed;
        let mut kind = gep.gep_source();
        for (position, index) in gep.operands().skip(1).enumerate() {
            if position > 0 {
                match kind.kind() {
                    TypeKind::LLVMStructTypeKind => {
                        let field = index.as_u64()?;
                        let offset = kind.field_offset(self.module, u32::try_from(field).ok()?);
                        lin = lin.offset(i64::try_from(offset).ok()?)?;
                        kind = kind.fields().nth(usize::try_from(field).ok()?)?;
                        continue;
                    }
                    TypeKind::LLVMArrayTypeKind | TypeKind::LLVMVectorTypeKind => {
                        kind = kind.element();
                    }
                    _ => return None,
                }
            }
            if !kind.is_sized() || !self.is_number(index) {
                return None;
            }
            let stride = i64::try_from(kind.stride(self.module)).ok()?;
            let index = self.number(index, depth);
            exact &= index.exact;
            lin = lin.add_scaled(&index.lin, stride)?;
        }
        Some(Linear { lin, exact })
    }

    /// A branch's test, if it is a comparison of exact numbers, or for equality. Numbers that are equal modulo 2⁶⁴ only
    /// are 2⁶⁴ apart: a counter between them has run for longer than anybody waits, and of two addresses
    /// no process has both.
    pub(super) fn test(&mut self, condition: Value) -> Option<Cond> {
        let predicate = condition.predicate()?;
        let (left, right) = (condition.operand(0)?, condition.operand(1)?);
        let unsigned = matches!(
            predicate,
            Predicate::LLVMIntUGT
                | Predicate::LLVMIntUGE
                | Predicate::LLVMIntULT
                | Predicate::LLVMIntULE
        );
        // Pointers of a process are positive.
        if unsigned
            && left.kind() != self.pointer
            && !condition.same_sign()
            && !(is_nonnegative(left, 6) && is_nonnegative(right, 6))
        {
            return None;
        }
        let equality = matches!(predicate, Predicate::LLVMIntEQ | Predicate::LLVMIntNE);
        let (left, right) = (self.of(left)?, self.of(right)?);
        if !(equality || left.exact && right.exact) {
            return None;
        }
        let (left, right) = (left.lin, right.lin);
        let at_most = |a: &Lin, b: &Lin| b.minus(a).map(Cond::NonNegative);
        let below = |a: &Lin, b: &Lin| b.minus(a)?.offset(-1).map(Cond::NonNegative);
        match predicate {
            Predicate::LLVMIntEQ => left.minus(&right).map(Cond::Zero),
            Predicate::LLVMIntNE => left.minus(&right).map(Cond::NonZero),
            Predicate::LLVMIntSLT | Predicate::LLVMIntULT => below(&left, &right),
            Predicate::LLVMIntSGT | Predicate::LLVMIntUGT => below(&right, &left),
            Predicate::LLVMIntSLE | Predicate::LLVMIntULE => at_most(&left, &right),
            Predicate::LLVMIntSGE | Predicate::LLVMIntUGE => at_most(&right, &left),
        }
    }
}

/// An addition or subtraction whose result is the integer it stands for.
fn keeps_sign(value: Value, right: &Lin) -> bool {
    if value.no_signed_wrap() {
        return true;
    }
    let small = |step: i64| (-SMALL_STEP..=SMALL_STEP).contains(&step);
    let Some(step) = right.as_constant().filter(|step| small(*step)) else {
        return false;
    };
    // Upwards without passing 2⁶⁴, and nothing that is counted has 2⁶³ of itself.
    if value.no_unsigned_wrap() && step >= 0 && value.opcode() == Some(Opcode::LLVMAdd) {
        return value.kind().integer_bits() == 64;
    }
    value.kind().integer_bits() == 64
        && value.operand(0).is_some_and(|counter| {
            counter.opcode() == Some(Opcode::LLVMPHI) && stays_small(counter)
        })
}

/// A merge whose value is what its steps add up to; one that takes no steps is.
fn is_exact_merge(phi: Value) -> bool {
    let flagged = |step: Value| match step.opcode() {
        Some(Opcode::LLVMGetElementPtr) => step.gep_no_wrap().signed,
        _ => step.no_signed_wrap() || step.no_unsigned_wrap(),
    };
    let steps = |value: &Value| is_step(phi, *value);
    let mut incoming = phi.incoming().into_iter().map(|(_, value)| value);
    incoming.by_ref().filter(steps).all(flagged) || stays_small(phi)
}

/// A counter of 64 bits that starts at a small constant and takes small steps.
fn stays_small(phi: Value) -> bool {
    let within = |value: Option<i64>, limit: i64| {
        value.is_some_and(|value| (-limit..=limit).contains(&value))
    };
    phi.kind().integer_bits() == 64
        && phi.incoming().into_iter().all(|(_, value)| {
            if is_step(phi, value) {
                within(value.operand(1).and_then(Value::as_i64), SMALL_STEP)
            } else {
                within(value.as_i64(), SMALL_START)
            }
        })
}

fn is_step(phi: Value, value: Value) -> bool {
    let step = matches!(
        value.opcode(),
        Some(Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMGetElementPtr)
    );
    step && value.operand(0) == Some(phi)
}

/// Surely not negative, seen as signed.
fn is_nonnegative(value: Value, depth: u32) -> bool {
    if let Some(number) = value.as_i64() {
        return number >= 0;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let operand = |index| {
        value
            .operand(index)
            .is_some_and(|operand| is_nonnegative(operand, depth))
    };
    match value.opcode() {
        Some(Opcode::LLVMZExt) => true,
        Some(Opcode::LLVMLShr) => value
            .operand(1)
            .and_then(Value::as_u64)
            .is_some_and(|by| by > 0),
        Some(Opcode::LLVMAnd) => operand(0) || operand(1),
        Some(Opcode::LLVMURem) => operand(1) || operand(0),
        Some(Opcode::LLVMUDiv | Opcode::LLVMSExt) => operand(0),
        Some(Opcode::LLVMAdd | Opcode::LLVMMul) => {
            value.no_signed_wrap() && operand(0) && operand(1)
        }
        Some(Opcode::LLVMSelect) => operand(1) && operand(2),
        // A counter that only goes up.
        Some(Opcode::LLVMPHI) => value.incoming().into_iter().all(|(_, from)| {
            let up = from.opcode() == Some(Opcode::LLVMAdd)
                && from.operand(0) == Some(value)
                && from.no_signed_wrap()
                && from
                    .operand(1)
                    .is_some_and(|step| is_nonnegative(step, depth));
            up || is_nonnegative(from, depth)
        }),
        _ => false,
    }
}
