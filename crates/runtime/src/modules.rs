//! Which files are mapped where, as the loader tells.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};

use core::sync::atomic::{AtomicUsize, Ordering};

use report::Module;

use crate::sys;

type Callback = extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

unsafe extern "C" {
    fn dl_iterate_phdr(callback: Callback, data: *mut c_void) -> c_int;
}

/// Path of the executable.
pub fn executable() -> String {
    let mut path = [0u8; 4096];
    let args = [
        c"/proc/self/exe".as_ptr() as usize,
        path.as_mut_ptr() as usize,
        path.len(),
        0,
        0,
        0,
    ];
    // SAFETY: the kernel writes into `path` only.
    let length = unsafe { sys::syscall(libc::SYS_readlink, args) }.unwrap_or(0);
    String::from_utf8_lossy(&path[..length]).into_owned()
}

/// A number that changes whenever a module comes or goes.
pub fn changes() -> u64 {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's structure, alive during the call.
        let info = unsafe { &*info };
        // SAFETY: the `u64` of the caller below.
        let changes = unsafe { &mut *data.cast::<u64>() };
        *changes = info.dlpi_adds + (info.dlpi_subs << 32);
        1
    }
    let mut changes = 0u64;
    // SAFETY: `first` gets a pointer to `changes`.
    unsafe { dl_iterate_phdr(first, (&raw mut changes).cast()) };
    changes
}

/// All modules.
pub fn list() -> Vec<Module> {
    extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's structure, alive during the call.
        let info = unsafe { &*info };
        // SAFETY: the list of the caller below.
        let modules = unsafe { &mut *data.cast::<Vec<Module>>() };
        modules.extend(module(info));
        0
    }
    let mut modules: Vec<Module> = Vec::new();
    // SAFETY: `each` gets a pointer to the list.
    unsafe { dl_iterate_phdr(each, (&raw mut modules).cast()) };
    if let Some(first) = modules.first_mut()
        && first.path.is_empty()
    {
        first.path = executable();
    }
    modules
}

fn module(info: &libc::dl_phdr_info) -> Option<Module> {
    let (mut start, mut end, mut build_id) = (u64::MAX, 0, String::new());
    for at in 0..usize::from(info.dlpi_phnum) {
        let header = info.dlpi_phdr.wrapping_add(at);
        // SAFETY: the table has `dlpi_phnum` entries.
        let header = unsafe { &*header };
        let from = info.dlpi_addr + header.p_vaddr;
        match header.p_type {
            libc::PT_LOAD => {
                start = start.min(from);
                end = end.max(from + header.p_memsz);
            }
            libc::PT_NOTE => {
                // SAFETY: the note segment is mapped for reading as long as the module is.
                let notes = unsafe {
                    core::slice::from_raw_parts(from as *const u8, header.p_memsz as usize)
                };
                if build_id.is_empty() {
                    build_id = find_build_id(notes).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    // SAFETY: the loader's names are NUL-terminated.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) };
    (start < end).then(|| Module {
        start,
        end,
        bias: info.dlpi_addr,
        build_id,
        path: path.to_string_lossy().to_string(),
    })
}

/// The GNU build id among ELF notes.
fn find_build_id(mut notes: &[u8]) -> Option<String> {
    const GNU_BUILD_ID: u32 = 3;
    let word = |bytes: &[u8], at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    loop {
        let (name, size, kind) = (word(notes, 0)?, word(notes, 4)?, word(notes, 8)?);
        let start = 12 + (name as usize).next_multiple_of(4);
        let content = notes.get(start..start + size as usize)?;
        if kind == GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return Some(content.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = notes.get(start + (size as usize).next_multiple_of(4)..)?;
    }
}

/// How the executable's checks are placed, from its note; none if it was not instrumented.
pub fn placement() -> Option<String> {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's structure, alive during the call.
        let info = unsafe { &*info };
        // SAFETY: the option of the caller below.
        let placement = unsafe { &mut *data.cast::<Option<String>>() };
        for at in 0..usize::from(info.dlpi_phnum) {
            let header = info.dlpi_phdr.wrapping_add(at);
            // SAFETY: the table has `dlpi_phnum` entries.
            let header = unsafe { &*header };
            if header.p_type == libc::PT_NOTE && placement.is_none() {
                let start = (info.dlpi_addr + header.p_vaddr) as *const u8;
                // SAFETY: the note segment is mapped for reading.
                let notes = unsafe { core::slice::from_raw_parts(start, header.p_memsz as usize) };
                *placement = find_placement(notes);
            }
        }
        1
    }
    let mut placement: Option<String> = None;
    // SAFETY: `first` gets a pointer to `placement`.
    unsafe { dl_iterate_phdr(first, (&raw mut placement).cast()) };
    placement
}

/// The word after `placement=` in the line that begins with `footrace abi=`.
fn find_placement(notes: &[u8]) -> Option<String> {
    let line = notes.windows(13).position(|w| w == b"footrace abi=")?;
    let line = notes[line..].split(|&byte| byte == 0).next()?;
    let line = core::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    words.find_map(|word| word.strip_prefix("placement=").map(ToString::to_string))
}

/// Address ranges of modules. One thread at a time adds; anybody asks.
struct Ranges<const N: usize>([(AtomicUsize, AtomicUsize); N]);

impl<const N: usize> Ranges<N> {
    const fn new() -> Self {
        Ranges([const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; N])
    }

    /// Is `pc` in one of them? An end of 0 ends the list.
    #[inline]
    fn contain(&self, pc: usize) -> bool {
        for (start, end) in &self.0 {
            let end = end.load(Ordering::Acquire);
            if end == 0 {
                return false;
            }
            if pc < end && start.load(Ordering::Relaxed) <= pc {
                return true;
            }
        }
        false
    }

    /// Adds the range of a module, while there is room.
    fn add(&self, module: &Module) {
        let mut places = self.0.iter();
        if let Some((start, end)) = places.find(|(_, end)| end.load(Ordering::Relaxed) == 0) {
            start.store(module.start as usize, Ordering::Relaxed);
            end.store(module.end as usize, Ordering::Release);
        }
    }
}

static INSTRUMENTED: Ranges<64> = Ranges::new();

/// Is the code at `pc` in a module whose accesses are checked?
#[inline]
pub fn is_instrumented(pc: usize) -> bool {
    INSTRUMENTED.contain(pc)
}

/// Libraries that order their threads by means that only libarcher tells us of: what they do to memory of their own is
/// their business.
const SILENT: [&str; 4] = ["libomp.so", "libomp5.so", "libiomp5.so", "libarcher.so"];

static SILENT_AT: Ranges<8> = Ranges::new();

/// Is the code at `pc` in a library whose accesses mean nothing to us?
#[inline]
pub fn is_silent(pc: usize) -> bool {
    SILENT_AT.contain(pc)
}

/// Looks for such libraries among those that are loaded. Called when one thread is inside, as at start.
pub fn find_silent() {
    for module in list() {
        let name = module.path.rsplit('/').next().unwrap_or_default();
        let silent = SILENT.iter().any(|start| name.starts_with(start));
        if silent && !is_silent(module.start as usize) {
            SILENT_AT.add(&module);
        }
    }
}

/// The module that holds `address` is instrumented. Called by constructors, one at a time.
pub fn mark_instrumented(address: usize) {
    if is_instrumented(address) {
        return;
    }
    let address = address as u64;
    let mut modules = list().into_iter();
    if let Some(module) = modules.find(|m| m.start <= address && address < m.end) {
        INSTRUMENTED.add(&module);
    }
}
