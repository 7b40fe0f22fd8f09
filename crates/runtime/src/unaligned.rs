//! Accesses of two, four, eight or sixteen bytes that may straddle words: of fields that are packed, of text by the word.
//!
//! They are as frequent as aligned ones where programs search and compress, so they have a test of their own: each word's part is asked for, and only what is
//! not known of is checked, as an access to that word alone is.

use event::AccessKind;

use crate::entry::few;
use crate::stub::word_stub;
use crate::unwind::caller;

/// One cell of a word at `rdx + $at`: on to `$yes` if it has the bytes in ecx, and for a write its bit, else behind, by `$no` or directly. r11 is the epoch; uses rsi.
macro_rules! is_in {
    ($at:literal $yes:literal $no:literal) => {
        concat!(
            "mov rsi, qword ptr [rdx + ",
            $at,
            "]\n",
            "xor rsi, r11\n",
            // The difference turned around: bytes, write, site, epoch.
            "ror rsi, {bytes_shift}\n",
            "test esi, ecx\n",
            "jnz ",
            $no,
            "\n",
            "shr rsi, 64 - {bytes_shift}\n",
            "jz ",
            $yes,
            "\n",
        )
    };
}

/// What a write asks for besides its bytes.
macro_rules! bit_of {
    (Read) => {
        ""
    };
    (Write) => {
        "or ecx, 0x100\n"
    };
}

/// A word of which all is asked for, with its cells at `rcx + $at`: on to `$yes` if all of it is known, else behind. r11 is the epoch; uses rax.
macro_rules! is_all {
    ($kind:ident $at:literal $yes:literal) => {
        concat!(
            "mov rax, qword ptr [rcx + ", $at, "]\n",
            "xor rax, r11\n",
            $crate::outlined::whole_word!($kind "rax" $yes),
            "mov rax, qword ptr [rcx + ", $at, " + 8]\n",
            "xor rax, r11\n",
            $crate::outlined::whole_word!($kind "rax" $yes),
        )
    };
}

/// The next word, with its cells at `rdx + $at`, of which the bytes in eax are asked for: to `5:` if there are none, to `6:` if they are not known, else behind.
macro_rules! next_word {
    ($kind:ident $at:literal $second:literal) => {
        concat!(
            "shr eax, 8\n",
            "jz 5f\n",
            "movzx ecx, al\n",
            $crate::unaligned::bit_of!($kind),
            $crate::unaligned::is_in!($at "3f" "1f"),
            "1:\n",
            $crate::unaligned::is_in!($second "3f" "6f"),
            "jmp 6f\n",
            "3:\n",
        )
    };
}

/// The words behind the first: all of them, …
macro_rules! all_behind {
    ($kind:ident 16) => {
        concat!(
            $crate::unaligned::is_all!($kind "16" "1f"),
            "jmp 2f\n",
            "1:\n",
            // Two whole words, for all that.
            "test dil, 7\n",
            "jz 4f\n",
            $crate::unaligned::is_all!($kind "32" "4f"),
        )
    };
    ($kind:ident $size:literal) => {
        $crate::unaligned::is_all!($kind "16" "4f")
    };
}

/// … and parts of them.
macro_rules! parts_behind {
    ($kind:ident 16) => {
        concat!(
            $crate::unaligned::next_word!($kind "16" "24"),
            $crate::unaligned::next_word!($kind "32" "40"),
        )
    };
    ($kind:ident $size:literal) => {
        $crate::unaligned::next_word!($kind "16" "24")
    };
}

