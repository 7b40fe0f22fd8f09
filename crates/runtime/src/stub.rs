//! Where instrumented code comes in when its inlined test says nothing of an access.
//!
//! First a read is taken of what SlimState knows to have been written by the thread. Then, where no location has anything recorded, as in compressed arrays, an access that SlimState foresees is taken ([`engine::slimstate::StreamTable`] has the rule), in some 40 instructions and
//! three registers, without entering the runtime: one instruction changes the stream, and it finds `next` as it was or does
//! nothing, so a signal may come at any point. Who is inside the runtime already (a handler of its own fault) takes the long way, which
//! is none.
//!
//! After that an access is taken that the thread has made already in its epoch, to a location that does not say so itself because others use it
//! too ([`engine::shadow::Settled`] has the rule): some 25 instructions more that write nothing at all. An access to a location that remembers two
//! accesses or fewer is recorded here, where that is easy ([`crate::step`]); one to a location that has a state outside asks for its step ([`crate::outside`]). All other accesses go to the runtime with the address
//! that the call returns to.
//!
//! A page that is not in the cache of the inlined test is looked up and put there; its words are then asked what the inlined test could not ask.
//!
//! The checks of single words keep all general registers but r11 (LLVM's `preserve_most`): the inlined checks are in the
//! program's loops, and a call that is hardly ever made must not cost them their registers.

/// Takes a foreseen access at rdi and returns to the program, or goes on as `$unforeseen` says. It begins at `1:`; the streams are there. `$sized` compares the size, where it
/// is not given by the place.
macro_rules! take_foreseen {
    ($sized:expr, $unforeseen:expr) => {
        concat!(
            "1:\n",
            "mov rcx, qword ptr fs:[r11 + {streams}]\n",
            "cmp dword ptr fs:[r11 + {depth}], 0\n",
            "jne 9f\n",
            // The slot of the place: one of two.
            "mov rax, qword ptr [rsp + 16]\n",
            "mov r11d, eax\n",
            "shl r11d, {set_shift}\n",
            "and r11d, dword ptr [rcx + {set_mask}]\n",
            "add rcx, r11\n",
            "mov r11, qword ptr [rip + __footrace_context@GOTTPOFF]\n",
            "mov r11, qword ptr fs:[r11]\n",
            "cmp rax, qword ptr [rcx + {place}]\n",
            "jne 5f\n",
            "cmp r11, qword ptr [rcx + {context}]\n",
            "je 2f\n",
            "5:\n",
            "add rcx, {stream}\n",
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
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            $unforeseen,
        )
    };
}

/// Where an access that is not foreseen goes on: back to `6:`, if it came from there. One to a word was asked for its location before: it is recorded nowhere, or the page is not in
/// the cache.
macro_rules! unforeseen {
    (Read 16) => {
        "jmp 6b\n"
    };
    (Read 24) => {
        "jmp 6b\n"
    };
    (Read 32) => {
        "jmp 6b\n"
    };
    (Write 16) => {
        "jmp 6b\n"
    };
    (Write 24) => {
        "jmp 6b\n"
    };
    (Write 32) => {
        "jmp 6b\n"
    };
    (Any 0) => {
        "jmp 6b\n"
    };
    ($kind:ident $size:tt) => {
        concat!(
            $crate::locate::find_location!("50b"),
            "mov rax, qword ptr [rcx]\n",
            "test rax, rax\n",
            "jz 20b\n",
            "jmp 6b\n",
        )
    };
}

/// What comes first: wide accesses and ranges may be foreseen.
macro_rules! begin {
    (Read 16) => { $crate::stub::begin!(@wide) };
    (Read 24) => { $crate::stub::begin!(@wide) };
    (Read 32) => { $crate::stub::begin!(@wide) };
    (Write 16) => { $crate::stub::begin!(@wide) };
    (Write 24) => { $crate::stub::begin!(@wide) };
    (Write 32) => { $crate::stub::begin!(@wide) };
    (Any 0) => { $crate::stub::begin!(@wide) };
    (@wide) => {
        concat!(
            "cmp qword ptr fs:[r11 + {streams}], 0\n",
            "jne 1f\n",
        )
    };
    ($kind:ident $size:tt) => { "" };
}

