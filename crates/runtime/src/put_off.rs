//! Accesses to pages on which checks wait until the thread synchronises ([`engine::shadow::Seen`]).
//!
//! ```text
//! entry = cache[page % 4096]               entry.page == page + SEEN ?
//! bytes of the word in seen.read?          or in seen.written, for a write: then it is redundant
//! entry.seen.page == page ?                it may be another page's by now, or since a moment ago
//! ```
//!
//! The stubs of single words ask that where the inlined test found nothing. What is not redundant has the number of its site looked up, as for [a step](crate::step), and is put off by the stub, or, where
//! that is not as simple, by the engine ([`Shadow::mark`]).

use engine::clock::Slot;
use engine::precise::{PreciseThread, Shadow};
use engine::shadow::{FastTrackRule, Seen};
use event::{AccessKind, Addr};

use core::sync::atomic::Ordering;

use crate::analysis::State;
use crate::tls;

/// Puts off the check of an access to some bytes, up to 64, of the page of `seen`, if the number of its site is known and they are all on the page. Returns false if nothing was done.
#[inline(always)]
pub fn mark(
    shadow: &Shadow<FastTrackRule>,
    thread: &mut PreciseThread,
    seen: &Seen,
    (kind, addr, len): (AccessKind, Addr, u64),
    number: impl FnOnce(Slot) -> Option<u32>,
) -> bool {
    if seen.has(kind, addr, len) {
        return true;
    }
    let end = addr.0 % (1 << abi::hot::PAGE_SHIFT) + len;
    let slot = thread.clock.numbering();
    if end > 1 << abi::hot::PAGE_SHIFT {
        return false;
    }
    let Some(number) = slot.and_then(number) else {
        return false;
    };
    let footprint = seen.number.load(Ordering::Relaxed) as usize;
    shadow.mark(thread, footprint, (kind, addr, len), number)
}

/// The stubs know from now on what the thread has accessed of the page that `address` is in, if checks are put off there.
pub fn remember(own: &tls::Block, state: &State, address: usize) {
    if let State::FastTrack(thread) = state
        && let Some(seen) = thread.seen(Addr(address as u64))
    {
        own.remember_seen(address, seen);
    }
}

