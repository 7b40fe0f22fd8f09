//! Turns an access into calls of the runtime.
use crate::access::{Access, Extent, Kind, Mask};
use crate::libatomic::{AtomicCall, Size};
use crate::llvm::{Attribute, Builder, Context, Module, Opcode, Ordering, Type, Value};
use crate::places::Places;
use crate::stats::{Count, Stats};
use abi::{AtomicKind, Order, Told};
use std::collections::HashMap;

/// The runtime's functions as this module sees them, and the builder that calls them.
#[derive(Debug)]
pub(crate) struct Checks {
    module: Module,
    context: Context,
    builder: Builder,
    declared: HashMap<&'static str, Value>,
    no_merge: Option<Attribute>,
    places: Places,
    /// Operations that calls took the place of. Others still have handles of them.
    replaced: Vec<Value>,
}

/// `memory(inaccessiblemem: readwrite)`: a check touches the runtime's memory, none of the program's.
const INACCESSIBLE_MEMORY: u64 = 0b1100;

/// `memory(argmem: read, inaccessiblemem: readwrite)`: the list is read.
const INACCESSIBLE_MEMORY_AND_LIST: u64 = 0b1101;

/// What a location of the shadow stands for.
const WORD: u64 = 8;

/// Lanes one masked check can name.
const MASK_LANES: u64 = 64;

impl Checks {
    pub(crate) fn new(module: Module) -> Checks {
        let context = module.context();
        Checks {
            module,
            context,
            builder: Builder::new(context),
            declared: HashMap::new(),
            no_merge: context.attribute("nomerge", 0),
            places: Places::default(),
            replaced: Vec::new(),
        }
    }

    /// Declares a function of the ABI table as precisely as LLVM allows, so that a check hinders the
    /// optimiser no more than it must. A check may not move across one that may synchronise: those have no
    /// memory attribute, hence may touch everything.
    fn runtime(&mut self, name: &'static str) -> Option<Value> {
        if let Some(function) = self.declared.get(name) {
            return Some(*function);
        }
        let entry = abi::FUNCTIONS.iter().find(|entry| entry.name == name)?;
        let parameters: Vec<_> = entry
            .parameters
            .iter()
            .map(|kind| self.kind(*kind))
            .collect();
        let result = entry.result.map(|kind| self.kind(kind));
        let function = self.module.declare(name, &parameters, result);
        let mut attributes = vec![("nounwind", 0)];
        if is_plain(name) {
            attributes.extend([("willreturn", 0), ("nofree", 0), ("nocallback", 0)]);
            let touched = match name.ends_with(abi::GATHERED) {
                true => INACCESSIBLE_MEMORY_AND_LIST,
                false => INACCESSIBLE_MEMORY,
            };
            attributes.push(("memory", touched));
        }
        // A definition from the hot checks knows better what it does.
        if function.is_declaration() {
            for (name, value) in attributes {
                if let Some(attribute) = self.context.attribute(name, value) {
                    function.add_attribute(attribute);
                }
            }
        }
        if entry.parameters.first() == Some(&abi::Type::Ptr)
            && let Some(attribute) = self.context.attribute("captures", 0)
        {
            function.add_parameter_attribute(0, attribute);
        }
        self.declared.insert(name, function);
        Some(function)
    }

    fn kind(&self, kind: abi::Type) -> Type {
        match kind {
            abi::Type::Ptr => self.context.pointer(),
            abi::Type::I32 => self.context.integer(32),
            abi::Type::I64 => self.context.integer(64),
        }
    }

    fn call(&mut self, name: &'static str, arguments: &[Value]) -> Option<Value> {
        let function = self.runtime(name)?;
        let call = self.builder.call(function, arguments);
        if let Some(attribute) = self.no_merge {
            call.add_call_attribute(attribute);
        }
        call.set_no_tail();
        Some(call)
    }

    fn i32(&self, value: u64) -> Value {
        self.context.integer(32).constant(value)
    }

    fn i64(&self, value: u64) -> Value {
        self.context.integer(64).constant(value)
    }