/// Takes a read at rdi of what the thread has written of late ([`engine::slimstate::StreamTable`] has the rule), before anything else. rax is pushed, r11 is where the block is.
macro_rules! take_written {
    (Read 1) => { $crate::stub::take_written!(@word "1") };
    (Read 2) => { $crate::stub::take_written!(@word "2") };
    (Read 4) => { $crate::stub::take_written!(@word "4") };
    (Read 8) => { $crate::stub::take_written!(@word "8") };
    ($kind:ident $size:tt) => { "/* {window} */\n" };
    (@word $size:literal) => {
        concat!(
            "mov rax, qword ptr fs:[r11 + {window}]\n",
            "test rax, rax\n",
            "jz 70f\n",
            "cmp rdi, qword ptr [rax + {low}]\n",
            "jb 70f\n",
            "cmp rdi, qword ptr [rax + {cover}]\n",
            "ja 70f\n",
            "cmp qword ptr [rax + {size}], ", $size, "\n",
            "jb 70f\n",
            "mov r11, qword ptr fs:[r11 + {disturbed_at}]\n",
            "mov r11d, dword ptr [r11]\n",
            "cmp r11d, dword ptr [rax + {disturbed}]\n",
            "jne 71f\n",
            "inc qword ptr [rax + {again}]\n",
            ".cfi_remember_state\n",
            "pop rax\n",
            ".cfi_adjust_cfa_offset -8\n",
            "ret\n",
            ".cfi_restore_state\n",
            "71:\n",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]\n",
            "70:\n",
        )
    };
}

/// Goes to `$yes` if the bytes at rdi are recorded in the cell of which rax is the difference to the epoch, else behind, by `$no` or
/// directly. Uses rcx and r11.
macro_rules! is_recorded {
    (Read 1, $yes:literal, $no:literal) => { $crate::stub::is_recorded!(@part "", "1", $yes, $no) };
    (Read 2, $yes:literal, $no:literal) => { $crate::stub::is_recorded!(@part "", "3", $yes, $no) };
    (Read 4, $yes:literal, $no:literal) => { $crate::stub::is_recorded!(@part "", "15", $yes, $no) };
    (Write 1, $yes:literal, $no:literal) => { $crate::stub::is_recorded!(@part concat!("bt eax, 8\njc ", $no, "f\n"), "1", $yes, $no) };
    (Write 2, $yes:literal, $no:literal) => { $crate::stub::is_recorded!(@part concat!("bt eax, 8\njc ", $no, "f\n"), "3", $yes, $no) };
    (Write 4, $yes:literal, $no:literal) => { $crate::stub::is_recorded!(@part concat!("bt eax, 8\njc ", $no, "f\n"), "15", $yes, $no) };
    // Slot, time and all bytes, for a write with its bit, are the low bits: no other counts.
    (Read 8, $yes:literal, $no:literal) => {
        concat!("shl rax, 64 - {bytes_shift} - 8\njz ", $yes, "\n", $no, ":\n")
    };
    (Write 8, $yes:literal, $no:literal) => {
        concat!("shl rax, 64 - {bytes_shift} - 9\njz ", $yes, "\n", $no, ":\n")
    };
    // The difference turned around: bytes, write, site, epoch.
    (@part $write:expr, $bytes:literal, $yes:literal, $no:literal) => {
        concat!(
            "ror rax, {bytes_shift}\n",
            "mov r11, rax\n",
            "shr r11, 64 - {bytes_shift}\n",
            "jnz ", $no, "f\n",
            $write,
            "mov ecx, edi\n",
            "and ecx, 7\n",
            "shr eax, cl\n",
            "test al, ", $bytes, "\n",
            "jz ", $yes, "\n",
            $no, ":\n",
        )
    };
}

