//! How a stub records an access to a field: where the location has [fields](engine::shadow::Rooms) of just that size, of which this thread was the last to access one.
//!
//! ```text
//! number of the site     as for a step                                                                        runtime::step
//! the field              by the first cell of the location and the origins of its pool                        engine::shadow::Rooms
//! what it becomes        FastTrack's rule for ordered accesses: the last write and the last read               Fields::touch
//! the hint               the access, with the bytes of the one before if that was of the epoch                 outside::hint
//! ```
//!
//! **Contract.** As [a step](crate::step): what [`engine::shadow::Location::touch`] would make of the location, counted, or nothing. Nothing is done if an access is not noted as ordered, or if another thread
//! accessed the location last: then the thread has to remember the state besides, which is left to the engine.
//!
//! **Why that is one step.** The location is locked, as by anybody who touches fields. So a fork has to wait, as it does for who is inside; who comes in while somebody forks does nothing.
//!
//! **What is recorded already** in the epoch is seen without the lock: the hint says it of one field, the field itself of each. Its last write, or its last read if this is one, is then the thread's own, of
//! this epoch. If the first cell is the same before and after, the room was the location's in between, for a room that changes hands gets another life; and what the thread recorded in its epoch is redundant for as long as it
//! stands there. So nothing is written, as in the inlined test.

/// Goes to `63:` if the first cell of a location, in rax, says that there are fields of the size of the access; else behind. Leaves in r11 where the block is.
macro_rules! has_fields {
    ($kind:ident 1) => { $crate::field::has_fields!(@test) };
    ($kind:ident 2) => { $crate::field::has_fields!(@test) };
    ($kind:ident 4) => { $crate::field::has_fields!(@test) };
    ($kind:ident $size:tt) => { "" };
    (@test) => {
        concat!(
            "mov r11d, eax\n",
            "shl r11d, 32 - {fields_bits}\n",
            "cmp r11d, {fields_tag} << (32 - {fields_bits})\n",
            "jne 64f\n",
            "mov r11, rax\n",
            "shr r11, {which_shift}\n",
            "and r11d, 3\n",
            "cmp r11d, {which}\n",
            "je 63f\n",
            "64:\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
        )
    };
}

/// An access that the field remembers, at `rdx + $at`, in rax: is ordered, or there is none, or nothing is done. Goes to `$next`, or to `$own` if it is the epoch's own.
macro_rules! meet_field {
    ($at:literal, $own:literal, $next:literal) => {
        concat!(
            "mov rax, qword ptr [rdx + ",
            $at,
            "]\n",
            "test rax, rax\n",
            "jz ",
            $next,
            "f\n",
            $crate::step::is_ordered!("rax", $own, $next),
        )
    };
}