    /// New calls go before `instruction` and have its source line, or the function's first if it has none.
    pub(crate) fn before(&mut self, instruction: Value, line_of: Value, function: Value) {
        let location = line_of
            .location()
            .or_else(|| function.start_location(self.context));
        self.builder.before(instruction, location);
    }

    /// What the checks from here on are.
    pub(crate) fn told(&mut self, told: Told) {
        let told = self.i32(told as u64);
        self.call("__footrace_told", &[told]);
    }

    /// Where it is written down what became of the checks.
    pub(crate) fn places(&mut self) -> &mut Places {
        &mut self.places
    }

    /// Inserts the check of a plain access, where it is.
    pub(crate) fn plain(&mut self, function: Value, access: &Access, stats: &mut Stats) {
        self.places.kept(function, access);
        self.calls(function, access, stats);
    }

    /// As [`Checks::plain`], for an access that is told of and has its check elsewhere.
    pub(crate) fn access(&mut self, function: Value, access: &Access) {
        self.calls(function, access, &mut Stats::default());
    }

    fn calls(&mut self, function: Value, access: &Access, stats: &mut Stats) {
        self.before(access.instruction, access.instruction, function);
        let kind = access.kind;
        let pointer = access.pointer;
        match access.extent {
            Extent::Bytes {
                offset,
                size,
                align,
            } => {
                let pointer = self.at(pointer, offset);
                self.bytes(kind, pointer, size, align, stats);
            }
            Extent::Length(length) => {
                let length = self.builder.to_integer(length, self.context.integer(64));
                self.range(kind, pointer, length, stats);
            }
            Extent::Masked { lane, mask } => {
                let (bits, lanes) = self.bits(mask);
                self.masked(kind, pointer, lane, bits, lanes, stats);
            }
            Extent::Packed { lane, mask } => {
                let lanes = mask.kind().length();
                let as_number = self.context.integer(u32::try_from(lanes).unwrap_or(1));
                let number = self.builder.bit_cast(mask, as_number);
                let set = self
                    .builder
                    .unary_intrinsic(self.module, "llvm.ctpop", number);
                let i64 = self.context.integer(64);
                let set = self.builder.to_integer(set, i64);
                let length = self.builder.multiply(set, self.i64(lane));
                self.range(kind, pointer, length, stats);
            }
            Extent::Gather { lane, mask } => {
                let (bits, lanes) = self.bits(mask);
                for index in 0..lanes {
                    let address = self.builder.extract_lane(pointer, index);
                    self.lane(kind, address, lane, bits, index, stats);
                }
            }
            Extent::Indexed {
                lane,
                lanes,
                index,
                scale,
                mask,
            } => {
                let (bits, _) = self.bits(mask);
                let i64 = self.context.integer(64);
                for number in 0..lanes {
                    let step = self.builder.extract_lane(index, number);
                    let step = self.builder.to_signed(step, i64);
                    let step = self.builder.multiply(step, self.i64(scale));
                    let address = self.builder.offset(pointer, step);
                    self.lane(kind, address, lane, bits, number, stats);
                }
            }
        }
    }

    fn at(&self, pointer: Value, offset: u64) -> Value {
        if offset == 0 {
            pointer
        } else {
            self.builder.offset(pointer, self.i64(offset))
        }
    }

    /// A check of so many bytes; the address is a multiple of `align`.
    pub(crate) fn bytes(
        &mut self,
        kind: Kind,
        pointer: Value,
        size: u64,
        align: u64,
        stats: &mut Stats,
    ) {
        match sized(kind, size, align) {
            Some(name) => {
                self.call(name, &[pointer]);
                stats.add(match kind {
                    Kind::Read => Count::Read,
                    Kind::Write => Count::Write,
                });
            }
            None if size > 0 => {
                let size = self.i64(size);
                self.range(kind, pointer, size, stats);
            }
            None => {}
        }
    }

    /// Is there a check of so many bytes at such an address that is no range?
    pub(crate) fn has_size(kind: Kind, size: u64, align: u64) -> bool {
        sized(kind, size, align).is_some()
    }