/// Takes an access at rdi that is settled by `4:`, or goes on by `60:` or behind `8:`. Wide accesses and ranges are looked at elsewhere.
macro_rules! take_settled {
    (Read 16) => { $crate::stub::take_settled!(@none) };
    (Read 24) => { $crate::stub::take_settled!(@none) };
    (Read 32) => { $crate::stub::take_settled!(@none) };
    (Write 16) => { $crate::stub::take_settled!(@none) };
    (Write 24) => { $crate::stub::take_settled!(@none) };
    (Write 32) => { $crate::stub::take_settled!(@none) };
    (Any 0) => { $crate::stub::take_settled!(@none) };
    (@none) => {
        "/* {page_shift} {cache} {cache_mask} {word_mask} {state_shift} {state_mask} {settled} {access} {epoch} {bytes_shift} {inline} */\n"
    };
    ($kind:ident $size:tt) => {
        concat!(
            $crate::locate::find_location!("49f"),
            "65:\n",
            "mov rax, qword ptr [rcx]\n",
            // Two accesses, or none: to be recorded.
            "test eax, {inline}\n",
            "jnz 20f\n",
            "test rax, rax\n",
            "jz 19f\n",
            $crate::field::has_fields!($kind $size),
            // The entry of its state.
            "mov rcx, rax\n",
            "shr rax, {state_shift}\n",
            "and eax, {state_mask}\n",
            "add rax, qword ptr fs:[r11 + {settled}]\n",
            "cmp rcx, qword ptr [rax]\n",
            "jne 7f\n",
            "mov rax, qword ptr [rax + {access}]\n",
            "xor rax, qword ptr fs:[r11 + {epoch}]\n",
            $crate::stub::is_recorded!($kind $size, "4f", "7"),
            "jmp 60f\n",
            "8:\n",
        )
    };
}

/// Where one goes on whose location is known. There is nothing to be asked of several words at once.
macro_rules! found {
    (Read 16) => {
        ""
    };
    (Read 24) => {
        ""
    };
    (Read 32) => {
        ""
    };
    (Write 16) => {
        ""
    };
    (Write 24) => {
        ""
    };
    (Write 32) => {
        ""
    };
    (Any 0) => {
        ""
    };
    ($kind:ident $size:tt) => {
        "jmp 65b"
    };
}

/// Compares the size of a stream. One place has one, but for accesses to several words: these may be checked word by word, and then its stream is one of words.
macro_rules! sized {
    (16) => { $crate::stub::sized!(@compare "16") };
    (24) => { $crate::stub::sized!(@compare "24") };
    (32) => { $crate::stub::sized!(@compare "32") };
    (@compare $size:literal) => { concat!("cmp qword ptr [rcx + {size}], ", $size, "\njne 9f\n") };
    ($size:tt) => { "/* {size} */\n" };
}

