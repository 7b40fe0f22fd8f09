//! How a stub records an access to a field: where the location has [fields](engine::shadow::Rooms) of just that size, of which this thread was the last to access one.
//!
//! ```text
//! number of the site     as for a step                                                                        runtime::step
//! the field              by the first cell of the location and the origins of its pool                        engine::shadow::Rooms
//! what it becomes        FastTrack's rule for ordered accesses: the last write and the last read               Fields::touch
//! the hint               the access, with the bytes of the one before if that was of the epoch                 outside::hint
//! ```
//!
//! **Contract.** As [a step](crate::step): what [`engine::shadow::Location::touch`] would make of the location, counted, or nothing. Nothing is done if an access is not noted as ordered (nor is the epoch's own: what is recorded already may be settled), or if another thread
//! accessed the location last: then the thread has to remember the state besides, which is left to the engine.
//!
//! **Why that is one step.** The location is locked, as by anybody who touches fields. So a fork has to wait, as it does for who is inside; who comes in while somebody forks does nothing.

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

/// An access that the field remembers, at `rdx + $at`, in rax: is ordered, or there is none, or nothing is done. Goes to `$next`, by way of `$own` where that finds it to be the epoch's own.
macro_rules! meet_field {
    ($at:literal, $own:expr, $next:literal) => {
        concat!(
            "mov rax, qword ptr [rdx + ",
            $at,
            "]\n",
            "test rax, rax\n",
            "jz ",
            $next,
            "f\n",
            $own,
            $crate::step::is_noted!("rax"),
            $next,
            ":\n",
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
            $crate::field::meet_field!("0", "", "81"),
            $crate::field::meet_field!("8", "", "82"),
            "mov qword ptr [rdx + 8], rbx\n",
        ), "", "{read_exclusive} /* {write_exclusive} */")
    };
    (@write $bytes:literal, $aligned:literal, $shift:literal) => {
        $crate::field::take_field!(@field $bytes, $aligned, $shift, "", concat!(
            $crate::field::meet_field!("0", "", "81"),
            // The epoch's own read gives way.
            $crate::field::meet_field!("8", "mov rcx, rax\nxor rcx, rbx\nshl rcx, {ordered_shift}\njz 82f\n", "82"),
            "mov qword ptr [rdx], rbx\n",
            "mov qword ptr [rdx + 8], 0\n",
        ), "bt rcx, {write_bit}\njnc 84f\n", "{write_exclusive} /* {read_exclusive} */")
    };
    (@field $bytes:literal, $aligned:literal, $shift:literal, $kind:literal, $touch:expr, $hint:literal, $rule:literal) => {
        concat!(
            "63:\n",
            ".cfi_remember_state\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            $aligned,
            "cmp qword ptr fs:[r11 + {streams}], 0\n",
            "jne 64b\n",
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
            "push r9\n",
            ".cfi_adjust_cfa_offset 8\n",
            "cmp dword ptr [rip + {forking}], 0\n",
            "jne 67f\n",
            "mov rsi, rcx\n",
            "mov r9, rax\n",
            $crate::step::find_number!("56", "ebx", "67f"),
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
            "mov rdx, qword ptr [rsi + 8]\n",
            "xor rdx, rbx\n",
            "shl rdx, {ordered_shift}\n",
            "shr rdx, {ordered_shift} + {slot_shift}\n",
            "jnz 67f\n",
            // The field, in rdx.
            "mov rdx, r9\n",
            "shr rdx, {index_shift}\n",
            "mov eax, edx\n",
            "or eax, {first}\n",
            "bsr eax, eax\n",
            "mov r8, qword ptr fs:[r11 + {depot}]\n",
            "shl rdx, {room_shift}\n",
            "add rdx, qword ptr [r8 + 8 * rax + {origins}]\n",
            "shl ecx, ", $shift, "\n",
            "add rdx, rcx\n",
            // Nothing is loaded ahead of a locked instruction.
            "prefetcht0 byte ptr [rdx]\n",
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
            $crate::step::leave_step!("pop r9\n.cfi_adjust_cfa_offset -8\n"),
            $crate::stub::find_location!("8b"),
            "mov rax, qword ptr [rcx]\n",
            "jmp 64b\n",
            ".cfi_restore_state\n",
        )
    };
}

pub(crate) use {has_fields, meet_field, take_field};
