//! How a stub finds the location of an access: in the cache of the inlined test, or, where the page is not there, in the table of pages, and puts it there.

use engine::shadow::Location;

/// The location of an access at rdi, in rcx, as the inlined test finds it; eax is where it is in its page, r11 where the block is. Goes to `$unknown` if the page is not in the
/// cache.
macro_rules! find_location {
    ($unknown:literal) => {
        concat!(
            "mov rax, rdi\n",
            "shr rax, {page_shift}\n",
            "mov ecx, eax\n",
            "and ecx, {cache_mask}\n",
            "shl ecx, 4\n",
            "cmp rax, qword ptr fs:[r11 + rcx + {cache}]\n",
            "jne ",
            $unknown,
            "\n",
            "mov rcx, qword ptr fs:[r11 + rcx + {cache} + 8]\n",
            "lea eax, [rdi + rdi]\n",
            "and eax, {word_mask}\n",
            "add rcx, rax\n",
        )
    };
}

/// Finds a page that is not in the cache and puts it there, for an access at rdi whose page is rax, to be in the cache at rcx, and goes to `6:`; unless the access is
/// redundant, which the inlined test could not tell. It begins at `50:`.
macro_rules! find_page {
    (Read 16) => { $crate::locate::find_page!(@none) };
    (Read 24) => { $crate::locate::find_page!(@none) };
    (Read 32) => { $crate::locate::find_page!(@none) };
    (Write 16) => { $crate::locate::find_page!(@none) };
    (Write 24) => { $crate::locate::find_page!(@none) };
    (Write 32) => { $crate::locate::find_page!(@none) };
    (Any 0) => { $crate::locate::find_page!(@none) };
    (@none) => {
        "/* {pages} {root} {fan_shift} {seen} {seen_page} {written} {seen_slot} {last} {last_size} {last_len} {last_marks} {last_most} {mark_shift} {size_of_access} {seen_renewed} {renewed} {renewed_mask} {read_put_off} {write_put_off} */\n"
    };
    ($kind:ident $size:tt) => {
        concat!(
            "49:\n",
            $crate::put_off::take_seen!($kind $size),
            "cmp qword ptr fs:[r11 + {streams}], 0\n",
            "jne 1f\n",
            "50:\n",
            ".cfi_remember_state\n",
            "cmp dword ptr fs:[r11 + {depth}], 0\n",
            "jne 8b\n",
            "mov dword ptr fs:[r11 + {depth}], 1\n",
            "push rdx\n",
            ".cfi_adjust_cfa_offset 8\n",
            "mov rdx, qword ptr fs:[r11 + {pages}]\n",
            "test rdx, rdx\n",
            "jz 59f\n",
            "mov r11, rax\n",
            "shr r11, 2 * {fan_shift}\n",
            "cmp r11, {root}\n",
            "jae 59f\n",
            "mov rdx, qword ptr [rdx + 8 * r11]\n",
            "test rdx, rdx\n",
            "jz 59f\n",
            "mov r11d, eax\n",
            "shr r11d, {fan_shift}\n",
            "and r11d, (1 << {fan_shift}) - 1\n",
            "mov rdx, qword ptr [rdx + 8 * r11]\n",
            "test rdx, rdx\n",
            "jz 59f\n",
            "mov r11d, eax\n",
            "and r11d, (1 << {fan_shift}) - 1\n",
            "mov rdx, qword ptr [rdx + 8 * r11]\n",
            "test rdx, rdx\n",
            "jz 59f\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "mov qword ptr fs:[r11 + rcx + {cache} + 8], rdx\n",
            "mov qword ptr fs:[r11 + rcx + {cache}], rax\n",
            "lea ecx, [rdi + rdi]\n",
            "and ecx, {word_mask}\n",
            "add rdx, rcx\n",
            "mov rax, qword ptr [rdx]\n",
            "xor rax, qword ptr fs:[r11 + {epoch}]\n",
            $crate::stub::is_recorded!($kind $size, "53f", "51"),
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "mov rax, qword ptr [rdx + 8]\n",
            "xor rax, qword ptr fs:[r11 + {epoch}]\n",
            $crate::stub::is_recorded!($kind $size, "53f", "52"),
            ".cfi_remember_state\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "pop rdx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "mov dword ptr fs:[r11 + {depth}], 0\n",
            "cmp dword ptr fs:[r11 + {pending}], 0\n",
            "je 6b\n",
            "jmp 8b\n",
            ".cfi_restore_state\n",
            "53:\n",
            ".cfi_remember_state\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "pop rdx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "mov dword ptr fs:[r11 + {depth}], 0\n",
            "cmp dword ptr fs:[r11 + {pending}], 0\n",
            "je 4f\n",
            "jmp 8b\n",
            ".cfi_restore_state\n",
            "59:\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "pop rdx\n",
            ".cfi_adjust_cfa_offset -8\n",
            "mov dword ptr fs:[r11 + {depth}], 0\n",
            "jmp 8b\n",
            ".cfi_restore_state\n",
        )
    };
}

// As the stubs have it.
const _: () = assert!(abi::hot::CACHE.is_power_of_two() && size_of::<abi::hot::Entry>() == 16);
const _: () = assert!(size_of::<Location>() == 16);

pub(crate) use {find_location, find_page};
