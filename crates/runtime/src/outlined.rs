//! Checks whose quick test is not inlined: `_outlined`, the same test and then the `_slow` twin.
//!
//! The rule is `hot`'s, which is [`Location::gives`](engine::shadow::Location::gives) for each word, and the tests hold this to it. It is in assembler because it keeps all
//! general registers but r11, and because what is not redundant goes on to `_slow` by a jump: the address that the call returns to is the place of
//! the access. That of one word goes on behind the look-up of its location, which was made here: to `_slow_found`. Nothing is written, so a signal may come at any point.

/// Compares a difference to the epoch, in `$difference`, with what is asked for, and goes to `$to` if nothing is left of it.
macro_rules! whole_word {
    (Read $difference:literal $to:literal) => {
        concat!(
            "shl ",
            $difference,
            ", 64 - {bytes_shift} - 8\njz ",
            $to,
            "\n"
        )
    };
    (Write $difference:literal $to:literal) => {
        concat!(
            "shl ",
            $difference,
            ", 64 - {bytes_shift} - 9\njz ",
            $to,
            "\n"
        )
    };
}

/// One of several words: its cells are at `rcx + $at`. On to `$next` if it is redundant, to `7:` if not.
macro_rules! one_of_several {
    ($kind:ident $at:literal $next:literal) => {
        concat!(
            "mov rax, qword ptr [rcx + ",
            $at,
            "]\n",
            "xor rax, r11\n",
            $crate::outlined::whole_word!($kind "rax" $next),
            "mov rax, qword ptr [rcx + ",
            $at,
            " + 8]\n",
            "xor rax, r11\n",
            $crate::outlined::whole_word!($kind "rax" $next),
            "jmp 7f\n"
        )
    };
}

/// The test itself, of the word at `rcx`; r11 is the epoch. Goes to `4:` if it is redundant, else behind, or to `7:` if there are several words.
macro_rules! test_words {
    ($kind:ident 1) => { $crate::outlined::test_words!(@part $kind "1") };
    ($kind:ident 2) => { $crate::outlined::test_words!(@part $kind "3") };
    ($kind:ident 4) => { $crate::outlined::test_words!(@part $kind "15") };
    ($kind:ident 8) => {
        concat!(
            "mov rax, qword ptr [rcx]\n",
            "xor rax, r11\n",
            $crate::outlined::whole_word!($kind "rax" "4f"),
            "xor r11, qword ptr [rcx + 8]\n",
            $crate::outlined::whole_word!($kind "r11" "4f"),
        )
    };
    // Those at the end of a page may go on in the next.
    ($kind:ident 16) => {
        concat!(
            "cmp eax, {word_mask} - 16\nja 7f\n",
            $crate::outlined::one_of_several!($kind "0" "1f"), "1:\n",
            $crate::outlined::one_of_several!($kind "16" "4f"),
        )
    };
    ($kind:ident 24) => {
        concat!(
            "cmp eax, {word_mask} - 32\nja 7f\n",
            $crate::outlined::one_of_several!($kind "0" "1f"), "1:\n",
            $crate::outlined::one_of_several!($kind "16" "1f"), "1:\n",
            $crate::outlined::one_of_several!($kind "32" "4f"),
        )
    };
    ($kind:ident 32) => {
        concat!(
            "cmp eax, {word_mask} - 48\nja 7f\n",
            $crate::outlined::one_of_several!($kind "0" "1f"), "1:\n",
            $crate::outlined::one_of_several!($kind "16" "1f"), "1:\n",
            $crate::outlined::one_of_several!($kind "32" "1f"), "1:\n",
            $crate::outlined::one_of_several!($kind "48" "4f"),
        )
    };
    (@part Read $bytes:literal) => { $crate::outlined::test_words!(@bits $bytes) };
    (@part Write $bytes:literal) => { $crate::outlined::test_words!(@bits concat!("0x100 + ", $bytes)) };
    // The location is in r11 meanwhile: eight bits are turned by the last three of the address, and rcx has to have those.
    (@bits $bits:expr) => {
        concat!(
            "mov rax, qword ptr [rcx]\n",
            "xor rax, r11\n",
            "mov r11, rcx\n",
            "mov ecx, edi\n",
            $crate::outlined::is_in!($bits, "1f"),
            "1:\n",
            "mov rax, qword ptr [r11 + 8]\n",
            "mov rcx, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "xor rax, qword ptr fs:[rcx + {epoch}]\n",
            "mov ecx, edi\n",
            $crate::outlined::is_in!($bits, "2f"),
            "2:\n",
            "mov rcx, r11\n",
        )
    };
}

