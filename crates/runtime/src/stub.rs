//! Where instrumented code comes in when its inlined test says nothing of an access.
//!
//! First an access that SlimState foresees is taken ([`engine::slimstate::StreamTable`] has the rule), in some 30 instructions and
//! three registers, without entering the runtime: one instruction changes the stream, and it finds `next` as it was or does
//! nothing, so a signal may come at any point. Who is inside the runtime already (a handler of its own fault) takes the long way, which
//! is none. All other accesses go to the runtime with the address that the call returns to.
//!
//! The checks of single words keep all general registers but r11 (LLVM's `preserve_most`): the inlined checks are in the
//! program's loops, and a call that is hardly ever made must not cost them their registers.

/// Takes a foreseen access at rdi and returns to the program, or goes on behind, with all registers but r11 as they were.
/// `$sized` compares the size, where it is not given by the place.
macro_rules! take_foreseen {
    ($sized:literal) => {
        concat!(
            "push rax\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push rcx\n",
            ".cfi_adjust_cfa_offset 8\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "mov rcx, qword ptr fs:[r11 + {streams}]\n",
            "test rcx, rcx\n",
            "jz 9f\n",
            "cmp dword ptr fs:[r11 + {depth}], 0\n",
            "jne 9f\n",
            // The slot of the place: one of two.
            "mov rax, qword ptr [rsp + 16]\n",
            "mov r11d, eax\n",
            "shl r11d, {set_shift}\n",
            "and r11d, {set_mask}\n",
            "add rcx, r11\n",
            "mov r11, qword ptr [rip + __footrace_context@GOTTPOFF]\n",
            "mov r11, qword ptr fs:[r11]\n",
            "cmp rax, qword ptr [rcx + {place}]\n",
            "jne 5f\n",
            "cmp r11, qword ptr [rcx + {context}]\n",
            "je 2f\n",
            "5:\n",
            "add rcx, {slot}\n",
            "cmp rax, qword ptr [rcx + {place}]\n",
            "jne 9f\n",
            "cmp r11, qword ptr [rcx + {context}]\n",
            "jne 9f\n",
            "2:\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "mov r11, qword ptr fs:[r11 + {disturbed_at}]\n",
            "mov eax, dword ptr [r11]\n",
            "cmp eax, dword ptr [rcx + {disturbed}]\n",
            "jne 9f\n",
            $sized,
            "mov rax, rdi\n",
            "cmp rax, qword ptr [rcx + {next}]\n",
            "jne 3f\n",
            "cmp rax, qword ptr [rcx + {end}]\n",
            "je 3f\n",
            "mov r11, qword ptr [rcx + {step}]\n",
            "add r11, rax\n",
            // Not atomic but for signals.
            "cmpxchg qword ptr [rcx + {next}], r11\n",
            "jne 9f\n",
            "mov eax, dword ptr [rcx + {grow}]\n",
            "add qword ptr [rcx + {cover}], rax\n",
            "4:\n",
            ".cfi_remember_state\n",
            "pop rcx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rax\n",
            ".cfi_adjust_cfa_offset -8\n",
            "ret\n",
            ".cfi_restore_state\n",
            "3:\n",
            "cmp rax, qword ptr [rcx + {low}]\n",
            "jb 9f\n",
            "cmp rax, qword ptr [rcx + {cover}]\n",
            "ja 9f\n",
            "inc qword ptr [rcx + {again}]\n",
            "jmp 4b\n",
            "9:\n",
            "pop rcx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rax\n",
            ".cfi_adjust_cfa_offset -8\n",
        )
    };
}

/// A function of the ABI, in assembler: the `$text` and its operands.
macro_rules! stub {
    ($slow:ident, $inner:ident, $sized:literal, $($text:literal),*) => {
        core::arch::global_asm!(
            ".text",
            ".p2align 4",
            concat!(".globl ", stringify!($slow)),
            concat!(".type ", stringify!($slow), ",@function"),
            concat!(stringify!($slow), ":"),
            ".cfi_startproc",
            $crate::stub::take_foreseen!($sized),
            $($text,)*
            ".cfi_endproc",
            concat!(".size ", stringify!($slow), ", .-", stringify!($slow)),
            inner = sym $inner,
            depth = const core::mem::offset_of!(abi::hot::Block, depth),
            streams = const core::mem::offset_of!(abi::hot::Block, streams),
            disturbed_at = const core::mem::offset_of!(abi::hot::Block, disturbed),
            set_shift = const engine::slimstate::StreamTable::SET_SHIFT,
            set_mask = const engine::slimstate::StreamTable::SET_MASK,
            slot = const engine::slimstate::StreamTable::SLOT,
            place = const engine::slimstate::StreamTable::PLACE,
            context = const engine::slimstate::StreamTable::CONTEXT,
            disturbed = const engine::slimstate::StreamTable::DISTURBED,
            next = const engine::slimstate::StreamTable::NEXT,
            step = const engine::slimstate::StreamTable::STEP,
            end = const engine::slimstate::StreamTable::END,
            low = const engine::slimstate::StreamTable::LOW,
            cover = const engine::slimstate::StreamTable::COVER,
            grow = const engine::slimstate::StreamTable::GROW,
            again = const engine::slimstate::StreamTable::AGAIN,
            size = const engine::slimstate::StreamTable::SIZE,
        );
    };
}

