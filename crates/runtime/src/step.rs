//! How a stub records an access itself: the thread's first to the word in its epoch, where nothing but what is ordered before it has to give way.
//!
//! ```text
//! number of the site     by the key of the stack and the locks held, in the thread's own table      SiteCache
//! are they ordered?      each access that the location remembers, by what the thread has noted       engine::shadow::ordered
//! what they become       FastTrack's rule for ordered accesses, where two cells are enough           engine::shadow::Location
//! ```
//!
//! **Contract.** A stub makes the step that [`engine::shadow::Location::touch`] would make, and counts its rule, or it does nothing and the runtime is
//! called. It does nothing if the site has no number yet, if the thread records nothing now ([`abi::hot::Block::slot`]), if an access is not noted as
//! ordered, if bytes of the access are recorded already, and if sites have to be put together.
//!
//! SlimState's stubs do nothing either if some byte of the access is not in the location yet, unless the thread knows that there is no array: it may be one of a part of an array that is
//! compressed, even if its neighbours in the word are not (PREFIX may end there). What is there was recorded as a single element, which it stays as long as the block lives.
//!
//! **Why that is one step.** Both cells are compared and exchanged by one instruction, `cmpxchg16b`. Who else changes them has LOCKED in the first
//! meanwhile, which is no access, so the comparison fails; and what is compared was read before, so all that was decided by it holds. No lock is ever seen to be held by a stub.
//! The thread is inside of the runtime meanwhile, so that no handler of a signal comes between the look at the epoch and the record, which could publish the one
//! before the other is there. It need not wait for a fork: there is nothing that it could leave half done. Signals that came are delivered by the runtime, which is
//! called as if the access were still to be made, and finds it redundant.

/// Is the access in `$cell`, which is there, ordered before the thread's, rbx, as it has noted? Goes to `$ordered`, which is behind, or to `$own` if it is of the same epoch. If not, there is no step. As [`engine::shadow::ordered::is_noted`] has it, and
/// what the thread did itself is; uses rcx and r8.
macro_rules! is_ordered {
    ($cell:literal, $own:literal, $ordered:literal) => {
        concat!(
            "mov rcx, ",
            $cell,
            "\n",
            "xor rcx, rbx\n",
            "shl rcx, {ordered_shift}\n",
            "jz ",
            $own,
            "\n",
            "shr rcx, {ordered_shift} + {slot_shift}\n",
            "jz ",
            $ordered,
            "f\n",
            "mov r8, ",
            $cell,
            "\n",
            "shl r8, {ordered_shift}\n",
            "mov rcx, r8\n",
            "shr rcx, {ordered_shift} + {slot_shift}\n",
            "and ecx, {ordered_mask}\n",
            "mov rcx, qword ptr fs:[r11 + 8 * rcx + {ordered}]\n",
            "sub rcx, r8\n",
            "shr rcx, {ordered_shift} + {slot_shift}\n",
            "jnz 29f\n",
            $ordered,
            ":\n",
        )
    };
}

/// Does what the location remembers, rax and rdx, have all bytes of the access, which is at rdi, or is its word known to be in no array ([`engine::slimstate::PlainTable`] has
/// the rule)? If not, SlimState makes no step. Uses rcx and r8; `$missing` leaves a bit of rcx, or the flag, for bytes that are not there.
macro_rules! is_covered {
    ($missing:literal) => {
        concat!(
            "cmp qword ptr fs:[r11 + {streams}], 0\n",
            "je 40f\n",
            "mov rcx, rax\n",
            "or rcx, rdx\n",
            $missing,
            "jz 40f\n",
            "mov r8, rdi\n",
            "shr r8, {page_shift}\n",
            "mov ecx, r8d\n",
            "and ecx, dword ptr fs:[r11 + {plain_mask}]\n",
            "shl ecx, {plain_shift}\n",
            "add rcx, qword ptr fs:[r11 + {plain}]\n",
            "and r8d, {versions_mask}\n",
            "shl r8d, 2\n",
            "add r8, qword ptr fs:[r11 + {disturbed_at}]\n",
            "mov r8d, dword ptr [r8 + {versions}]\n",
            "cmp r8d, dword ptr [rcx + {plain_version}]\n",
            "jne 29f\n",
            "mov r8, rdi\n",
            "sub r8, qword ptr [rcx + {plain_from}]\n",
            "mov ecx, dword ptr [rcx + {plain_len}]\n",
            "cmp r8, rcx\n",
            "jae 29f\n",
            "40:\n",
        )
    };
}

