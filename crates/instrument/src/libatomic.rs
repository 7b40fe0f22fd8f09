//! Atomic operations that are calls of libatomic, because the target has no instruction for their size:
//! `__atomic_OP_N(pointer, …, order)` and, for any size, `__atomic_OP(size, pointer, …, order)`.
//! They are bracketed like instructions.
use crate::access::{Access, Extent, Kind};
use crate::llvm::Value;
use abi::AtomicKind;

/// How many bytes an operation covers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    Constant(u64),
    Computed(Value),
}

/// A call that is an atomic operation.
#[derive(Clone, Debug)]
pub(crate) struct AtomicCall {
    pub(crate) pointer: Value,
    pub(crate) size: Size,
    pub(crate) kind: AtomicKind,
    /// C's number of the memory order.
    pub(crate) order: Value,
    /// Of a compare-exchange: the order if it fails. The call's result says which it was.
    pub(crate) failure: Option<Value>,
    /// The arguments in memory, which are plain accesses.
    pub(crate) plain: Vec<Access>,
}

/// The operation that a call of `name` is.
pub(crate) fn recognise(call: Value, name: &str, arguments: &[Value]) -> Option<AtomicCall> {
    let name = name.strip_prefix("__atomic_")?;
    let sized = name
        .rsplit_once('_')
        .and_then(|(operation, size)| Some((operation, size.parse::<u64>().ok()?)));
    let (operation, size, operands) = match sized {
        Some((operation, size)) => (operation, Size::Constant(size), arguments),
        None => {
            let (size, operands) = arguments.split_first()?;
            (name, Size::Computed(*size), operands)
        }
    };
    let (pointer, operands) = operands.split_first()?;
    let (order, values) = operands.split_last()?;
    let by_address = matches!(size, Size::Computed(_));
    let in_memory = |kind, index: usize| {
        let pointer = *values.get(index).filter(|_| by_address)?;
        let extent = match size {
            Size::Constant(size) => Extent::Bytes {
                offset: 0,
                size,
                align: 1,
            },
            Size::Computed(length) => Extent::Length(length),
        };
        Some(Access {
            instruction: call,
            kind,
            pointer,
            extent,
        })
    };
    let (kind, plain) = match (operation, values.len()) {
        ("load", 0 | 1) => (AtomicKind::Load, vec![in_memory(Kind::Write, 0)]),
        ("store", 1..) => (AtomicKind::Store, vec![in_memory(Kind::Read, 0)]),
        ("exchange", 1..) => (
            AtomicKind::Rmw,
            vec![in_memory(Kind::Read, 0), in_memory(Kind::Write, 1)],
        ),
        ("compare_exchange", 3..) => (
            AtomicKind::Rmw,
            vec![in_memory(Kind::Read, 0), in_memory(Kind::Read, 1)],
        ),
        (operation, 1..) if !by_address && is_fetch(operation) => (AtomicKind::Rmw, Vec::new()),
        _ => return None,
    };
    let compare = operation == "compare_exchange";
    Some(AtomicCall {
        pointer: *pointer,
        size,
        kind,
        order: if compare { *values.last()? } else { *order },
        failure: compare.then_some(*order),
        plain: plain.into_iter().flatten().collect(),
    })
}

fn is_fetch(operation: &str) -> bool {
    let operations = ["add", "sub", "and", "or", "xor", "nand"];
    let name = operation
        .strip_prefix("fetch_")
        .or(operation.strip_suffix("_fetch"));
    name.is_some_and(|name| operations.contains(&name))
}