/// Goes to `4:` if the `$bits`, the bytes from where the access begins and the bit of a write, are in the cell of which rax is the difference to the epoch; else behind, by
/// `$no` or directly. The address is in cl.
macro_rules! is_in {
    ($bits:expr, $no:literal) => {
        concat!(
            // The difference turned around: bytes, write, site, epoch.
            "ror rax, {bytes_shift}\n",
            "ror al, cl\n",
            "test eax, ",
            $bits,
            "\n",
            "jnz ",
            $no,
            "\n",
            "shr rax, 64 - {bytes_shift}\n",
            "jz 4f\n",
        )
    };
}

/// Defines `$outlined(address)`.
macro_rules! outlined {
    ($outlined:ident, $slow:ident, $kind:ident $bytes:tt) => {
        core::arch::global_asm!(
            ".text",
            ".p2align 4",
            concat!(".globl ", stringify!($outlined)),
            concat!(".type ", stringify!($outlined), ",@function"),
            concat!(stringify!($outlined), ":"),
            // A signal handler may want to know the stack from here.
            ".cfi_startproc",
            "push rax",
            ".cfi_adjust_cfa_offset 8",
            "push rcx",
            ".cfi_adjust_cfa_offset 8",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]",
            $crate::locate::find_location!("5f"),
            "mov r11, qword ptr fs:[r11 + {epoch}]",
            $crate::outlined::test_words!($kind $bytes),
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]",
            concat!("jmp ", stringify!($slow), "_found"),
            "4:",
            ".cfi_remember_state",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "pop rax",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            ".cfi_restore_state",
            "5:",
            $crate::put_off::is_seen!($kind $bytes),
            "7:",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "pop rax",
            ".cfi_adjust_cfa_offset -8",
            concat!("jmp ", stringify!($slow)),
            ".cfi_endproc",
            concat!(".size ", stringify!($outlined), ", .-", stringify!($outlined)),
            page_shift = const abi::hot::PAGE_SHIFT,
            cache = const core::mem::offset_of!(abi::hot::Block, cache),
            cache_mask = const abi::hot::CACHE - 1,
            epoch = const core::mem::offset_of!(abi::hot::Block, epoch),
            word_mask = const (engine::shadow::PAGE_WORDS - 1) * 16,
            bytes_shift = const engine::shadow::Asked::BYTES_SHIFT,
            seen = const abi::hot::SEEN.trailing_zeros(),
            seen_page = const core::mem::offset_of!(engine::shadow::Seen, page),
            written = const core::mem::offset_of!(engine::shadow::Seen, written),
            seen_bytes = const ((1_u64 << $bytes) - 1) as u32 as i32,
        );
    };
}