/// A cell that a write of the whole word meets, which does not survive it: the epoch's own read of the word, or ordered.
macro_rules! overwrite_whole {
    ($cell:literal, $else:literal, $done:literal) => {
        concat!(
            "mov rcx, ",
            $cell,
            "\n",
            "xor rcx, rbx\n",
            // The carry is whether one of them reads.
            "shl rcx, 64 - {write_bit}\n",
            "jnz ",
            $else,
            "f\n",
            "jnc 29f\n",
            "jmp ",
            $done,
            "f\n",
            $else,
            ":\n",
            $crate::step::is_ordered!($cell, "29f", $done),
        )
    };
}

/// What is left in `$left` of `$cell` when the access rbx has taken the bytes of r9 from it. `$survives` goes to `$keep` if it stays as it is, `$same` and `$own` are for what the
/// thread itself has recorded in the epoch.
macro_rules! meet_part {
    ($cell:literal, $left:literal, $survives:expr, $same:literal, $own:expr, $ordered:literal, $take:literal, $keep:literal) => {
        concat!(
            "mov ",
            $left,
            ", ",
            $cell,
            "\n",
            "test ",
            $cell,
            ", r9\n",
            "jz ",
            $keep,
            "f\n",
            $crate::step::is_ordered!($cell, $same, $ordered),
            $survives,
            $take,
            ":\n",
            "mov rcx, r9\n",
            "not rcx\n",
            "and ",
            $left,
            ", rcx\n",
            "mov rcx, ",
            $left,
            "\n",
            "shr rcx, {bytes_shift}\n",
            "test cl, cl\n",
            "jnz ",
            $keep,
            "f\n",
            "xor ",
            $left,
            ", ",
            $left,
            "\n",
            $own,
            $keep,
            ":\n",
        )
    };
}

/// The number of the site, by its key ([`crate::site::key`]), in `$register`; the return address is at `rsp + $at`, and r11 is where the block is. Goes to `$unknown` if the thread does not know it. Uses rax
/// and `$at_entry`, of which `$low` is the lower half.
macro_rules! find_number {
    ($at:expr, $register:literal, $at_entry:literal, $low:literal, $unknown:literal) => {
        concat!(
            "mov rax, qword ptr [rip + __footrace_context@GOTTPOFF]\n",
            "mov rax, qword ptr fs:[rax]\n",
            "xor rax, qword ptr fs:[r11 + {locks}]\n",
            "xor rax, qword ptr [rsp + ",
            $at,
            "]\n",
            "or rax, 1\n",
            "mov ",
            $low,
            ", eax\n",
            "shl ",
            $low,
            ", {key_shift}\n",
            "and ",
            $at_entry,
            ", qword ptr fs:[r11 + {sites_mask}]\n",
            "add ",
            $at_entry,
            ", qword ptr fs:[r11 + {sites}]\n",
            "cmp rax, qword ptr [",
            $at_entry,
            "]\n",
            "jne ",
            $unknown,
            "\n",
            "mov eax, dword ptr fs:[r11 + {slot}]\n",
            "cmp eax, dword ptr [",
            $at_entry,
            " + {known_slot}]\n",
            "jne ",
            $unknown,
            "\n",
            "mov ",
            $register,
            ", dword ptr [",
            $at_entry,
            " + {number}]\n",
        )
    };
}

/// Gives back the registers of a step, and is outside of the runtime again.
macro_rules! leave_step {
    ($pop:literal) => {
        concat!(
            $pop,
            "pop r8\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rsi\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rbx\n",
            ".cfi_restore rbx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rdx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "mov dword ptr fs:[r11 + {depth}], 0\n",
        )
    };
}