/// Takes an access at rdi to a page whose checks are put off: returns to the program by `4:` if it is redundant or put off now, asks the engine by `61:`, or goes on to `8:`. Behind if the page is none of these. As
/// [`Seen::has`] and [`Shadow::mark`] have it, for aligned accesses. The page is in rax, where it would be in the cache in rcx, and the block at r11.
macro_rules! take_seen {
    (Read 1) => { $crate::put_off::take_seen!(@read "1", "") };
    (Read 2) => { $crate::put_off::take_seen!(@read "3", "test dil, 1\njnz 8b\n") };
    (Read 4) => { $crate::put_off::take_seen!(@read "15", "test dil, 3\njnz 8b\n") };
    (Read 8) => { $crate::put_off::take_seen!(@read "255", "test dil, 7\njnz 8b\n") };
    (Write 1) => { $crate::put_off::take_seen!(@write "1", "") };
    (Write 2) => { $crate::put_off::take_seen!(@write "3", "test dil, 1\njnz 8b\n") };
    (Write 4) => { $crate::put_off::take_seen!(@write "15", "test dil, 3\njnz 8b\n") };
    (Write 8) => { $crate::put_off::take_seen!(@write "255", "test dil, 7\njnz 8b\n") };
    (@read $bytes:literal, $aligned:literal) => {
        $crate::put_off::take_seen!(@all $bytes, $aligned, "[rcx + r11]", "{last}", "", "{read_put_off} /* {write_put_off} */")
    };
    (@write $bytes:literal, $aligned:literal) => {
        $crate::put_off::take_seen!(@all $bytes, $aligned, "[rcx + r11 + {written}]", "{last} + {last_size}",
            "or byte ptr [rdx + rax + {written}], bl\n", "{write_put_off} /* {read_put_off} */")
    };
    (@all $bytes:literal, $aligned:literal, $seen:literal, $last:literal, $mark:literal, $rule:literal) => {
        concat!(
            "bts rax, {seen}\n",
            "cmp rax, qword ptr fs:[r11 + rcx + {cache}]\n",
            "jne 48f\n",
            $aligned,
            "btr rax, {seen}\n",
            "mov rcx, qword ptr fs:[r11 + rcx + {cache} + 8]\n",
            "mov r11d, edi\n",
            "shr r11d, 3\n",
            "and r11d, {word_mask} >> 4\n",
            // What is seen before whose it is: a signal's handler that comes in between may have given it to another page.
            "movzx r11d, byte ptr ", $seen, "\n",
            "cmp rax, qword ptr [rcx + {seen_page}]\n",
            "jne 8b\n",
            "mov eax, r11d\n",
            "not eax\n",
            "mov r11, rcx\n",
            "mov ecx, edi\n",
            "ror al, cl\n",
            "test al, ", $bytes, "\n",
            "jz 4f\n",
            "mov rcx, r11\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            // It is to be put off, without a signal in between, and not while somebody else may look at it.
            "cmp dword ptr fs:[r11 + {depth}], 0\n",
            "jne 8b\n",
            ".cfi_remember_state\n",
            "mov dword ptr fs:[r11 + {depth}], 1\n",
            "push rdx\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push rbx\n",
            ".cfi_adjust_cfa_offset 8\n",
            ".cfi_rel_offset rbx, 0\n",
            "mov rdx, rcx\n",
            "cmp dword ptr [rip + {forking}], 0\n",
            "jne 47f\n",
            "mov rax, rdi\n",
            "shr rax, {page_shift}\n",
            "cmp rax, qword ptr [rdx + {seen_page}]\n",
            "jne 47f\n",
            "and eax, {renewed_mask}\n",
            "shl eax, 2\n",
            "add rax, qword ptr fs:[r11 + {renewed}]\n",
            "mov eax, dword ptr [rax]\n",
            "cmp eax, dword ptr [rdx + {seen_renewed}]\n",
            "jne 47f\n",
            $crate::step::find_number!("32", "ebx", "rcx", "ecx", "47f"),
            // The slot is still in eax.
            "cmp eax, dword ptr [rdx + {seen_slot}]\n",
            "jne 47f\n",
            // From where: `engine::shadow::Mark`.
            "mov eax, dword ptr [rdx + ", $last, " + {last_len}]\n",
            "cmp eax, {last_most}\n",
            "jae 47f\n",
            "mov ecx, edi\n",
            "and ecx, (1 << {page_shift}) - 1\n",
            "lea ecx, [rcx + rcx + {size_of_access}]\n",
            "shl ecx, {mark_shift}\n",
            "or ecx, ebx\n",
            "mov dword ptr [rdx + 4 * rax + ", $last, " + {last_marks}], ecx\n",
            "inc dword ptr [rdx + ", $last, " + {last_len}]\n",
            "mov ecx, edi\n",
            "and ecx, 7\n",
            "mov ebx, ", $bytes, "\n",
            "shl ebx, cl\n",
            "mov eax, edi\n",
            "shr eax, 3\n",
            "and eax, {word_mask} >> 4\n",
            "or byte ptr [rdx + rax], bl\n",
            $mark,
            "mov rax, qword ptr fs:[r11 + {counts}]\n",
            "inc qword ptr [rax + ", $rule, "]\n",
            // It is not published yet.
            "mov dword ptr fs:[r11 + {idle}], 0\n",
            "mov rbx, qword ptr fs:[r11 + {used}]\n",
            "mov byte ptr [rbx], 1\n",
            ".cfi_remember_state\n",
            "pop rbx\n",
            ".cfi_restore rbx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rdx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "mov dword ptr fs:[r11 + {depth}], 0\n",
            "cmp dword ptr fs:[r11 + {pending}], 0\n",
            "je 4f\n",
            "jmp 8b\n",
            ".cfi_restore_state\n",
            // By the engine: the address, and one.
            "47:\n",
            "lea rcx, [rdx + 1]\n",
            "pop rbx\n",
            ".cfi_restore rbx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rdx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "mov dword ptr fs:[r11 + {depth}], 0\n",
            "jmp 61b\n",
            ".cfi_restore_state\n",
            "48:\n",
            "btr rax, {seen}\n",
            "/* {written} {last_size} */\n",
        )
    };
}

/// For the outlined test of `$size` bytes at rdi, aligned or not, whose page is in rax, where it would be in the cache in rcx, and the block at r11: goes to `4:` if all of them are in what the thread has accessed, else behind. As
/// [`Seen::has`] has it. Uses rax, rcx and r11.
macro_rules! is_seen {
    (Read $size:tt) => { $crate::put_off::is_seen!(@test $size, "") };
    (Write $size:tt) => { $crate::put_off::is_seen!(@test $size, " + {written}") };
    (@test $size:tt, $from:literal) => {
        concat!(
            "bts rax, {seen}\n",
            "cmp rax, qword ptr fs:[r11 + rcx + {cache}]\n",
            "jne 48f\n",
            "mov rcx, qword ptr fs:[r11 + rcx + {cache} + 8]\n",
            "btr rax, {seen}\n",
            "mov r11d, edi\n",
            "and r11d, (1 << {page_shift}) - 1\n",
            "cmp r11d, (1 << {page_shift}) - 64\n",
            "ja 48f\n",
            "shr r11d, 3\n",
            // 64 bits, of which seven may be before the first; and then whose they are, see `take_seen`.
            "mov r11, qword ptr [rcx + r11", $from, "]\n",
            "cmp rax, qword ptr [rcx + {seen_page}]\n",
            "jne 48f\n",
            "mov rax, r11\n",
            "not rax\n",
            "mov ecx, edi\n",
            "and ecx, 7\n",
            "shr rax, cl\n",
            "test eax, {seen_bytes}\n",
            "jz 4b\n",
            "48:\n",
            "/* {written} */\n",
        )
    };
}