/// Defines `$outlined(address)`: the quick test, then `$slow`. It is `hot`'s, as in [`crate::outlined`].
macro_rules! outlined_unaligned {
    ($outlined:ident, $slow:ident, $kind:ident $size:tt) => {
        core::arch::global_asm!(
            ".text",
            ".p2align 4",
            concat!(".globl ", stringify!($outlined)),
            concat!(".type ", stringify!($outlined), ",@function"),
            concat!(stringify!($outlined), ":"),
            ".cfi_startproc",
            "push rax",
            ".cfi_adjust_cfa_offset 8",
            "push rcx",
            ".cfi_adjust_cfa_offset 8",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]",
            $crate::locate::find_location!("9f"),
            // The last words of a page: the next one is elsewhere.
            "cmp eax, {last}",
            "jae 7f",
            "mov r11, qword ptr fs:[r11 + {epoch}]",
            // Most are in words of which all is known.
            $crate::unaligned::is_all!($kind "0" "1f"),
            "jmp 2f",
            "1:",
            $crate::unaligned::all_behind!($kind $size),
            "2:",
            "push rdx",
            ".cfi_adjust_cfa_offset 8",
            "push rsi",
            ".cfi_adjust_cfa_offset 8",
            "mov rdx, rcx",
            "mov ecx, edi",
            "and ecx, 7",
            "mov eax, ((1 << {size}) - 1) << 8",
            "shl eax, cl",
            $crate::unaligned::next_word!($kind "0" "8"),
            $crate::unaligned::parts_behind!($kind $size),
            "5:",
            ".cfi_remember_state",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "pop rdx",
            ".cfi_adjust_cfa_offset -8",
            "4:",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "pop rax",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            ".cfi_restore_state",
            "6:",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "pop rdx",
            ".cfi_adjust_cfa_offset -8",
            "jmp 7f",
            "9:",
            $crate::put_off::is_seen!($kind $size),
            "7:",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "pop rax",
            ".cfi_adjust_cfa_offset -8",
            concat!("jmp ", stringify!($slow)),
            ".cfi_endproc",
            concat!(".size ", stringify!($outlined), ", .-", stringify!($outlined)),
            size = const $size,
            last = const (engine::shadow::PAGE_WORDS - $size / 9 - 1) * 16,
            page_shift = const abi::hot::PAGE_SHIFT,
            cache = const core::mem::offset_of!(abi::hot::Block, cache),
            cache_mask = const abi::hot::CACHE - 1,
            epoch = const core::mem::offset_of!(abi::hot::Block, epoch),
            word_mask = const (engine::shadow::PAGE_WORDS - 1) * 16,
            bytes_shift = const engine::shadow::Asked::BYTES_SHIFT,
            seen = const abi::hot::SEEN.trailing_zeros(),
            seen_page = const core::mem::offset_of!(engine::shadow::Seen, page),
            written = const core::mem::offset_of!(engine::shadow::Seen, written),
            seen_bytes = const ((1_u64 << $size) - 1) as u32 as i32,
        );
    };
}

pub(crate) use {all_behind, bit_of, is_all, is_in, next_word, parts_behind};

macro_rules! checks {
    ($($name:ident $slow:ident $outlined:ident $inner:ident $kind:ident $size:tt;)*) => {$(
        extern "C" fn $inner(address: *const u8, pc: usize) {
            few(AccessKind::$kind, address, $size, pc);
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: *const u8) {
            $inner(address, caller!());
        }
        // As a range in all but that its size is that of the place.
        word_stub!($slow, $inner, $inner, Any 0, $size);
        outlined_unaligned!($outlined, $slow, $kind $size);
    )*};
}

checks! {
    __footrace_read_unaligned2 __footrace_read_unaligned2_slow __footrace_read_unaligned2_outlined read2 Read 2;
    __footrace_read_unaligned4 __footrace_read_unaligned4_slow __footrace_read_unaligned4_outlined read4 Read 4;
    __footrace_read_unaligned8 __footrace_read_unaligned8_slow __footrace_read_unaligned8_outlined read8 Read 8;
    __footrace_read_unaligned16 __footrace_read_unaligned16_slow __footrace_read_unaligned16_outlined read16 Read 16;
    __footrace_write_unaligned2 __footrace_write_unaligned2_slow __footrace_write_unaligned2_outlined write2 Write 2;
    __footrace_write_unaligned4 __footrace_write_unaligned4_slow __footrace_write_unaligned4_outlined write4 Write 4;
    __footrace_write_unaligned8 __footrace_write_unaligned8_slow __footrace_write_unaligned8_outlined write8 Write 8;
    __footrace_write_unaligned16 __footrace_write_unaligned16_slow __footrace_write_unaligned16_outlined write16 Write 16;
}

#[cfg(test)]
mod tests {
    use crate::stub::tests::random;
    use crate::tls;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use engine::FastTrack;
    use engine::detector::{Access, Detector, SyncOp};
    use engine::shadow::Asked;
    use event::{AccessKind, Addr, Site, SyncId, Tid};

    /// The address that came through; 0 if none did.
    static THROUGH: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn footrace_test_unaligned_went_on(address: *const u8) {
        THROUGH.store(address as usize, Ordering::Relaxed);
    }