/// A function of the ABI, in assembler: the `$text` and its operands.
macro_rules! stub {
    ($slow:ident, $inner:ident, $outside:ident, $kind:ident $bytes:tt, $sized:expr, $($text:literal),*) => {
        core::arch::global_asm!(
            ".text",
            ".p2align 4",
            concat!(".globl ", stringify!($slow)),
            concat!(".type ", stringify!($slow), ",@function"),
            concat!(stringify!($slow), ":"),
            ".cfi_startproc",
            "push rax",
            ".cfi_adjust_cfa_offset 8",
            "mov r11, qword ptr [rip + __footrace_tls@GOTTPOFF]",
            // Nothing that a thread does can race if it is alone.
            "cmp dword ptr fs:[r11 + {alone}], 0",
            "jne 72f",
            $crate::stub::take_written!($kind $bytes),
            "push rcx",
            ".cfi_adjust_cfa_offset 8",
            // The program will access it next, and what is done until then waits for the shadow.
            "prefetcht0 byte ptr [rdi]",
            $crate::stub::begin!($kind $bytes),
            // rax and rcx are pushed; r11 is where the block is.
            "6:",
            $crate::stub::take_settled!($kind $bytes),
            ".cfi_remember_state",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "pop rax",
            ".cfi_adjust_cfa_offset -8",
            $($text,)*
            ".cfi_restore_state",
            $crate::step::take_step!($kind $bytes),
            $crate::field::take_field!($kind $bytes),
            $crate::outside::take_outside!($kind $bytes),
            $crate::locate::find_page!($kind $bytes),
            $crate::stub::take_foreseen!($sized, $crate::stub::unforeseen!($kind $bytes)),
            // From the outlined test: the location is in rcx, and all else is as at `6:`.
            concat!(".globl ", stringify!($slow), "_found"),
            concat!(".hidden ", stringify!($slow), "_found"),
            concat!(stringify!($slow), "_found:"),
            "cmp dword ptr fs:[r11 + {alone}], 0",
            "jne 73f",
            "cmp qword ptr fs:[r11 + {streams}], 0",
            "jne 74f",
            "prefetcht0 byte ptr [rdi]",
            $crate::stub::found!($kind $bytes),
            "74:",
            ".cfi_remember_state",
            "pop rcx",
            ".cfi_adjust_cfa_offset -8",
            "pop rax",
            ".cfi_adjust_cfa_offset -8",
            concat!("jmp ", stringify!($slow)),
            ".cfi_restore_state",
            "73:",
            "pop rcx",
            "72:",
            ".cfi_def_cfa_offset 16",
            "inc qword ptr fs:[r11 + {unchecked}]",
            "pop rax",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            ".cfi_endproc",
            concat!(".size ", stringify!($slow), ", .-", stringify!($slow)),
            alone = const core::mem::offset_of!(abi::hot::Block, alone),
            unchecked = const core::mem::offset_of!(abi::hot::Block, unchecked),
            inner = sym $inner,
            outside = sym $outside,
            depth = const core::mem::offset_of!(abi::hot::Block, depth),
            streams = const core::mem::offset_of!(abi::hot::Block, streams),
            disturbed_at = const core::mem::offset_of!(abi::hot::Block, disturbed),
            window = const core::mem::offset_of!(abi::hot::Block, window),
            plain = const core::mem::offset_of!(abi::hot::Block, plain),
            plain_shift = const engine::slimstate::PlainTable::SHIFT,
            plain_mask = const core::mem::offset_of!(abi::hot::Block, plain_mask),
            plain_from = const engine::slimstate::PlainTable::FROM,
            plain_len = const engine::slimstate::PlainTable::LEN,
            plain_version = const engine::slimstate::PlainTable::VERSION,
            versions = const engine::slimstate::Versions::PAGES,
            versions_mask = const engine::slimstate::Versions::MASK,
            set_shift = const engine::slimstate::StreamTable::SET_SHIFT,
            set_mask = const engine::slimstate::StreamTable::SET_MASK,
            stream = const engine::slimstate::StreamTable::SLOT,
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
            page_shift = const abi::hot::PAGE_SHIFT,
            cache = const core::mem::offset_of!(abi::hot::Block, cache),
            cache_mask = const abi::hot::CACHE - 1,
            word_mask = const (engine::shadow::PAGE_WORDS - 1) * 16,
            state_shift = const engine::shadow::Settled::SHIFT,
            state_mask = const engine::shadow::Settled::MASK,
            settled = const core::mem::offset_of!(abi::hot::Block, settled),
            access = const engine::shadow::Settled::ACCESS,
            epoch = const core::mem::offset_of!(abi::hot::Block, epoch),
            bytes_shift = const engine::shadow::Asked::BYTES_SHIFT,
            pages = const core::mem::offset_of!(abi::hot::Block, pages),
            root = const engine::shadow::ROOT,
            seen = const abi::hot::SEEN.trailing_zeros(),
            seen_page = const core::mem::offset_of!(engine::shadow::Seen, page),
            written = const core::mem::offset_of!(engine::shadow::Seen, written),
            seen_slot = const core::mem::offset_of!(engine::shadow::Seen, slot),
            last = const core::mem::offset_of!(engine::shadow::Seen, last),
            last_size = const size_of::<engine::shadow::Last>(),
            last_len = const core::mem::offset_of!(engine::shadow::Last, len),
            last_marks = const core::mem::offset_of!(engine::shadow::Last, marks),
            last_most = const engine::shadow::Last::MOST,
            mark_shift = const engine::shadow::Mark::SITE_BITS,
            size_of_access = const $bytes,
            seen_renewed = const core::mem::offset_of!(engine::shadow::Seen, renewed),
            renewed = const core::mem::offset_of!(abi::hot::Block, renewed),
            renewed_mask = const engine::shadow::Renewed::LEN - 1,
            read_put_off = const engine::shadow::RuleName::ReadPutOff as usize * 8,
            write_put_off = const engine::shadow::RuleName::WritePutOff as usize * 8,
            fan_shift = const engine::shadow::FAN_SHIFT,
            inline = const engine::shadow::Cell::ACCESS,
            pending = const core::mem::offset_of!(abi::hot::Block, pending),
            locks = const core::mem::offset_of!(abi::hot::Block, locks),
            key_shift = const $crate::site::SiteCache::SHIFT,
            sites_mask = const core::mem::offset_of!(abi::hot::Block, sites_mask),
            sites = const core::mem::offset_of!(abi::hot::Block, sites),
            slot = const core::mem::offset_of!(abi::hot::Block, slot),
            known_slot = const $crate::site::SiteCache::SLOT,
            number = const $crate::site::SiteCache::NUMBER,
            site_shift = const engine::shadow::Cell::SITE_SHIFT,
            write_bit = const engine::shadow::Cell::SITE_SHIFT - 1,
            counts = const core::mem::offset_of!(abi::hot::Block, counts),
            used = const core::mem::offset_of!(abi::hot::Block, used),
            idle = const core::mem::offset_of!(abi::hot::Block, idle),
            ordered = const core::mem::offset_of!(abi::hot::Block, ordered),
            ordered_shift = const engine::shadow::ordered::ORDERED_SHIFT,
            ordered_mask = const engine::shadow::ordered::ORDERED - 1,
            slot_shift = const engine::shadow::Epoch::SLOT_SHIFT,
            read_exclusive = const engine::shadow::RuleName::ReadExclusive as usize * 8,
            write_exclusive = const engine::shadow::RuleName::WriteExclusive as usize * 8,
            fields_bits = const engine::shadow::Rooms::TAG_BITS,
            fields_tag = const engine::shadow::Rooms::TAG,
            which_shift = const engine::shadow::Rooms::WHICH_SHIFT,
            which = const engine::shadow::Rooms::which($bytes),
            index_shift = const engine::shadow::Rooms::INDEX_SHIFT,
            first = const engine::shadow::Rooms::FIRST,
            depot = const core::mem::offset_of!(abi::hot::Block, depot),
            origins = const engine::shadow::Rooms::origins($bytes),
            room_shift = const engine::shadow::Rooms::size_shift($bytes),
            locked = const engine::shadow::Rooms::LOCKED,
            forking = sym $crate::tls::FORKING,
            bytes_of_cell = const 0xFF_u64 << engine::shadow::Asked::BYTES_SHIFT,
        );
    };
}

