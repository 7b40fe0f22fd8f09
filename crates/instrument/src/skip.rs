//! Which accesses need no check, and why.
//!
//! Each rule is safe on its own: a skipped access cannot be half of a race, or a check that stays
//! finds the same race.
use crate::access::{Access, Effect, Extent, Kind, effect};
use crate::address::{Place, objects, place};
use crate::escape::Escape;
use crate::llvm::{Block, Module, TypeKind, Value};
use crate::stats::Count;
use std::collections::HashMap;

/// The rules, with what they remember about the module.
#[derive(Debug)]
pub(crate) struct Rules {
    module: Module,
    escape: Escape,
    invariant_load: u32,
}

impl Rules {
    pub(crate) fn new(module: Module) -> Rules {
        Rules {
            module,
            escape: Escape::new(module),
            invariant_load: module.context().metadata_kind("invariant.load"),
        }
    }

    /// A reason to skip the access that lies in the memory it touches.
    pub(crate) fn memory(&mut self, access: &Access) -> Option<Count> {
        if access.kind == Kind::Read && access.instruction.has_metadata(self.invariant_load) {
            return Some(Count::SkippedConstant);
        }
        self.pointer(access.pointer, access.kind)
    }

    /// The same for an atomic operation's address.
    pub(crate) fn pointer(&mut self, pointer: Value, kind: Kind) -> Option<Count> {
        if !matches!(
            pointer.kind().kind(),
            TypeKind::LLVMPointerTypeKind | TypeKind::LLVMVectorTypeKind
        ) {
            return None;
        }
        if pointer.kind().kind() == TypeKind::LLVMPointerTypeKind
            && pointer.kind() != self.module.context().pointer()
        {
            return Some(Count::SkippedSegment);
        }
        let mut reason = None;
        for object in objects(pointer, |call| self.escape.moved(call))? {
            // No memory: an access there ends the program.
            if object.is_null() {
                continue;
            }
            let here = if is_profile_counter(object) {
                Count::SkippedProfile
            } else if object.is_constant_global() && kind == Kind::Read {
                Count::SkippedConstant
            } else if self.escape.is_candidate(object) && self.escape.private(object) {
                if object.is_thread_local() {
                    Count::SkippedThreadLocal
                } else if self.escape.is_block(object) {
                    Count::SkippedHeap
                } else {
                    Count::SkippedStack
                }
            } else {
                return None;
            };
            reason = reason.or(Some(here));
        }
        reason
    }

    /// The accesses of a block that another thread could see.
    pub(crate) fn visible(&mut self, block: Block) -> Vec<Access> {
        let instructions = block.instructions().into_iter();
        let effects = instructions.map(|instruction| effect(self.module, instruction));
        let accesses: Vec<Access> = effects
            .flat_map(|effect| effect.plain().cloned().unwrap_or_default())
            .collect();
        accesses
            .into_iter()
            .filter(|access| self.memory(access).is_none())
            .collect()
    }

    /// For each access of a block, in order: is it a read that a checked write of the same bytes covers?
    ///
    /// A block is cut into spans wherever something may synchronise, call or end the thread. Within
    /// a span nothing orders this thread with another, so another thread's write that races with the read races with
    /// this thread's write of the same bytes as well, whichever of the two comes first.
    pub(crate) fn covered(
        &self,
        effects: &[(Value, Effect)],
        skipped: &[Vec<bool>],
    ) -> Vec<Vec<bool>> {
        let mut result: Vec<Vec<bool>> = skipped.iter().map(|s| vec![false; s.len()]).collect();
        let mut start = 0;
        while start < effects.len() {
            let length = effects[start..]
                .iter()
                .position(|(_, effect)| !matches!(effect, Effect::Nothing | Effect::Plain(_)))
                .unwrap_or(effects.len() - start);
            let span = start..start + length;
            let mut writes: HashMap<Value, Vec<(i64, i64)>> = HashMap::new();
            self.each(&effects[span.clone()], |index, number, access| {
                if access.kind == Kind::Write
                    && !skipped[start + index][number]
                    && let Some((place, end)) = self.bytes(access)
                {
                    writes
                        .entry(place.base)
                        .or_default()
                        .push((place.offset, end));
                }
            });
            if !writes.is_empty() {
                self.each(&effects[span.clone()], |index, number, access| {
                    if access.kind == Kind::Read
                        && let Some((place, end)) = self.bytes(access)
                        && let Some(writes) = writes.get(&place.base)
                    {
                        result[start + index][number] = writes
                            .iter()
                            .any(|(from, to)| *from <= place.offset && end <= *to);
                    }
                });
            }
            start = span.end + 1;
        }
        result
    }

    fn each(&self, effects: &[(Value, Effect)], mut visit: impl FnMut(usize, usize, &Access)) {
        for (index, (_, effect)) in effects.iter().enumerate() {
            if let Effect::Plain(accesses) = effect {
                for (number, access) in accesses.iter().enumerate() {
                    visit(index, number, access);
                }
            }
        }
    }

    /// First byte and end of an access with a constant extent.
    fn bytes(&self, access: &Access) -> Option<(Place, i64)> {
        let Extent::Bytes { offset, size, .. } = access.extent else {
            return None;
        };
        let mut place = place(self.module, access.pointer);
        place.offset = place.offset.checked_add(i64::try_from(offset).ok()?)?;
        let end = place.offset.checked_add(i64::try_from(size).ok()?)?;
        Some((place, end))
    }
}

/// `--coverage` and `-fprofile-…` count without care for threads. That is the compiler's race, not the program's.
fn is_profile_counter(object: Value) -> bool {
    object.is_global_variable() && {
        let name = object.name();
        [
            "__llvm_gcov",
            "__llvm_gcda",
            "__profc_",
            "__profd_",
            "__profbm_",
            "__llvm_prf",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    }
}