/// Makes the step for an access at rdi to the location at rcx, whose first cell is in rax and inline, and returns to the program, or goes
/// back to `8:`. It begins at `20:`; rax and rcx are pushed, r11 is where the block is.
macro_rules! take_step {
    (Read 1) => { $crate::step::take_step!(@read "1") };
    (Read 2) => { $crate::step::take_step!(@read "3") };
    (Read 4) => { $crate::step::take_step!(@read "15") };
    (Write 1) => { $crate::step::take_step!(@write "1") };
    (Write 2) => { $crate::step::take_step!(@write "3") };
    (Write 4) => { $crate::step::take_step!(@write "15") };
    (Write 8) => {
        $crate::step::take_step!(@step 0, "", "", concat!(
            "test dil, 7\n",
            "jnz 29f\n",
            $crate::step::is_covered!("shr rcx, {bytes_shift}\ninc cl\n"),
            "test rax, rax\n",
            "jz 24f\n",
            $crate::step::overwrite_whole!("rax", "21", "22"),
            "test rdx, rdx\n",
            "jz 24f\n",
            $crate::step::overwrite_whole!("rdx", "23", "24"),
            "xor ecx, ecx\n",
        ), "{write_exclusive}", "{read_exclusive}")
    };
    (Read 8) => {
        $crate::step::take_step!(@step 0, "", "", concat!(
            "test dil, 7\n",
            "jnz 29f\n",
            $crate::step::is_covered!("shr rcx, {bytes_shift}\ninc cl\n"),
            "btr rbx, {write_bit}\n",
            "xor ecx, ecx\n",
            "test rax, rax\n",
            "jz 28f\n",
            $crate::step::is_ordered!("rax", "29f", "23"),
            "test rdx, rdx\n",
            "jz 21f\n",
            $crate::step::is_ordered!("rdx", "29f", "21"),
            // Reads are superseded, a write stays; there is no room for two.
            "xor ecx, ecx\n",
            "bt rax, {write_bit}\n",
            "jc 22f\n",
            "bt rdx, {write_bit}\n",
            "jnc 28f\n",
            "mov rcx, rbx\n",
            "mov rbx, rdx\n",
            "jmp 28f\n",
            "22:\n",
            "bt rdx, {write_bit}\n",
            "jc 29f\n",
            "mov rcx, rbx\n",
            "mov rbx, rax\n",
        ), "{read_exclusive}", "{write_exclusive}")
    };
    ($kind:ident $size:literal) => {
        "/* {pending} {locks} {key_shift} {sites_mask} {sites} {slot} {known_slot} {number} {site_shift} {counts} {used} {idle} {write_bit} \
         {ordered} {ordered_shift} {ordered_mask} {slot_shift} {read_exclusive} {write_exclusive} \
         {plain} {plain_shift} {plain_mask} {plain_from} {plain_len} {plain_version} {versions} {versions_mask} */\n"
    };
    (@read $bytes:literal) => {
        $crate::step::take_step!(@part $bytes, "btr rbx, 8\n",
            "bt rax, {write_bit}\njc 32f\n", "bt rdx, {write_bit}\njc 35f\n",
            "29f", "", "29f", "", "{read_exclusive}", "{write_exclusive}")
    };
    (@write $bytes:literal) => {
        $crate::step::take_step!(@part $bytes, "", "", "",
            // Its own read gives way.
            "31f", "jmp 32f\n31:\nbt rax, {write_bit}\njc 29f\njmp 30b\n",
            "34f", "jmp 35f\n34:\nbt rdx, {write_bit}\njc 29f\njmp 33b\n",
            "{write_exclusive}", "{read_exclusive}")
    };
    (@part $bytes:literal, $kind:literal, $first:literal, $second:literal, $same_first:literal, $own_first:literal, $same_second:literal, $own_second:literal, $rule:literal, $other:literal) => {
        $crate::step::take_step!(@step 24,
            "push r9\n.cfi_adjust_cfa_offset 8\npush r10\n.cfi_adjust_cfa_offset 8\npush rdi\n.cfi_adjust_cfa_offset 8\n",
            "pop rdi\n.cfi_adjust_cfa_offset -8\npop r10\n.cfi_adjust_cfa_offset -8\npop r9\n.cfi_adjust_cfa_offset -8\n",
            concat!(
            // The bytes, which are in the word.
            "mov ecx, edi\n",
            "and ecx, 7\n",
            "mov r9d, ", $bytes, "\n",
            "shl r9d, cl\n",
            "cmp r9d, 255\n",
            "ja 29f\n",
            "ror rbx, {bytes_shift}\n",
            "mov bl, r9b\n",
            $kind,
            "rol rbx, {bytes_shift}\n",
            "shl r9, {bytes_shift}\n",
            $crate::step::is_covered!("not rcx\ntest rcx, r9\n"),
            $crate::step::meet_part!("rax", "r10", $first, $same_first, $own_first, "39", "30", "32"),
            $crate::step::meet_part!("rdx", "rdi", $second, $same_second, $own_second, "39", "33", "35"),
            // What is left comes first.
            "test r10, r10\n",
            "jnz 36f\n",
            "mov r10, rdi\n",
            "xor edi, edi\n",
            "36:\n",
            "mov rcx, rdi\n",
            "test r10, r10\n",
            "jz 28f\n",
            // One cell for what differs in bytes only; the engine knows one for what differs in sites, too.
            "mov rcx, r10\n",
            "xor rcx, rbx\n",
            "ror rcx, {bytes_shift}\n",
            "shr rcx, 8\n",
            "jz 37f\n",
            "test rcx, -0xFFFFF\n",
            "jz 29f\n",
            "test rdi, rdi\n",
            "jz 38f\n",
            "mov rcx, rdi\n",
            "xor rcx, rbx\n",
            "ror rcx, {bytes_shift}\n",
            "shr rcx, 8\n",
            "jnz 29f\n",
            "or rbx, rdi\n",
            "38:\n",
            "mov rcx, rbx\n",
            "mov rbx, r10\n",
            "jmp 28f\n",
            "37:\n",
            "or rbx, r10\n",
            "mov rcx, rdi\n",
        ), $rule, $other)
    };
    (@step $pushed:literal, $push:literal, $pop:literal, $make:expr, $rule:literal, $other:literal) => {
        concat!(
            "19:\n",
            "cmp qword ptr fs:[r11 + {streams}], 0\n",
            "jne 1f\n",
            "20:\n",
            ".cfi_remember_state\n",
            "cmp dword ptr fs:[r11 + {depth}], 0\n",
            "jne 8b\n",
            "mov dword ptr fs:[r11 + {depth}], 1\n",
            "push rdx\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push rbx\n",
            ".cfi_adjust_cfa_offset 8\n",
            ".cfi_rel_offset rbx, 0\n",
            "push rsi\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push r8\n",
            ".cfi_adjust_cfa_offset 8\n",
            $push,
            "mov rsi, rcx\n",
            "mov r8, rax\n",
            $crate::step::find_number!(concat!("48 + ", $pushed), "ebx", "rdx", "edx", "29f"),
            // rbx is the access, a write of all bytes yet; rax and rdx are what the location remembers.
            "shl rbx, {site_shift}\n",
            "or rbx, qword ptr fs:[r11 + {epoch}]\n",
            "mov rax, r8\n",
            "mov rdx, qword ptr [rsi + 8]\n",
            $make,
            // rbx and rcx are what it will remember.
            "28:\n",
            "lock cmpxchg16b xmmword ptr [rsi]\n",
            "jne 29f\n",
            // It is not published yet.
            "mov dword ptr fs:[r11 + {idle}], 0\n",
            "mov rbx, qword ptr fs:[r11 + {used}]\n",
            "mov byte ptr [rbx], 1\n",
            "mov rbx, qword ptr fs:[r11 + {counts}]\n",
            "inc qword ptr [rbx + ", $rule, "] /* ", $other, " */\n",
            ".cfi_remember_state\n",
            $crate::step::leave_step!($pop),
            "cmp dword ptr fs:[r11 + {pending}], 0\n",
            "jne 8b\n",
            "pop rcx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rax\n",
            ".cfi_adjust_cfa_offset -8\n",
            "ret\n",
            ".cfi_restore_state\n",
            "29:\n",
            $crate::step::leave_step!($pop),
            "jmp 8b\n",
            ".cfi_restore_state\n",
        )
    };
}