/// Defines `$slow(address)`, which calls `$inner(address, return address)` if the access is neither foreseen nor settled; one to a single word calls
/// `$outside(location, address, number of its site, return address)` before that, where the location has a state outside, and is done if that says so.
macro_rules! word_stub {
    ($slow:ident, $inner:ident, $outside:ident, $kind:ident $bytes:tt) => {
        $crate::stub::word_stub!($slow, $inner, $outside, $kind $bytes, $bytes);
    };
    // As what is looked at, and how long it is.
    ($slow:ident, $inner:ident, $outside:ident, $kind:ident $bytes:tt, $size:tt) => {
        $crate::stub::stub!(
            $slow,
            $inner,
            $outside,
            $kind $bytes,
            $crate::stub::sized!($size),
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
            $inner,
            Any 0,
            "cmp rsi, qword ptr [rcx + {size}]\njne 9f\n",
            "mov rdx, qword ptr [rsp]",
            "jmp {inner}"
        );
    };
}

pub(crate) use {
    begin, found, is_recorded, range_stub, sized, stub, take_foreseen, take_settled, take_written,
    unforeseen, word_stub,
};

#[cfg(test)]
pub(crate) mod tests {
    use crate::site::SiteCache;
    use crate::tls;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use engine::FastTrack;
    use engine::detector::{Access, Counters, Detector};
    use engine::shadow::{Asked, NOTHING};
    use engine::slimstate::{PlaceKey, SlimState, SlimThread, Strided};
    use event::{AccessKind, Addr, Site, SyncId, Tid};

    /// Where the access came from that the stub did not take; 0 if it took it.
    static UNFORESEEN: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn missed(_: *const u8, pc: usize) {
        UNFORESEEN.store(pc, Ordering::Relaxed);
    }
    extern "C" fn missed_range(_: *const u8, _: u64, pc: usize) {
        UNFORESEEN.store(pc, Ordering::Relaxed);
    }
    extern "C" fn none(_: usize, _: usize, _: u32, _: usize) -> bool {
        false
    }
    word_stub!(footrace_test_word, missed, none, Read 8);
    word_stub!(footrace_test_wide, missed, none, Write 24);
    range_stub!(footrace_test_range, missed_range);
    unsafe extern "C" {
        fn footrace_test_word(address: *const u8);
        fn footrace_test_wide(address: *const u8);
        fn footrace_test_range(address: *const u8, bytes: u64);
    }