pub(crate) use {is_in, one_of_several, outlined, test_words, whole_word};

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

    extern "C" fn footrace_test_went_on(address: *const u8) {
        THROUGH.store(address as usize, Ordering::Relaxed);
    }

    macro_rules! outlined_checks {
        ($($name:ident $kind:ident $size:tt;)*) => {
            $(outlined!($name, footrace_test_through, $kind $size);)*
            unsafe extern "C" {$(
                fn $name(address: *const u8);
            )*}
            const CHECKS: &[(AccessKind, u32, unsafe extern "C" fn(*const u8))] =
                &[$((AccessKind::$kind, $size, $name),)*];
        };
    }

    core::arch::global_asm!(
        ".globl footrace_test_through_found",
        "footrace_test_through_found:",
        "pop rcx",
        "pop rax",
        ".globl footrace_test_through",
        "footrace_test_through:",
        "jmp {on}",
        on = sym footrace_test_went_on,
    );

    outlined_checks! {
        footrace_test_outlined_read1 Read 1;
        footrace_test_outlined_read2 Read 2;
        footrace_test_outlined_read4 Read 4;
        footrace_test_outlined_read8 Read 8;
        footrace_test_outlined_read16 Read 16;
        footrace_test_outlined_read24 Read 24;
        footrace_test_outlined_read32 Read 32;
        footrace_test_outlined_write1 Write 1;
        footrace_test_outlined_write2 Write 2;
        footrace_test_outlined_write4 Write 4;
        footrace_test_outlined_write8 Write 8;
        footrace_test_outlined_write16 Write 16;
        footrace_test_outlined_write24 Write 24;
        footrace_test_outlined_write32 Write 32;
    }

    /// The outlined checks let through what [`Location::gives`](engine::shadow::Location::gives) does not know, of each size at each place of
    /// words that two threads read and write in several epochs; at the end of a page, too.
    #[test]
    fn what_is_redundant_does_not_come_through() {
        let mut random = random(11);
        let detector = FastTrack::default();
        let mut me = detector.root(Tid(1));
        let mut other = detector.fork(&mut me, Tid(2), &mut |_| {});
        // The last words of a page and the first of the next, somewhere in the middle of the cache.
        let (base, words) = ((6 << 40) + 4096 * 700 - 8 * 4, 6);
        let own = tls::own();
        let mut said = [[0; 2]; 14];
        for _ in 0..60_000 {
            match random(60) {
                0 => detector.alloc(&mut me, Addr(base), 8, words, Site(1), &mut |_| {}),
                1..4 => detector.sync(&mut me, SyncOp::Release(SyncId(1)), &mut |_| {}),
                _ => {}
            }
            let which = random(CHECKS.len() as u64) as usize;
            let (kind, size, check) = CHECKS[which];
            let within = random(8) / u64::from(size) * u64::from(size);
            let addr = base + 8 * random(words - u64::from(size.div_ceil(8)) + 1) + within;
            let access = Access {
                kind,
                addr: Addr(addr),
                size,
                site: Site(2),
            };
            if random(6) == 0 {
                detector.access(&mut other, access, &mut |_| {});
                continue;
            }
            let location = |addr: u64| detector.shadow().split_location(Addr(addr));
            let all = || (0..u64::from(size.div_ceil(8))).map(|word| location(addr + 8 * word));
            if all().all(|location| location.is_some()) {
                for (word, location) in (0..).zip(all()) {
                    let location = location.expect("it is there");
                    own.remember((addr + 8 * word) as usize, location);
                }
                let epoch = me.clock.epoch();
                own.epoch.store(epoch.bits(), Ordering::Relaxed);
                THROUGH.store(0, Ordering::Relaxed);
                // SAFETY: looks at no memory of the address but at its shadow, which is there.
                unsafe { check(addr as *const u8) };
                let through = THROUGH.load(Ordering::Relaxed);
                let asked = match size {
                    1..=8 => Asked::within(kind, addr as usize, size),
                    _ => Asked::new(kind, 0xFF),
                };
                let one_page = addr / 4096 == (addr + u64::from(size) - 1) / 4096;
                let known = all().flatten().all(|location| location.gives(epoch, asked));
                let expected = if one_page && known { 0 } else { addr as usize };
                assert_eq!(through, expected, "{access:?}");
                said[which][usize::from(through == 0)] += 1;
            }
            detector.access(&mut me, access, &mut |_| {});
        }
        assert!(said.iter().flatten().all(|&times| times >= 20), "{said:?}");
    }
}
