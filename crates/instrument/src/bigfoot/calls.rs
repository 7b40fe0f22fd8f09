//! What calls and atomic operations do, as far as checks are concerned: the kill sets of code that is not in
//! the module.
//!
//! What is not listed here does everything. The lists name functions that neither hand anything to another
//! thread nor take anything from one, as the runtime sees it, and that always come back.
use crate::llvm::{Opcode, Ordering, Value};
use placement::ir::Effects;

const ACQUIRES: Effects = Effects {
    acquires: true,
    ..Effects::NONE
};

const RELEASES: Effects = Effects {
    releases: true,
    ..Effects::NONE
};

/// The effects of a call of something without a body here.
pub(super) fn external(call: Value) -> Effects {
    let Some(callee) = call.callee() else {
        return Effects::UNKNOWN;
    };
    if callee.is_inline_asm() {
        return if callee.assembly().trim().is_empty() {
            Effects::NONE
        } else {
            Effects::UNKNOWN
        };
    }
    let name = if callee.is_function() {
        callee.name()
    } else {
        String::new()
    };
    if let Some(effects) = named(&name) {
        return effects;
    }
    let promised = |attribute| call.call_has(attribute);
    let synchronises = !promised("nosync");
    Effects {
        acquires: synchronises,
        releases: synchronises,
        unwinds: !promised("nounwind"),
        leaves: !promised("willreturn"),
        writes: true,
        frees: !promised("nofree"),
    }
}

/// The effects of a function of libc, if it is listed.
pub(super) fn named(name: &str) -> Option<Effects> {
    let listed = |names: &str| names.split_whitespace().any(|known| known == name);
    if listed(MEMORY) || listed(TEXT) || is_mathematics(name) {
        return Some(Effects::NONE);
    }
    if listed("free cfree") {
        return Some(Effects {
            frees: true,
            ..Effects::NONE
        });
    }
    if listed("_Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t") {
        return Some(Effects {
            unwinds: true,
            ..Effects::NONE
        });
    }
    if listed("pthread_mutex_lock pthread_spin_lock pthread_rwlock_rdlock pthread_rwlock_wrlock") {
        // A lock that is never given: an acquire is a deadline anyway.
        return Some(ACQUIRES);
    }
    if listed("pthread_mutex_unlock pthread_spin_unlock sem_post") {
        return Some(RELEASES);
    }
    None
}

/// Blocks of memory and their contents. The runtime's versions check what they touch at once.
const MEMORY: &str = "malloc calloc aligned_alloc memalign posix_memalign valloc \
    memcpy memmove memset memcmp bcmp memchr memrchr mempcpy memmem rawmemchr";

/// Text, numbers, time.
const TEXT: &str = "strlen strnlen strcmp strncmp strcasecmp strncasecmp strchr strrchr strchrnul strcpy strncpy \
    stpcpy strcat strncat strstr strspn strcspn strpbrk strdup strndup \
    atoi atol atoll atof strtol strtoll strtoul strtoull strtod strtof \
    isalpha isdigit isalnum isspace isupper islower isxdigit ispunct isprint toupper tolower \
    __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc \
    abs labs llabs div ldiv time clock clock_gettime gettimeofday __errno_location";

/// `sin`, `sinf`, `sinl` and so on.
pub(crate) fn is_mathematics(name: &str) -> bool {
    const NAMES: &str = "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 exp10 expm1 log log2 \
        log10 log1p pow sqrt cbrt hypot fmod remainder floor ceil round trunc rint nearbyint lround \
        llround lrint llrint fabs fmin fmax fdim fma copysign ldexp frexp modf scalbn scalbln logb \
        ilogb erf erfc tgamma sincos nextafter";
    let stem = name.strip_suffix(['f', 'l']).unwrap_or(name);
    NAMES
        .split_whitespace()
        .any(|known| known == name || known == stem)
}

/// The effects of an atomic load, store, exchange or fence.
///
/// A relaxed write releases nothing by itself. It counts as a release all the same: a plain write to an
/// atomic object ends its history, and must be checked before the object is written again.
pub(super) fn atomic(operation: Value) -> Effects {
    let acquires = |ordering| {
        matches!(
            ordering,
            Ordering::LLVMAtomicOrderingAcquire
                | Ordering::LLVMAtomicOrderingAcquireRelease
                | Ordering::LLVMAtomicOrderingSequentiallyConsistent
        )
    };
    match operation.opcode() {
        Some(Opcode::LLVMLoad) if acquires(operation.ordering()) => ACQUIRES,
        Some(Opcode::LLVMLoad) => Effects::NONE,
        Some(Opcode::LLVMStore) => RELEASES,
        Some(Opcode::LLVMAtomicCmpXchg) => {
            let (success, failure) = operation.exchange_orderings();
            Effects {
                acquires: acquires(success) || acquires(failure),
                ..RELEASES
            }
        }
        Some(Opcode::LLVMAtomicRMW) => Effects {
            acquires: acquires(operation.ordering()),
            ..RELEASES
        },
        // Fences.
        _ => ACQUIRES.or(RELEASES),
    }
}