    /// A check of `length` bytes.
    pub(crate) fn range(&mut self, kind: Kind, pointer: Value, length: Value, stats: &mut Stats) {
        let (name, count) = match kind {
            Kind::Read => ("__footrace_read_range", Count::ReadRange),
            Kind::Write => ("__footrace_write_range", Count::WriteRange),
        };
        self.call(name, &[pointer, length]);
        stats.add(count);
    }

    /// A check of `count` pieces of `size` bytes, `stride` bytes from one to the next.
    pub(crate) fn strided(
        &mut self,
        kind: Kind,
        pointer: Value,
        size: u64,
        count: Value,
        stride: u64,
        stats: &mut Stats,
    ) {
        let (name, reason) = match kind {
            Kind::Read => ("__footrace_read_strided", Count::ReadStrided),
            Kind::Write => ("__footrace_write_strided", Count::WriteStrided),
        };
        let (size, stride) = (self.i32(size), self.i64(stride));
        self.call(name, &[pointer, size, count, stride]);
        stats.add(reason);
    }

    /// A check of the `count` addresses of a list, each of `size` bytes.
    pub(crate) fn gathered(&mut self, kind: Kind, list: Value, count: Value, size: u64) {
        let name = match kind {
            Kind::Read => "__footrace_read_gathered",
            Kind::Write => "__footrace_write_gathered",
        };
        let size = self.i32(size);
        self.call(name, &[list, count, size]);
    }

    /// Where checks go next.
    pub(crate) fn builder(&self) -> &Builder {
        &self.builder
    }

    /// The mask as a vector of `i1`, and its length.
    fn bits(&self, mask: Mask) -> (Value, u64) {
        match mask {
            Mask::Bits(bits) => (bits, bits.kind().length()),
            Mask::Signs(lanes) => {
                let length = lanes.kind().length();
                let element = lanes.kind().element();
                let width = element.store_size(self.module) * 8;
                let integer = self.context.integer(u32::try_from(width).unwrap_or(8));
                let integers = self.builder.bit_cast(lanes, integer.vector(length));
                (self.builder.is_negative(integers), length)
            }
        }
    }

    /// One call for each 64 lanes.
    fn masked(
        &mut self,
        kind: Kind,
        pointer: Value,
        lane: u64,
        bits: Value,
        lanes: u64,
        stats: &mut Stats,
    ) {
        let mut first = 0;
        while first < lanes {
            let count = MASK_LANES.min(lanes - first);
            let part = if count == lanes {
                bits
            } else {
                self.builder.slice(bits, first, count)
            };
            let number = self.context.integer(u32::try_from(count).unwrap_or(64));
            let number = self.builder.bit_cast(part, number);
            let number = self.builder.to_integer(number, self.context.integer(64));
            let address = self.at(pointer, first * lane);
            self.mask(kind, address, lane, number, stats);
            first += count;
        }
    }

    /// One lane of its own, at its own address.
    fn lane(
        &mut self,
        kind: Kind,
        pointer: Value,
        lane: u64,
        bits: Value,
        index: u64,
        stats: &mut Stats,
    ) {
        let bit = self.builder.extract_lane(bits, index);
        match bit.as_u64() {
            Some(0) => {}
            Some(_) => self.bytes(kind, pointer, lane, 1, stats),
            None => {
                let bit = self.builder.to_integer(bit, self.context.integer(64));
                self.mask(kind, pointer, lane, bit, stats);
            }
        }
    }

    fn mask(&mut self, kind: Kind, pointer: Value, lane: u64, mask: Value, stats: &mut Stats) {
        let (name, count) = match kind {
            Kind::Read => ("__footrace_read_masked", Count::ReadMasked),
            Kind::Write => ("__footrace_write_masked", Count::WriteMasked),
        };
        let lane = self.i32(lane);
        self.call(name, &[pointer, lane, mask]);
        stats.add(count);
    }