    /// One place in the program. Says whence, unless the access is done.
    #[inline(never)]
    fn at_one_place(address: u64, size: u64, ranges: bool) -> Option<usize> {
        UNFORESEEN.store(0, Ordering::Relaxed);
        if ranges {
            // SAFETY: looks at no memory of the address.
            unsafe { footrace_test_range(address as *const u8, size) };
        } else {
            // SAFETY: looks at no memory of the address.
            unsafe { footrace_test_word(address as *const u8) };
        }
        Some(UNFORESEEN.load(Ordering::Relaxed)).filter(|&pc| pc != 0)
    }

    /// Numbers below what is asked for.
    pub(crate) fn random(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        }
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
        let mut random = random(1);
        let detectors = [SlimState::default(), SlimState::default()];
        let mut threads = detectors.each_ref().map(|d| d.root(Tid(1)));
        let base = 1 << 40;
        let own = tls::own();
        let versions = detectors[0].versions().table().cast_mut();
        own.disturbed.store(versions, Ordering::Relaxed);
        crate::streams::show_plain(own, &threads[0]);
        let streams = threads[0].streams().cast_mut();
        own.streams.store(streams, Ordering::Relaxed);
        let (mut taken, mut missed, mut in_window, mut written) = (0, 0, 0, base);
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
            if ranges {
                written = addr;
            } else if random(2) == 0 {
                addr = written;
            }
            for _ in 0..random(60) {
                let [first, second] = &mut threads;
                own.window
                    .store(first.window().cast_mut(), Ordering::Relaxed);
                own.streams
                    .store(first.streams().cast_mut(), Ordering::Relaxed);
                let whence = at_one_place(addr, size, ranges);
                // Which place it is, only a miss tells; a place of the other detector's own will do.
                let key = PlaceKey::new(if ranges { 800 } else { 1600 }, context);
                let known = !ranges && detectors[1].is_written(second, Addr(addr), size);
                let rule = known || detectors[1].take(second, key, Addr(addr), size);
                in_window += u32::from(known);
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
                        let disturbances = d.versions().disturbances();
                        disturbances.fetch_add(1, Ordering::Relaxed);
                    }
                    _ => {}
                }
            }
        }
        own.streams.store(core::ptr::null_mut(), Ordering::Relaxed);
        own.window.store(core::ptr::null_mut(), Ordering::Relaxed);
        tls::set_context(0);
        assert!(in_window > 100, "{in_window}");
        assert!(taken > 10_000 && missed > 1000, "{taken} {missed}");
        assert_ne!(at_one_place(base, 8, false), None);
    }

    /// Three words at one place, which may be checked one by one: then the stream of the place is one of words, and three are not done if the first is foreseen.
    #[test]
    fn several_words_are_no_single_one() {
        #[inline(never)]
        fn three(address: u64) -> Option<usize> {
            UNFORESEEN.store(0, Ordering::Relaxed);
            // SAFETY: looks at no memory of the address.
            unsafe { footrace_test_wide(address as *const u8) };
            Some(UNFORESEEN.load(Ordering::Relaxed)).filter(|&pc| pc != 0)
        }
        let detector = SlimState::default();
        let mut thread = detector.root(Tid(1));
        let base = 1 << 40;
        detector.alloc(&mut thread, Addr(base), 8, 4096, Site(1), &mut |_| {});
        let own = tls::own();
        let versions = detector.versions().table().cast_mut();
        own.disturbed.store(versions, Ordering::Relaxed);
        crate::streams::show_plain(own, &thread);
        tls::set_context(7);
        let mut foreseen = |from: u64, size: u32| {
            let mut whence = None;
            for i in 0..3 {
                let addr = from + i * u64::from(size);
                own.streams
                    .store(thread.streams().cast_mut(), Ordering::Relaxed);
                whence = three(addr);
                let Some(pc) = whence else { break };
                let access = Access {
                    kind: AccessKind::Write,
                    addr: Addr(addr),
                    size,
                    site: Site(2),
                };
                let place = PlaceKey::new(pc as u64, 7);
                detector.access_at(&mut thread, place, access, &mut |_| {});
            }
            whence.is_none()
        };
        assert!(!foreseen(base, 8));
        assert!(foreseen(base + 800, 24));
        own.streams.store(core::ptr::null_mut(), Ordering::Relaxed);
        tls::set_context(0);
    }

    macro_rules! settled_stubs {
        ($($name:ident $missed:ident $kind:ident $size:tt;)*) => {
            $(
                extern "C" fn $missed(_: *const u8, pc: usize) {
                    UNSETTLED.store(pc, Ordering::Relaxed);
                }
                word_stub!($name, $missed, none, $kind $size);
            )*
            unsafe extern "C" {$(
                fn $name(address: *const u8);
            )*}
            const SETTLED: &[(AccessKind, u32, unsafe extern "C" fn(*const u8))] =
                &[$((AccessKind::$kind, $size, $name),)*];
        };
    }

    /// The same for accesses that are settled.
    static UNSETTLED: AtomicUsize = AtomicUsize::new(0);

    settled_stubs! {
        footrace_test_read1 missed_read1 Read 1;
        footrace_test_read2 missed_read2 Read 2;
        footrace_test_read4 missed_read4 Read 4;
        footrace_test_read8 missed_read8 Read 8;
        footrace_test_write1 missed_write1 Write 1;
        footrace_test_write2 missed_write2 Write 2;
        footrace_test_write4 missed_write4 Write 4;
        footrace_test_write8 missed_write8 Write 8;
    }

    /// The stubs and [`Location::is_settled`] say the same, of words that some threads read and write in part, of memory that is made fresh, in
    /// one epoch and the next.
    #[test]
    fn the_stubs_know_what_is_settled() {
        let mut random = random(7);
        let detector = FastTrack::default();
        let mut me = detector.root(Tid(1));
        let mut others = [2, 3, 4].map(|tid| detector.fork(&mut me, Tid(tid), &mut |_| {}));
        let (base, words) = (5 << 40, 6);
        let own = tls::own();
        // Nothing is recorded by the stubs themselves.
        SiteCache::show(None, own);
        let mut said = [[0; 2]; 2];
        for _ in 0..60_000 {
            let addr = base + 8 * random(words);
            match random(40) {
                0 => detector.alloc(&mut me, Addr(addr), 8, 1, Site(1), &mut |_| {}),
                1 => detector.sync(&mut me, engine::SyncOp::Release(SyncId(1)), &mut |_| {}),
                _ => {}
            }
            let (kind, size, stub) = SETTLED[random(SETTLED.len() as u64) as usize];
            let addr = addr + random(8) / u64::from(size) * u64::from(size);
            let access = Access {
                kind,
                addr: Addr(addr),
                size,
                site: Site(2 + random(2) as u32),
            };
            if random(3) == 0 {
                // Reads for the most part, so that many are remembered.
                let other = &mut others[random(3) as usize];
                let kind = match random(12) {
                    0 => kind,
                    _ => AccessKind::Read,
                };
                detector.access(other, Access { kind, ..access }, &mut |_| {});
                continue;
            }
            let Some(location) = detector.shadow().split_location(Addr(addr)) else {
                detector.access(&mut me, access, &mut |_| {});
                continue;
            };
            own.remember(addr as usize, location);
            let entries = core::ptr::from_ref(me.memo.settled()).cast_mut();
            own.settled.store(entries.cast(), Ordering::Relaxed);
            let epoch = me.clock.epoch();
            own.epoch.store(epoch.bits(), Ordering::Relaxed);
            UNSETTLED.store(0, Ordering::Relaxed);
            // SAFETY: looks at no memory of the address but at its shadow, which is there.
            unsafe { stub(addr as *const u8) };
            let taken = UNSETTLED.load(Ordering::Relaxed) == 0;
            let asked = Asked::within(kind, addr as usize, size);
            let rule = location.is_settled(me.memo.settled(), epoch, asked);
            assert_eq!(taken, rule, "{access:?}");
            said[kind as usize][usize::from(taken)] += 1;
            detector.access(&mut me, access, &mut |_| {});
        }
        own.settled.store(
            core::ptr::from_ref(&NOTHING).cast_mut().cast(),
            Ordering::Relaxed,
        );
        assert!(said.iter().flatten().all(|&times| times >= 10), "{said:?}");
    }
}