    core::arch::global_asm!(
        ".globl footrace_test_unaligned_through",
        "footrace_test_unaligned_through:",
        "jmp {on}",
        on = sym footrace_test_unaligned_went_on,
    );

    macro_rules! outlined_checks {
        ($($name:ident $kind:ident $size:tt;)*) => {
            $(outlined_unaligned!($name, footrace_test_unaligned_through, $kind $size);)*
            unsafe extern "C" {$(
                fn $name(address: *const u8);
            )*}
            const CHECKS: &[(AccessKind, u32, unsafe extern "C" fn(*const u8))] =
                &[$((AccessKind::$kind, $size, $name),)*];
        };
    }

    outlined_checks! {
        footrace_test_read_unaligned2 Read 2;
        footrace_test_read_unaligned4 Read 4;
        footrace_test_read_unaligned8 Read 8;
        footrace_test_read_unaligned16 Read 16;
        footrace_test_write_unaligned2 Write 2;
        footrace_test_write_unaligned4 Write 4;
        footrace_test_write_unaligned8 Write 8;
        footrace_test_write_unaligned16 Write 16;
    }

    /// What of an access is in one word.
    #[derive(Clone, Copy)]
    struct Part {
        at: usize,
        size: u32,
    }

    fn parts(at: usize, size: u32) -> impl Iterator<Item = Part> {
        let end = at + size as usize;
        let words = (at / 8..end.div_ceil(8)).map(|word| 8 * word);
        words.map(move |word| Part {
            at: word.max(at),
            size: ((word + 8).min(end) - word.max(at)) as u32,
        })
    }

    /// The outlined checks let through what [`Location::gives`](engine::shadow::Location::gives) does not know of some part, of each size at each place of words that
    /// two threads read and write in several epochs; and what might be in two pages.
    #[test]
    fn what_is_redundant_does_not_come_through() {
        let mut random = random(13);
        let detector = FastTrack::default();
        let mut me = detector.root(Tid(1));
        let mut other = detector.fork(&mut me, Tid(2), &mut |_| {});
        // The last words of a page and the first of the next, somewhere in the middle of the cache.
        let (base, words) = ((6 << 40) + 4096 * 700 - 8 * 6, 8);
        let own = tls::own();
        let mut said = [[0; 2]; CHECKS.len()];
        for _ in 0..100_000 {
            match random(150) {
                0 => detector.alloc(&mut me, Addr(base), 8, words, Site(1), &mut |_| {}),
                1..4 => detector.sync(&mut me, SyncOp::Release(SyncId(1)), &mut |_| {}),
                _ => {}
            }
            let which = random(CHECKS.len() as u64) as usize;
            let (kind, size, check) = CHECKS[which];
            let addr = base + random(8 * words - u64::from(size) + 1);
            let access = |part: Part| Access {
                kind,
                addr: Addr(part.at as u64),
                size: part.size,
                site: Site(2),
            };
            if random(8) == 0 {
                for part in parts(addr as usize, size) {
                    detector.access(&mut other, access(part), &mut |_| {});
                }
                continue;
            }
            let location = |addr: usize| detector.shadow().split_location(Addr(addr as u64));
            let all = || parts(addr as usize, size).map(|part| (part, location(part.at)));
            if all().all(|(_, location)| location.is_some()) {
                for (part, location) in all() {
                    own.remember(part.at, location.expect("it is there"));
                }
                let epoch = me.clock.epoch();
                own.epoch.store(epoch.bits(), Ordering::Relaxed);
                THROUGH.store(0, Ordering::Relaxed);
                // SAFETY: looks at no memory of the address but at its shadow, which is there.
                unsafe { check(addr as *const u8) };
                let through = THROUGH.load(Ordering::Relaxed);
                let last = addr + u64::from(8 * size.div_ceil(8));
                let one_page = addr / 4096 == last / 4096;
                let known = all().all(|(part, location)| {
                    let asked = Asked::within(kind, part.at, part.size);
                    location.is_some_and(|location| location.gives(epoch, asked))
                });
                let expected = if one_page && known { 0 } else { addr as usize };
                assert_eq!(through, expected, "{kind:?} {size} {addr:x}");
                said[which][usize::from(through == 0)] += 1;
            }
            for part in parts(addr as usize, size) {
                detector.access(&mut me, access(part), &mut |_| {});
            }
        }
        own.epoch.store(0, Ordering::Relaxed);
        assert!(said.iter().flatten().all(|&times| times >= 20), "{said:?}");
    }
}
