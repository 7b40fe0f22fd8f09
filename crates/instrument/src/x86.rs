//! The memory intrinsics of x86 that have no portable form: AVX masks by sign bits, AVX2 and AVX-512
//! gathers and scatters, the byte-masked store of SSE2, the unaligned load of SSE3.
use crate::access::{Access, Extent, Kind, Mask};
use crate::llvm::{Module, Type, TypeKind, Value};

fn element_bytes(module: Module, vector: Type) -> Option<u64> {
    (vector.kind() == TypeKind::LLVMVectorTypeKind).then(|| vector.element().store_size(module))
}

fn is_bits(mask: Value) -> bool {
    mask.kind().kind() == TypeKind::LLVMVectorTypeKind && mask.kind().element().integer_bits() == 1
}

/// The access of `llvm.x86.<name>`, if it is one.
pub(crate) fn access(
    module: Module,
    instruction: Value,
    name: &str,
    arguments: &[Value],
) -> Option<Access> {
    let found = |kind, pointer, extent| {
        Some(Access {
            instruction,
            kind,
            pointer,
            extent,
        })
    };
    match arguments {
        [pointer, mask]
            if name.starts_with("avx.maskload") || name.starts_with("avx2.maskload") =>
        {
            let lane = element_bytes(module, mask.kind())?;
            let mask = Mask::Signs(*mask);
            found(Kind::Read, *pointer, Extent::Masked { lane, mask })
        }
        [pointer, mask, _]
            if name.starts_with("avx.maskstore") || name.starts_with("avx2.maskstore") =>
        {
            let lane = element_bytes(module, mask.kind())?;
            let mask = Mask::Signs(*mask);
            found(Kind::Write, *pointer, Extent::Masked { lane, mask })
        }
        [_, mask, pointer] if name == "sse2.maskmov.dqu" => {
            let mask = Mask::Signs(*mask);
            found(Kind::Write, *pointer, Extent::Masked { lane: 1, mask })
        }
        [pointer] if name == "sse3.ldu.dq" || name == "avx.ldu.dq.256" => {
            let size = instruction.kind().store_size(module);
            let extent = Extent::Bytes {
                offset: 0,
                size,
                align: 1,
            };
            found(Kind::Read, *pointer, extent)
        }
        [_, pointer, index, mask, scale] if name.starts_with("avx2.gather") => {
            let extent = indexed(
                module,
                instruction.kind(),
                *index,
                Mask::Signs(*mask),
                *scale,
            )?;
            found(Kind::Read, *pointer, extent)
        }
        [_, pointer, index, mask, scale]
            if name.starts_with("avx512.mask.gather") && is_bits(*mask) =>
        {
            let extent = indexed(
                module,
                instruction.kind(),
                *index,
                Mask::Bits(*mask),
                *scale,
            )?;
            found(Kind::Read, *pointer, extent)
        }
        [pointer, mask, index, value, scale]
            if name.starts_with("avx512.mask.scatter") && is_bits(*mask) =>
        {
            let extent = indexed(module, value.kind(), *index, Mask::Bits(*mask), *scale)?;
            found(Kind::Write, *pointer, extent)
        }
        _ => None,
    }
}

/// The vectors of index, mask and value may have different lengths: the shortest counts.
fn indexed(module: Module, value: Type, index: Value, mask: Mask, scale: Value) -> Option<Extent> {
    let (Mask::Bits(lanes_of) | Mask::Signs(lanes_of)) = mask;
    let lanes = value
        .length()
        .min(index.kind().length())
        .min(lanes_of.kind().length());
    Some(Extent::Indexed {
        lane: element_bytes(module, value)?,
        lanes,
        index,
        scale: scale.as_u64()?,
        mask,
    })
}