pub(crate) use {is_seen, take_seen};

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;
    use core::sync::atomic::{AtomicUsize, Ordering};

    use engine::FastTrack;
    use engine::detector::{Access, Detector, Race};
    use engine::precise::PreciseThread;
    use engine::shadow::Renewed;
    use event::{AccessKind, Addr, Site, SyncId, Tid};

    use crate::outlined::outlined;
    use crate::site::{LockSetId, SiteCache, slot_in_block};
    use crate::stub::tests::random;
    use crate::stub::word_stub;
    use crate::tls;

    /// Where the access came from that the stub did not take; 0 if it did.
    static MISSED: AtomicUsize = AtomicUsize::new(0);

    /// What the engine would put off: not here.
    extern "C" fn ask(_: usize, _: usize, _: u32, _: usize) -> bool {
        false
    }

    macro_rules! stubs {
        ($($name:ident $outlined:ident $missed:ident $kind:ident $size:tt;)*) => {
            $(
                extern "C" fn $missed(_: *const u8, pc: usize) {
                    MISSED.store(pc, Ordering::Relaxed);
                }
                word_stub!($name, $missed, ask, $kind $size);
                outlined!($outlined, $name, $kind $size);
            )*
            unsafe extern "C" {$(
                fn $outlined(address: *const u8);
            )*}
            const STUBS: &[(AccessKind, u32, unsafe extern "C" fn(*const u8))] =
                &[$((AccessKind::$kind, $size, $outlined),)*];
        };
    }

    stubs! {
        footrace_put_off_read1 footrace_put_off_read1_outlined unread1 Read 1;
        footrace_put_off_read2 footrace_put_off_read2_outlined unread2 Read 2;
        footrace_put_off_read4 footrace_put_off_read4_outlined unread4 Read 4;
        footrace_put_off_read8 footrace_put_off_read8_outlined unread8 Read 8;
        footrace_put_off_write1 footrace_put_off_write1_outlined unwritten1 Write 1;
        footrace_put_off_write2 footrace_put_off_write2_outlined unwritten2 Write 2;
        footrace_put_off_write4 footrace_put_off_write4_outlined unwritten4 Write 4;
        footrace_put_off_write8 footrace_put_off_write8_outlined unwritten8 Write 8;
    }

    /// The one place in the program that all stubs are called from. Where it was, if the stub did not take the access.
    #[inline(never)]
    fn at_one_place(stub: unsafe extern "C" fn(*const u8), addr: u64) -> usize {
        MISSED.store(0, Ordering::Relaxed);
        // SAFETY: looks at no memory of the address but at what the thread has accessed.
        unsafe { stub(addr as *const u8) };
        MISSED.load(Ordering::Relaxed)
    }

    /// A detector, two threads and the races that were found.
    struct Twin {
        detector: FastTrack,
        threads: [PreciseThread; 2],
        races: Vec<String>,
    }

    impl Twin {
        fn new() -> Twin {
            let detector = FastTrack::default().with_layers(1 << 20);
            let mut root = detector.root(Tid(1));
            let other = detector.fork(&mut root, Tid(2), &mut |_| {});
            Twin {
                detector,
                threads: [root, other],
                races: Vec::new(),
            }
        }

        fn with<T>(
            &mut self,
            who: usize,
            f: impl FnOnce(&FastTrack, &mut PreciseThread, &mut dyn FnMut(&Race)) -> T,
        ) -> T {
            let races = &mut self.races;
            f(&self.detector, &mut self.threads[who], &mut |race| {
                races.push(format!("{race:?}"));
            })
        }

        /// What the first thread has accessed of a word.
        fn seen(&self, addr: u64) -> [u8; 2] {
            let seen = self.threads[0].seen(Addr(addr));
            [AccessKind::Read, AccessKind::Write].map(|kind| {
                let has = |byte: &u64| {
                    let addr = Addr((addr & !7) + byte);
                    seen.is_some_and(|seen| seen.has(kind, addr, 1))
                };
                (0..8).filter(has).fold(0, |all, byte| all | 1 << byte)
            })
        }
    }

    /// Two threads access a page, synchronise now and then, and memory is made fresh; one of them has stubs. What these put off, or let go, is what the engine puts off
    /// and finds redundant, and the same races are found, at the same sites.
    #[test]
    fn the_stubs_put_off_what_the_engine_does() {
        let mut random = random(17);
        let mut twins = [Twin::new(), Twin::new()];
        let words = 512;
        let own = tls::own();
        let mut sites = SiteCache::new();
        SiteCache::show(Some(&sites), own);
        own.locks
            .store(crate::site::locks_in_key(LockSetId(0)), Ordering::Relaxed);
        let counts = twins[0].threads[0].counts.entries().as_ptr();
        own.counts.store(counts.cast_mut(), Ordering::Relaxed);
        let renewed = twins[0].detector.shadow().renewed();
        let renewed = renewed.map_or(core::ptr::null(), Renewed::table);
        own.renewed.store(renewed.cast_mut(), Ordering::Relaxed);
        let (mut taken, mut missed) = ([0; 2], 0);
        for round in 0..100_000 {
            // Another page from time to time: one whose bytes remember many epochs is split.
            let base = (7 << 40) + 4096 * (round / 2000);
            // Some words more often than others.
            let word = random(words) >> random(6);
            match random(200) {
                0 => {
                    let who = random(2) as usize;
                    let lock = SyncId(1 + random(2));
                    for twin in &mut twins {
                        for op in [engine::SyncOp::Acquire(lock), engine::SyncOp::Release(lock)] {
                            twin.with(who, |d, t, races| d.sync(t, op, races));
                        }
                    }
                }
                1 => {
                    let (who, addr) = (random(2) as usize, Addr(base + 8 * word));
                    for twin in &mut twins {
                        twin.with(who, |d, t, races| d.alloc(t, addr, 8, 1, Site(1), races));
                    }
                }
                _ => {}
            }
            let (kind, size, stub) = STUBS[random(STUBS.len() as u64) as usize];
            let addr = base + 8 * word + random(8) / u64::from(size) * u64::from(size);
            // The last bit of a context makes no difference.
            let context = 4 + 2 * random(3);
            tls::set_context(context);
            let access = Access {
                kind,
                addr: Addr(addr),
                size,
                site: Site(2 + context as u32),
            };
            if random(5) == 0 {
                for twin in &mut twins {
                    twin.with(1, |d, t, races| d.access(t, access, races));
                }
                continue;
            }
            let [first, second] = &mut twins;
            let clock = &first.threads[0].clock;
            own.epoch.store(clock.epoch().bits(), Ordering::Relaxed);
            let slot = clock.numbering().map_or(0, slot_in_block);
            own.slot.store(slot, Ordering::Relaxed);
            let used = core::ptr::from_ref(clock.used()).cast_mut();
            own.used.store(used, Ordering::Relaxed);
            let redundant = first.seen(addr)[kind as usize]
                & crate::entry::mask(addr as usize, size)
                == crate::entry::mask(addr as usize, size);
            let pc = at_one_place(stub, addr);
            assert_eq!(own.depth.load(Ordering::Relaxed), 0);
            if pc == 0 {
                taken[usize::from(redundant)] += 1;
                if redundant {
                    // Nothing is done; the engine looks first whether memory was made fresh.
                    continue;
                }
            } else {
                missed += 1;
                let number = first.with(0, |d, t, races| {
                    d.access(t, access, races);
                    t.clock.stamp(d.order().slots(), access.site).1
                });
                let me = &first.threads[0];
                if let Some(slot) = me.clock.numbering() {
                    sites.remember(context, pc, LockSetId(0), access.site);
                    sites.set_number(context, pc, LockSetId(0), slot, number);
                }
                if let Some(seen) = me.seen(Addr(addr)) {
                    own.remember_seen(addr as usize, seen);
                }
            }
            second.with(0, |d, t, races| {
                d.access(t, access, races);
                t.clock.stamp(d.order().slots(), access.site);
            });
            assert_eq!(first.seen(addr), second.seen(addr), "{access:?}");
        }
        own.slot.store(0, Ordering::Relaxed);
        own.used.store(core::ptr::null_mut(), Ordering::Relaxed);
        own.renewed.store(core::ptr::null_mut(), Ordering::Relaxed);
        SiteCache::show(None, own);
        tls::set_context(0);
        for twin in &mut twins {
            for who in 0..2 {
                twin.with(who, |d, t, races| d.end(t, races));
            }
        }
        let [first, second] = twins.map(|twin| twin.races);
        assert!(first.len() > 1000, "{}", first.len());
        let both = first.iter().zip(&second);
        assert_eq!(both.into_iter().find(|(ours, theirs)| ours != theirs), None);
        assert_eq!(first.len(), second.len());
        assert!(
            taken.iter().all(|&times| times > 10_000),
            "{taken:?} {missed}"
        );
    }
}