    /// Brackets an atomic operation. `pointer` is its address.
    pub(crate) fn atomic(
        &mut self,
        function: Value,
        operation: Value,
        pointer: Value,
        stats: &mut Stats,
    ) {
        if let Some(replaced) = self.exchange(function, operation, pointer) {
            self.replaced.push(replaced);
            stats.add(Count::Atomic);
            return;
        }
        let Some(next) = operation.next() else {
            return;
        };
        let (size, kind, order) = match operation.opcode() {
            Some(Opcode::LLVMLoad) => (
                operation.kind(),
                AtomicKind::Load,
                order(operation.ordering()),
            ),
            Some(Opcode::LLVMStore) => {
                let Some(value) = operation.operand(0) else {
                    return;
                };
                (value.kind(), AtomicKind::Store, order(operation.ordering()))
            }
            Some(Opcode::LLVMAtomicCmpXchg) => {
                let Some(value) = operation.operand(2) else {
                    return;
                };
                (
                    value.kind(),
                    AtomicKind::Rmw,
                    order(operation.exchange_orderings().0),
                )
            }
            _ => (
                operation.kind(),
                AtomicKind::Rmw,
                order(operation.ordering()),
            ),
        };
        let size = self.i32(size.store_size(self.module));
        let mut order_value = self.i32(order as u64);
        let before = match operation.opcode() {
            Some(Opcode::LLVMAtomicCmpXchg) => AtomicKind::CompareExchange,
            _ => kind,
        };
        let before = self.i32(before as u64);
        let mut kind = self.i32(kind as u64);
        self.before(operation, operation, function);
        let arguments = [pointer, size, before, order_value];
        self.call("__footrace_atomic_begin", &arguments);
        self.before(next, operation, function);
        if operation.opcode() == Some(Opcode::LLVMAtomicCmpXchg) {
            let succeeded = self.builder.extract_field(operation, 1);
            let load = self.i32(AtomicKind::Load as u64);
            let failure = self::order(operation.exchange_orderings().1);
            kind = self.builder.select(succeeded, kind, load);
            order_value = self
                .builder
                .select(succeeded, order_value, self.i32(failure as u64));
        }
        self.call("__footrace_atomic_end", &[pointer, size, kind, order_value]);
        stats.add(Count::Atomic);
    }

    /// A compare-exchange that may release, of a size that the runtime can make: one call takes its place. Returns the operation, which nobody uses any more.
    fn exchange(&mut self, function: Value, operation: Value, pointer: Value) -> Option<Value> {
        if operation.opcode() != Some(Opcode::LLVMAtomicCmpXchg) || operation.is_volatile() {
            return None;
        }
        let (success, failure) = operation.exchange_orderings();
        let (success, failure) = (order(success), order(failure));
        let (expected, new) = (operation.operand(1)?, operation.operand(2)?);
        let (kind, wide) = (new.kind(), self.context.integer(64));
        let size = kind.store_size(self.module);
        let is_pointer = kind == self.context.pointer();
        if !matches!(success, Order::Release | Order::AcqRel | Order::SeqCst)
            || !(is_pointer || matches!(kind.integer_bits(), 8 | 16 | 32 | 64))
            || pointer.kind() != self.context.pointer()
            || operation.alignment() < size
        {
            return None;
        }
        self.before(operation, operation, function);
        let [expected, new] = [expected, new].map(|value| {
            if is_pointer {
                self.builder.pointer_to_integer(value, wide)
            } else {
                self.builder.to_integer(value, wide)
            }
        });
        let arguments = [
            pointer,
            self.i32(size),
            expected,
            new,
            self.i32(success as u64),
            self.i32(failure as u64),
        ];
        let old = self.call("__footrace_exchange", &arguments)?;
        let succeeded = self.builder.are_equal(old, expected);
        let old = if is_pointer {
            self.builder.integer_to_pointer(old, kind)
        } else {
            self.builder.to_integer(old, kind)
        };
        let result = self.builder.structure(operation.kind(), &[old, succeeded]);
        operation.replace_all_uses(result);
        Some(operation)
    }