/// Defines `$slow(address)`, which calls `$inner(address, return address)` if the access is not foreseen.
macro_rules! word_stub {
    ($slow:ident, $inner:ident) => {
        $crate::stub::stub!(
            $slow,
            $inner,
            "/* {size}: one place has one */\n",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "push rax",
            "push rcx",
            "push rdx",
            "push rsi",
            "push rdi",
            "push r8",
            "push r9",
            "push r10",
            "mov rsi, [rbp + 8]",
            "call {inner}",
            "pop r10",
            "pop r9",
            "pop r8",
            "pop rdi",
            "pop rsi",
            "pop rdx",
            "pop rcx",
            "pop rax",
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            "ret"
        );
    };
}

/// Defines `$slow(address, bytes)`, an ordinary function, which calls `$inner(address, bytes, return address)` if the access
/// is not foreseen.
macro_rules! range_stub {
    ($slow:ident, $inner:ident) => {
        $crate::stub::stub!(
            $slow,
            $inner,
            "cmp rsi, qword ptr [rcx + {size}]\njne 9f\n",
            "mov rdx, qword ptr [rsp]",
            "jmp {inner}"
        );
    };
}

pub(crate) use {range_stub, stub, take_foreseen, word_stub};

#[cfg(test)]
mod tests {
    use crate::tls;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use engine::detector::{Access, Counters, Detector};
    use engine::slimstate::{PlaceKey, SlimState, SlimThread, Strided};
    use event::{AccessKind, Addr, Site, SyncId, Tid};

    /// Where the access came from that the stub did not take; 0 if it took it.
    static MISSED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn missed(_: *const u8, pc: usize) {
        MISSED.store(pc, Ordering::Relaxed);
    }
    extern "C" fn missed_range(_: *const u8, _: u64, pc: usize) {
        MISSED.store(pc, Ordering::Relaxed);
    }
    word_stub!(footrace_test_word, missed);
    range_stub!(footrace_test_range, missed_range);
    unsafe extern "C" {
        fn footrace_test_word(address: *const u8);
        fn footrace_test_range(address: *const u8, bytes: u64);
    }

    /// One place in the program. Says whence, unless the access is done.
    #[inline(never)]
    fn at_one_place(address: u64, size: u64, ranges: bool) -> Option<usize> {
        MISSED.store(0, Ordering::Relaxed);
        if ranges {
            // SAFETY: looks at no memory of the address.
            unsafe { footrace_test_range(address as *const u8, size) };
        } else {
            // SAFETY: looks at no memory of the address.
            unsafe { footrace_test_word(address as *const u8) };
        }
        Some(MISSED.load(Ordering::Relaxed)).filter(|&pc| pc != 0)
    }

    fn foreseen(thread: &SlimThread<Strided>) -> u64 {
        let mut count = 0;
        thread.each(&mut |name, n| count += if name.ends_with("foreseen") { n } else { 0 });
        count
    }

    /// The stub and [`SlimState::take`] say the same of every access, over loops that go up, down, in strides, again, from
    /// two contexts, in two sizes, over disturbances and synchronisations.
    #[test]
    fn the_stub_is_the_rule() {
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let detectors = [SlimState::default(), SlimState::default()];
        let mut threads = detectors.each_ref().map(|d| d.root(Tid(1)));
        let base = 1 << 40;
        let own = tls::own();
        let disturbed = core::ptr::from_ref(detectors[0].disturbed()).cast_mut();
        own.disturbed.store(disturbed, Ordering::Relaxed);
        let streams = threads[0].streams().cast_mut().cast();
        own.streams.store(streams, Ordering::Relaxed);
        let (mut taken, mut missed) = (0, 0);
        for round in 0..3000 {
            if round % 5 == 0 {
                // No partition is compressed for long that sees such loops.
                for (d, t) in detectors.iter().zip(&mut threads) {
                    d.alloc(t, Addr(base), 8, 4096, Site(1), &mut |_| {});
                }
            }
            let context = 7 + random(2);
            tls::set_context(context);
            let ranges = random(2) == 0;
            let size = if ranges { 8 << random(2) } else { 8 };
            let kind = if ranges {
                AccessKind::Write
            } else {
                AccessKind::Read
            };
            let step = [8, 16, 24, 8u64.wrapping_neg()][random(4) as usize];
            let mut addr = base + 8 * (1000 + random(2000));
            for _ in 0..random(60) {
                let [first, second] = &mut threads;
                let whence = at_one_place(addr, size, ranges);
                // Which place it is, only a miss tells; a place of the other detector's own will do.
                let key = PlaceKey::new(if ranges { 800 } else { 1600 }, context);
                let rule = detectors[1].take(second, key, Addr(addr), size);
                assert_eq!(whence.is_none(), rule, "round {round}, {addr:#x}");
                taken += u32::from(rule);
                if let Some(pc) = whence {
                    missed += 1;
                    let access = Access {
                        kind,
                        addr: Addr(addr),
                        size: size as u32,
                        site: Site(2),
                    };
                    let own = PlaceKey::new(pc as u64, context);
                    detectors[0].access_at(first, own, access, &mut |_| {});
                    detectors[1].access_at(second, key, access, &mut |_| {});
                }
                assert_eq!(foreseen(first), foreseen(second));
                addr = addr.wrapping_add(step);
            }
            for (d, t) in detectors.iter().zip(&mut threads) {
                match round % 7 {
                    0 => d.sync(t, engine::SyncOp::Release(SyncId(1)), &mut |_| {}),
                    1 => {
                        d.disturbed().fetch_add(1, Ordering::Relaxed);
                    }
                    _ => {}
                }
            }
        }
        own.streams.store(core::ptr::null_mut(), Ordering::Relaxed);
        tls::set_context(0);
        assert!(taken > 10_000 && missed > 1000, "{taken} {missed}");
        assert_ne!(at_one_place(base, 8, false), None);
    }
}