pub(crate) use {
    find_number, is_covered, is_ordered, leave_step, meet_part, overwrite_whole, take_step,
};

// As the steps have it.
const _: () = assert!(engine::shadow::ordered::ORDERED == abi::hot::ORDERED);
const _: () = assert!(engine::shadow::Asked::BYTES_SHIFT + 9 == engine::shadow::Cell::SITE_SHIFT);
const _: () =
    assert!(64 - engine::shadow::ordered::ORDERED_SHIFT == engine::shadow::Asked::BYTES_SHIFT);

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use crate::site::{LockSetId, SiteCache, locks_in_key, slot_in_block};
    use crate::stub::tests::random;
    use crate::stub::word_stub;
    use crate::tls;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use engine::FastTrack;
    use engine::detector::{Access, Detector};
    use engine::precise::PreciseThread;
    use engine::shadow::{RuleName, ordered};
    use engine::slimstate::{SlimState, SlimThread, Strided};
    use event::{AccessKind, Addr, Site, SyncId, Tid};

    /// Where the access came from that the stub did not make; 0 if it did.
    static MISSED: AtomicUsize = AtomicUsize::new(0);
    /// What a stub asked for before that: location, address, number and where it came from; 0 if it did not.
    static ASKED: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

    /// A state outside, of which nothing is done.
    extern "C" fn ask(location: usize, address: usize, number: u32, pc: usize) -> bool {
        for (asked, what) in ASKED.iter().zip([location, address, number as usize, pc]) {
            asked.store(what, Ordering::Relaxed);
        }
        false
    }

    macro_rules! step_stubs {
        ($($name:ident $missed:ident $kind:ident $size:tt;)*) => {
            $(
                extern "C" fn $missed(_: *const u8, pc: usize) {
                    MISSED.store(pc, Ordering::Relaxed);
                }
                word_stub!($name, $missed, ask, $kind $size);
            )*
            unsafe extern "C" {$(
                fn $name(address: *const u8);
            )*}
            const STUBS: &[(AccessKind, u32, unsafe extern "C" fn(*const u8))] =
                &[$((AccessKind::$kind, $size, $name),)*];
        };
    }

    step_stubs! {
        footrace_step_read1 unread1 Read 1;
        footrace_step_read2 unread2 Read 2;
        footrace_step_read4 unread4 Read 4;
        footrace_step_read8 unread8 Read 8;
        footrace_step_write1 unwritten1 Write 1;
        footrace_step_write2 unwritten2 Write 2;
        footrace_step_write4 unwritten4 Write 4;
        footrace_step_write8 unwritten8 Write 8;
    }

    /// The one place in the program that all stubs are called from.
    #[inline(never)]
    fn at_one_place(stub: unsafe extern "C" fn(*const u8), addr: u64) -> usize {
        MISSED.store(0, Ordering::Relaxed);
        ASKED[0].store(0, Ordering::Relaxed);
        // SAFETY: looks at no memory of the address but at its shadow.
        unsafe { stub(addr as *const u8) };
        MISSED.load(Ordering::Relaxed)
    }

    /// Two detectors that see the same events, and their threads: the first detector's first thread is the one that has stubs.
    struct Twins {
        detectors: [FastTrack; 2],
        threads: [[PreciseThread; 4]; 2],
    }

    impl Twins {
        fn new() -> Twins {
            let detectors = [FastTrack::default(), FastTrack::default()];
            let threads = detectors.each_ref().map(|detector| {
                let mut root = detector.root(Tid(1));
                let mut fork = |tid| detector.fork(&mut root, Tid(tid), &mut |_| {});
                let (a, b, c) = (fork(2), fork(3), fork(4));
                [root, a, b, c]
            });
            Twins { detectors, threads }
        }

        fn each(&mut self, who: usize, mut f: impl FnMut(&FastTrack, &mut PreciseThread)) {
            for (detector, threads) in self.detectors.iter().zip(&mut self.threads) {
                f(detector, &mut threads[who]);
            }
        }

        fn history(&self, which: usize, addr: u64) -> Vec<(engine::shadow::Cell, bool)> {
            let shadow = self.detectors[which].shadow();
            let mut all = Vec::new();
            if let Some(location) = shadow.location(Addr(addr)) {
                location.each(shadow.depot(), |cell, atomic| all.push((cell, atomic)));
            }
            all
        }
    }

    /// Words that some threads read and write, in whole and in part, with locks or without, from some places and in some contexts: after
    /// each access that a stub makes, the location is what the engine makes of it, and so are the counts. Where there are arrays, a
    /// stub makes none to bytes that were not recorded, unless there is no array at the word.
    #[test]
    fn the_stubs_make_the_steps_of_the_engine() {
        make_steps(None, 11, 200_000);
        let arrays = SlimState::default();
        let thread = arrays.root(Tid(1));
        // Stubs make fewer of them.
        make_steps(Some((arrays, thread)), 12, 300_000);
    }

    fn make_steps(mut arrays: Option<(SlimState, SlimThread<Strided>)>, seed: u64, rounds: u64) {
        let mut random = random(seed);
        let mut twins = Twins::new();
        let (base, words) = (6 << 40, 8);
        let own = tls::own();
        let mut sites = SiteCache::new();
        SiteCache::show(Some(&sites), own);
        if let Some((arrays, thread)) = &arrays {
            let streams = thread.streams().cast_mut();
            own.streams.store(streams, Ordering::Relaxed);
            crate::streams::show_plain(own, thread);
            let versions = arrays.versions().table().cast_mut();
            own.disturbed.store(versions, Ordering::Relaxed);
        }
        let mut fresh = 0;
        ordered::clear(&own.ordered);
        let settled = core::ptr::from_ref(twins.threads[0][0].memo.settled()).cast_mut();
        own.settled.store(settled.cast(), Ordering::Relaxed);
        let counts = twins.threads[0][0].counts.entries().as_ptr();
        own.counts.store(counts.cast_mut(), Ordering::Relaxed);
        let root = twins.detectors[0].shadow().split_root();
        own.pages.store(root.cast_mut(), Ordering::Relaxed);
        if arrays.is_none() {
            let depot = core::ptr::from_ref(twins.detectors[0].shadow().depot());
            own.depot.store(depot.cast_mut().cast(), Ordering::Relaxed);
        }
        // Split pages only.
        for word in 0..words {
            for i in 0..40 {
                let access = Access {
                    kind: AccessKind::Write,
                    addr: Addr(base + 8 * ((word * 61 + i * 7) % 512)),
                    size: 8,
                    site: Site(1),
                };
                twins.each(0, |d, t| d.access(t, access, &mut |_| {}));
            }
        }
        let split = |twins: &Twins, addr| {
            let split = |d: &FastTrack| d.shadow().split_location(Addr(addr)).is_some();
            twins.detectors.iter().all(split)
        };
        assert!(split(&twins, base), "so many single words split a page");
        // All words are on one page; another detector's shadow of it may be in the cache.
        let forget = |own: &tls::Block| {
            let page = (base >> abi::hot::PAGE_SHIFT) as usize;
            let entry = &own.cache[page % abi::hot::CACHE];
            entry.page.store(usize::MAX, Ordering::Relaxed);
        };
        forget(own);
        let mut taken = [[0; 9]; 2];
        let mut fields = [[0; 9]; 2];
        let mut missed = 0;
        let mut outside = 0;
        let mut recorded = 0;
        for round in 0..rounds {
            match random(30) {
                0 => {
                    let lock = SyncId(1 + random(2));
                    let who = random(4) as usize;
                    twins.each(who, |d, t| {
                        d.sync(t, engine::SyncOp::Acquire(lock), &mut |_| {});
                    });
                    twins.each(who, |d, t| {
                        d.sync(t, engine::SyncOp::Release(lock), &mut |_| {});
                    });
                }
                1 => {
                    let addr = Addr(base + 8 * random(words));
                    twins.each(0, |d, t| d.alloc(t, addr, 8, 1, Site(1), &mut |_| {}));
                }
                2 if random(8) == 0 => {
                    // Everybody knows everything.
                    for _ in 0..2 {
                        for who in 0..4 {
                            let lock = SyncId(1);
                            twins.each(who, |d, t| {
                                d.sync(t, engine::SyncOp::Acquire(lock), &mut |_| {});
                            });
                            twins.each(who, |d, t| {
                                d.sync(t, engine::SyncOp::Release(lock), &mut |_| {});
                            });
                        }
                    }
                }
                _ => {}
            }
            // Some words have no small fields.
            let word = random(words);
            let least = [4, 4, 2, 2, 1, 1, 1, 1][word as usize];
            let stubs = || STUBS.iter().filter(|(_, size, _)| *size >= least);
            let which = random(stubs().count() as u64) as usize;
            let &(kind, size, stub) = stubs().nth(which).expect("one of them");
            let size = u64::from(size);
            let addr = base + 8 * word + random(8) / size * size;
            let context = 5 + random(2);
            let locks = LockSetId(random(2) as u32);
            tls::set_context(context);
            let access = Access {
                kind,
                addr: Addr(addr),
                size: size as u32,
                site: Site(2 + context as u32 * 2 + locks.0),
            };
            if random(4) == 0 {
                let who = 1 + random(3) as usize;
                twins.each(who, |d, t| d.access(t, access, &mut |_| {}));
                continue;
            }
            let [first, _] = &mut twins.threads;
            let me = &mut first[0];
            own.epoch.store(me.clock.epoch().bits(), Ordering::Relaxed);
            let slot = me.clock.numbering().map_or(0, slot_in_block);
            own.slot.store(slot, Ordering::Relaxed);
            let used = core::ptr::from_ref(me.clock.used()).cast_mut();
            own.used.store(used, Ordering::Relaxed);
            own.idle.store(1, Ordering::Relaxed);
            ordered::note_own(&own.ordered, &me.clock);
            own.locks.store(locks_in_key(locks), Ordering::Relaxed);
            if random(16) == 0 {
                // Not in the cache: the stub has to find it.
                forget(own);
            }
            if let Some((arrays, thread)) = &mut arrays {
                match random(80) {
                    // An array of two words that comes again and again: what was known of the page is so no more.
                    0 => arrays.alloc(thread, Addr(base + 32), 1, 16, Site(1), &mut |_| {}),
                    1..10 => drop(arrays.by_word(thread, Addr(addr))),
                    _ => {}
                }
            }
            let before = twins.history(0, addr);
            let pc = at_one_place(stub, addr);
            let done = pc == 0;
            assert_eq!(own.depth.load(Ordering::Relaxed), 0);
            let [first, second] = &mut twins.threads;
            let (me, other) = (&mut first[0], &mut second[0]);
            let asked = engine::shadow::Asked::within(kind, addr as usize, size as u32);
            let mut races = 0;
            let detector = &twins.detectors[1];
            let redundant = detector
                .shadow()
                .split_location(Addr(addr))
                .is_some_and(|location| {
                    location.is_known(other.memo.settled(), other.clock.epoch(), asked)
                });
            let mask = (((1u32 << size) - 1) << (addr % 8)) as u8;
            let is_it = |cell: &engine::shadow::Cell| cell.answers(me.clock.epoch(), kind, mask);
            if done && !redundant && before.iter().any(|(cell, _)| is_it(cell)) {
                // In a field that the hint does not tell of: nothing was done, and the engine would tell by the hint.
                assert_eq!(before, twins.history(0, addr));
                recorded += 1;
                continue;
            }
            detector.access(other, access, &mut |_| races += 1);
            if done {
                if redundant {
                    // Neither counts it nor does anything.
                    me.counts.add(RuleName::same_epoch(kind));
                } else {
                    taken[kind as usize][size as usize] += 1;
                    // More than two are not in the location itself.
                    fields[kind as usize][size as usize] += u32::from(before.len() > 2);
                    assert!(me.clock.used().load(Ordering::Relaxed));
                    assert_eq!(own.idle.load(Ordering::Relaxed), 0);
                }
                assert_eq!(races, 0, "round {round}: {access:?} {before:?}");
                let bytes = before.iter().fold(0, |all, (cell, _)| all | cell.mask());
                let missing = mask & !bytes;
                if let Some((arrays, thread)) = &mut arrays
                    && missing != 0
                {
                    fresh += 1;
                    let plain = arrays.by_word(thread, Addr(addr)).is_some();
                    assert!(plain, "{access:?} {before:?}");
                }
            } else {
                missed += 1;
                let detector = &twins.detectors[0];
                if let Some(location) = detector.shadow().split_location(Addr(addr)) {
                    ordered::note(&own.ordered, &me.clock, location);
                }
                detector.access(me, access, &mut |_| races -= 1);
                assert_eq!(races, 0, "round {round}: {access:?} {before:?}");
                let (_, number) = me.clock.stamp(detector.order().slots(), access.site);
                let [location, rest @ ..] = ASKED.each_ref().map(|it| it.load(Ordering::Relaxed));
                if location != 0 {
                    outside += 1;
                    let expected = detector.shadow().split_location(Addr(addr));
                    let expected = expected.map(|it| &raw const *it as usize);
                    assert_eq!(Some(location), expected);
                    assert_eq!(rest, [addr as usize, number as usize, pc]);
                }
                other
                    .clock
                    .stamp(twins.detectors[1].order().slots(), access.site);
                if let Some(slot) = me.clock.numbering() {
                    sites.remember(context, pc, locks, access.site);
                    sites.set_number(context, pc, locks, slot, number);
                }
            }
            let counts = |t: &PreciseThread| {
                let entries = t.counts.entries().iter();
                let all: Vec<u64> = entries.map(|n| n.load(Ordering::Relaxed)).collect();
                all
            };
            let [first, second] = &twins.threads;
            assert_eq!(
                counts(&first[0]),
                counts(&second[0]),
                "round {round}: {access:?}"
            );
            let (ours, theirs) = (twins.history(0, addr), twins.history(1, addr));
            assert_eq!(ours, theirs, "round {round}: {access:?} on {before:?}");
        }
        assert_eq!(recorded > 100, arrays.is_none(), "{recorded}");
        assert_eq!(fresh > 1000, arrays.is_some(), "{fresh}");
        assert_eq!(outside > 1000, arrays.is_none(), "{outside}");
        own.streams.store(core::ptr::null_mut(), Ordering::Relaxed);
        own.slot.store(0, Ordering::Relaxed);
        own.used.store(core::ptr::null_mut(), Ordering::Relaxed);
        own.pages.store(core::ptr::null_mut(), Ordering::Relaxed);
        own.depot.store(core::ptr::null_mut(), Ordering::Relaxed);
        let nothing = core::ptr::from_ref(&engine::shadow::NOTHING).cast_mut();
        own.settled.store(nothing.cast(), Ordering::Relaxed);
        SiteCache::show(None, own);
        tls::set_context(0);
        for sizes in fields {
            for size in [1, 2, 4] {
                assert_eq!(sizes[size] > 100, arrays.is_none(), "{fields:?}");
            }
        }
        for sizes in taken {
            for size in [1, 2, 4, 8] {
                assert!(sizes[size] > 300, "{taken:?} {missed}");
            }
        }
    }
}