    /// Takes the operations away that calls took the place of. Nobody has a handle of them any more.
    pub(crate) fn finish(&mut self) {
        for operation in self.replaced.drain(..) {
            operation.erase();
        }
    }

    /// Brackets a call of libatomic.
    pub(crate) fn atomic_call(
        &mut self,
        function: Value,
        call: Value,
        operation: &AtomicCall,
        stats: &mut Stats,
    ) {
        let Some(next) = call.next() else {
            return;
        };
        let i32 = self.context.integer(32);
        self.before(call, call, function);
        let size = match operation.size {
            Size::Constant(size) => self.i32(size),
            Size::Computed(size) => self.builder.to_integer(size, i32),
        };
        let mut order = self.builder.to_integer(operation.order, i32);
        let before = match operation.failure {
            Some(_) => AtomicKind::CompareExchange,
            None => operation.kind,
        };
        let arguments = [operation.pointer, size, self.i32(before as u64), order];
        self.call("__footrace_atomic_begin", &arguments);
        self.before(next, call, function);
        let mut kind = self.i32(operation.kind as u64);
        if let Some(failure) = operation.failure {
            let bit = self.context.integer(1);
            let succeeded = self.builder.to_integer(call, bit);
            let failure = self.builder.to_integer(failure, i32);
            let load = self.i32(AtomicKind::Load as u64);
            kind = self.builder.select(succeeded, kind, load);
            order = self.builder.select(succeeded, order, failure);
        }
        let arguments = [operation.pointer, size, kind, order];
        self.call("__footrace_atomic_end", &arguments);
        stats.add(Count::Atomic);
    }

    /// Tells the runtime of a fence, before it.
    pub(crate) fn fence(&mut self, function: Value, fence: Value, stats: &mut Stats) {
        self.before(fence, fence, function);
        let order = self.i32(order(fence.ordering()) as u64);
        self.call("__footrace_fence", &[order]);
        stats.add(Count::Fence);
    }

    /// Calls `__footrace_init` with `note` in a new function, which is returned.
    pub(crate) fn constructor(&mut self, name: &str, note: Value) -> Value {
        let function = self.module.declare(name, &[], None);
        self.builder.add_entry(function);
        self.call("__footrace_init", &[note]);
        self.builder.return_nothing();
        function
    }
}

/// Checks of plain accesses: they order nothing and touch only the runtime's memory.
fn is_plain(name: &str) -> bool {
    ["__footrace_read", "__footrace_write", "__footrace_told"]
        .iter()
        .any(|plain| name.starts_with(plain))
}

/// The check with a size of its own, if the access is within an aligned word of 8 bytes, takes whole ones, or is to parts of two.
fn sized(kind: Kind, size: u64, align: u64) -> Option<&'static str> {
    let (sizes, prefixes): (&[u32], _) = if align >= size.min(WORD) {
        (&abi::SIZES, ["__footrace_read", "__footrace_write"])
    } else {
        let prefixes = ["__footrace_read_unaligned", "__footrace_write_unaligned"];
        (&abi::UNALIGNED, prefixes)
    };
    if !sizes.iter().any(|known| u64::from(*known) == size) {
        return None;
    }
    let prefix = prefixes[usize::from(kind == Kind::Write)];
    abi::FUNCTIONS.iter().map(|entry| entry.name).find(|name| {
        name.strip_prefix(prefix)
            .and_then(|rest| rest.parse::<u64>().ok())
            == Some(size)
    })
}

fn order(ordering: Ordering) -> Order {
    match ordering {
        Ordering::LLVMAtomicOrderingAcquire => Order::Acquire,
        Ordering::LLVMAtomicOrderingRelease => Order::Release,
        Ordering::LLVMAtomicOrderingAcquireRelease => Order::AcqRel,
        Ordering::LLVMAtomicOrderingSequentiallyConsistent => Order::SeqCst,
        Ordering::LLVMAtomicOrderingNotAtomic
        | Ordering::LLVMAtomicOrderingUnordered
        | Ordering::LLVMAtomicOrderingMonotonic => Order::Relaxed,
    }
}