/// Records an access at rdi in its field and returns to the program, or goes back to `64:`. It begins at `63:`; rax and rcx are pushed, rcx is the location, rax its first cell.
macro_rules! take_field {
    (Read 1) => { $crate::field::take_field!(@read "1", "", "4") };
    (Read 2) => { $crate::field::take_field!(@read "3", "test dil, 1\njnz 64b\n", "3") };
    (Read 4) => { $crate::field::take_field!(@read "15", "test dil, 3\njnz 64b\n", "2") };
    (Write 1) => { $crate::field::take_field!(@write "1", "", "4") };
    (Write 2) => { $crate::field::take_field!(@write "3", "test dil, 1\njnz 64b\n", "3") };
    (Write 4) => { $crate::field::take_field!(@write "15", "test dil, 3\njnz 64b\n", "2") };
    ($kind:ident $size:tt) => {
        "/* {fields_bits} {fields_tag} {which_shift} {which} {index_shift} {first} {depot} {origins} {room_shift} {locked} {forking} {bytes_of_cell} */\n"
    };
    (@read $bytes:literal, $aligned:literal, $shift:literal) => {
        $crate::field::take_field!(@field $bytes, $aligned, $shift, "btr rbx, 8\n", concat!(
            "mov rbx, qword ptr [rdx + 8]\n",
            "xor rbx, qword ptr fs:[r11 + {epoch}]\n",
            "shl rbx, {ordered_shift}\n",
            "jz 85f\n",
        ), concat!(
            $crate::field::meet_field!("0", "29f", "81"),
            $crate::field::meet_field!("8", "29f", "82"),
            "mov qword ptr [rdx + 8], rbx\n",
        ), "", "{read_exclusive} /* {write_exclusive} */")
    };
    (@write $bytes:literal, $aligned:literal, $shift:literal) => {
        $crate::field::take_field!(@field $bytes, $aligned, $shift, "", "", concat!(
            $crate::field::meet_field!("0", "29f", "81"),
            // The epoch's own read gives way.
            $crate::field::meet_field!("8", "82f", "82"),
            "mov qword ptr [rdx], rbx\n",
            "mov qword ptr [rdx + 8], 0\n",
        ), "bt rcx, {write_bit}\njnc 84f\n", "{write_exclusive} /* {read_exclusive} */")
    };
    (@field $bytes:literal, $aligned:literal, $shift:literal, $kind:literal, $known:expr, $touch:expr, $hint:literal, $rule:literal) => {
        concat!(
            "63:\n",
            ".cfi_remember_state\n",
            $aligned,
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "cmp qword ptr fs:[r11 + {depot}], 0\n",
            "je 64b\n",
            "push rdx\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push rbx\n",
            ".cfi_adjust_cfa_offset 8\n",
            ".cfi_rel_offset rbx, 0\n",
            // The field, in rdx.
            "mov rdx, rax\n",
            "shr rdx, {index_shift}\n",
            "mov ebx, edx\n",
            "or ebx, {first}\n",
            "bsr ebx, ebx\n",
            "shl rdx, {room_shift}\n",
            "mov r11, qword ptr fs:[r11 + {depot}]\n",
            "add rdx, qword ptr [r11 + 8 * rbx + {origins}]\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "mov ebx, edi\n",
            "and ebx, 7\n",
            "shl ebx, ", $shift, "\n",
            "add rdx, rbx\n",
            // Is it recorded already?
            "mov rbx, qword ptr [rdx]\n",
            "xor rbx, qword ptr fs:[r11 + {epoch}]\n",
            "shl rbx, {ordered_shift}\n",
            "jz 85f\n",
            $known,
            "86:\n",
            "cmp dword ptr fs:[r11 + {depth}], 0\n",
            "jne 68f\n",
            "mov dword ptr fs:[r11 + {depth}], 1\n",
            "push rsi\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push r8\n",
            ".cfi_adjust_cfa_offset 8\n",
            "push r9\n",
            ".cfi_adjust_cfa_offset 8\n",
            "mov rsi, rcx\n",
            "mov r9, rax\n",
            "cmp dword ptr [rip + {forking}], 0\n",
            "jne 67f\n",
            $crate::step::find_number!("56", "ebx", "rcx", "ecx", "67f"),
            // The access, in rbx.
            "shl rbx, {site_shift}\n",
            "or rbx, qword ptr fs:[r11 + {epoch}]\n",
            "mov ecx, edi\n",
            "and ecx, 7\n",
            "mov eax, ", $bytes, "\n",
            "shl eax, cl\n",
            "ror rbx, {bytes_shift}\n",
            "mov bl, al\n",
            $kind,
            "rol rbx, {bytes_shift}\n",
            // Was this thread the last?
            "mov rcx, qword ptr [rsi + 8]\n",
            "xor rcx, rbx\n",
            "shl rcx, {ordered_shift}\n",
            "shr rcx, {ordered_shift} + {slot_shift}\n",
            "jnz 67f\n",
            "mov rax, r9\n",
            "mov ecx, {locked}\n",
            "lock cmpxchg qword ptr [rsi], rcx\n",
            "jne 67f\n",
            $touch,
            "mov rax, qword ptr fs:[r11 + {counts}]\n",
            "inc qword ptr [rax + ", $rule, "]\n",
            // The hint.
            "mov rcx, qword ptr [rsi + 8]\n",
            "mov rax, rcx\n",
            "xor rax, rbx\n",
            "shl rax, {ordered_shift}\n",
            "jnz 84f\n",
            $hint,
            "movabs rax, {bytes_of_cell}\n",
            "and rax, rcx\n",
            "or rbx, rax\n",
            "84:\n",
            "mov qword ptr [rsi + 8], rbx\n",
            "mov qword ptr [rsi], r9\n",
            // It is not published yet.
            "mov dword ptr fs:[r11 + {idle}], 0\n",
            "mov rbx, qword ptr fs:[r11 + {used}]\n",
            "mov byte ptr [rbx], 1\n",
            ".cfi_remember_state\n",
            $crate::step::leave_step!("pop r9\n.cfi_adjust_cfa_offset -8\n"),
            "cmp dword ptr fs:[r11 + {pending}], 0\n",
            "jne 8b\n",
            "pop rcx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rax\n",
            ".cfi_adjust_cfa_offset -8\n",
            "ret\n",
            ".cfi_restore_state\n",
            "29:\n",
            "mov qword ptr [rsi], r9\n",
            "67:\n",
            "mov rcx, rsi\n",
            $crate::step::leave_step!("pop r9\n.cfi_adjust_cfa_offset -8\n"),
            "mov rax, qword ptr [rcx]\n",
            "jmp 64b\n",
            ".cfi_restore_state\n",
            // It is, if the room is still the location's.
            ".cfi_adjust_cfa_offset 16\n",
            ".cfi_rel_offset rbx, 0\n",
            "85:\n",
            ".cfi_remember_state\n",
            "cmp rax, qword ptr [rcx]\n",
            "jne 86b\n",
            "pop rbx\n",
            ".cfi_restore rbx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rdx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "jmp 4f\n",
            ".cfi_restore_state\n",
            "68:\n",
            "pop rbx\n",
            ".cfi_restore rbx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "pop rdx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "jmp 8b\n",
        )
    };
}

pub(crate) use {has_fields, meet_field, take_field};
