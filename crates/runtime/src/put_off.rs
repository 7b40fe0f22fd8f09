//! Accesses to pages on which checks wait until the thread synchronises ([`engine::shadow::Seen`]).
//!
//! ```text
//! entry = cache[page % 4096]               entry.page == page + SEEN ?
//! entry.seen.page == page ?                it may be another page's by now
//! bytes of the word in seen.read?          or in seen.written, for a write: then it is redundant
//! ```
//!
//! The stubs of single words ask that where the inlined test found nothing. What is not redundant has the number of its site looked up, as for [a state outside](crate::outside), and is put off by the
//! engine ([`Shadow::mark`]).

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
        $crate::put_off::take_seen!(@all $bytes, $aligned, "[rcx + rax]", "{last}", "", "{read_put_off} /* {write_put_off} */")
    };
    (@write $bytes:literal, $aligned:literal) => {
        $crate::put_off::take_seen!(@all $bytes, $aligned, "[rcx + rax + {written}]", "{last} + {last_size}",
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
            "cmp rax, qword ptr [rcx + {seen_page}]\n",
            "jne 8b\n",
            "mov eax, edi\n",
            "shr eax, 3\n",
            "and eax, {word_mask} >> 4\n",
            "movzx eax, byte ptr ", $seen, "\n",
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
            "cmp rax, qword ptr [rcx + {seen_page}]\n",
            "jne 48f\n",
            "mov eax, edi\n",
            "and eax, (1 << {page_shift}) - 1\n",
            "cmp eax, (1 << {page_shift}) - {seen_last}\n",
            "ja 48f\n",
            "shr eax, 3\n",
            // 64 bits, of which seven may be before the first.
            "mov rax, qword ptr [rcx + rax", $from, "]\n",
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
