//! How to get from a frame of the stack to its caller's: what the unwind tables say of a return address, in one word.
//!
//! ```text
//!  63               30 29 28     27          12 11           0
//! ┌───────────────────┬──┬──────┬──────────────┬──────────────┐
//! │ rest of the place │ 0│ base │ CFA          │ saved rbp    │   TABLE[place], CFA = base (rsp or rbp) + 8 * n,
//! └───────────────────┴──┴──────┴──────────────┴──────────────┘                 rbp at CFA - 8 * n (0: unchanged)
//! ```
//!
//! The unwinder of libgcc reads the tables anew for each frame, in about two thousand instructions. Nearly all code has rules of this form, so
//! what a table says is kept by return address: a frame costs a load. The place in the table and what is left of the address tell it from all others, so an entry
//! is right or absent, and one word needs no lock.
//!
//! Other rules (signal frames, a stack that was realigned by hand) are [`Rule::Unknown`]: then the whole walk is libgcc's. Where a library goes, [`forget`] is called.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Pointer, Register,
    RegisterRule, UnwindContext, UnwindContextStorage, UnwindSection, UnwindTableRow, X86_64,
};

use crate::real::Real;

/// What leads out of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// To its caller.
    Out(Out),
    /// It has none.
    Last,
    /// It is not known here.
    Unknown,
}

/// Where a frame ends, and where it has its caller's frame pointer; in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Out {
    /// The end is this far above the frame pointer, not above the stack pointer.
    by_frame_pointer: bool,
    size: u16,
    /// How far below the end; 0 if the register is unchanged.
    saved: u16,
}

/// What a frame has in its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Where it goes on when what it called returns.
    pub pc: usize,
    /// `rsp` then.
    pub sp: usize,
    /// `rbp`.
    pub fp: usize,
}

impl Out {
    /// The caller of `frame`.
    ///
    /// # Safety
    /// This is what the tables say of `frame`, which is on the stack of this thread.
    pub unsafe fn of(self, frame: Frame) -> Frame {
        let base = if self.by_frame_pointer {
            frame.fp
        } else {
            frame.sp
        };
        let end = base.wrapping_add(8 * usize::from(self.size));
        let word =
            |below: u16| core::ptr::with_exposed_provenance::<usize>(end - 8 * usize::from(below));
        // SAFETY: the caller says so: the return address is below the end of the frame.
        let pc = unsafe { word(1).read() };
        let fp = match self.saved {
            0 => frame.fp,
            // SAFETY: as above, for the register.
            below => unsafe { word(below).read() },
        };
        Frame { pc, sp: end, fp }
    }
}

const RULE_BITS: u32 = 30;
const SIZE_SHIFT: u32 = 12;
const BASE_BIT: u32 = 28;
/// Bits of what is no [`Out`].
const LAST: u64 = 1 << 29;
const UNKNOWN: u64 = LAST | 1;

impl Rule {
    fn bits(self) -> u64 {
        match self {
            Rule::Out(out) => {
                u64::from(out.by_frame_pointer) << BASE_BIT
                    | u64::from(out.size) << SIZE_SHIFT
                    | u64::from(out.saved)
            }
            Rule::Last => LAST,
            Rule::Unknown => UNKNOWN,
        }
    }

    fn from_bits(bits: u64) -> Rule {
        match bits {
            LAST => Rule::Last,
            UNKNOWN => Rule::Unknown,
            _ => Rule::Out(Out {
                by_frame_pointer: bits >> BASE_BIT & 1 != 0,
                size: (bits >> SIZE_SHIFT) as u16,
                saved: bits as u16 % (1 << SIZE_SHIFT),
            }),
        }
    }
}

const PLACE_BITS: u32 = 14;
const ADDRESS_BITS: u32 = 48;
const _: () = assert!(ADDRESS_BITS - PLACE_BITS + RULE_BITS == 64);

/// Entry 0 is none: no frame is of size 0.
static TABLE: [AtomicU64; 1 << PLACE_BITS] = [const { AtomicU64::new(0) }; 1 << PLACE_BITS];

/// The place of a return address, and what is left of it: a product with an odd number, which no two addresses share.
fn place(pc: usize) -> (usize, u64) {
    let spread = (pc as u64).wrapping_mul(0x9E37_79B9_7F4B) % (1 << ADDRESS_BITS);
    let rest = ADDRESS_BITS - PLACE_BITS;
    ((spread >> rest) as usize, spread % (1 << rest))
}

/// What leads out of a frame that goes on at `pc`, an address that a call returns to.
#[inline]
pub fn rule(pc: usize) -> Rule {
    let (place, rest) = place(pc);
    let entry = TABLE[place].load(Ordering::Relaxed);
    if entry != 0 && entry >> RULE_BITS == rest {
        return Rule::from_bits(entry % (1 << RULE_BITS));
    }
    look_up(pc)
}

#[cold]
#[inline(never)]
fn look_up(pc: usize) -> Rule {
    // It may belong to the next function already: the call comes before it.
    let rule = read(pc - 1).unwrap_or(Rule::Unknown);
    if pc >> ADDRESS_BITS == 0 {
        let (place, rest) = place(pc);
        TABLE[place].store(rest << RULE_BITS | rule.bits(), Ordering::Relaxed);
    }
    rule
}

/// Code went away; other code may take its place.
pub fn forget() {
    for entry in &TABLE {
        entry.store(0, Ordering::Relaxed);
    }
}

/// `struct dl_find_object`.
#[repr(C)]
#[derive(Debug)]
struct Object {
    flags: u64,
    start: usize,
    end: usize,
    link_map: usize,
    eh_frame_hdr: usize,
    reserved: [u64; 7],
}

static FIND: Real<unsafe extern "C" fn(*mut c_void, *mut Object) -> c_int> =
    Real::new(c"_dl_find_object");

/// Looks up what finds the tables of a library; without it, nothing is known.
pub fn resolve() {
    FIND.resolve();
}

/// The library that has code at `pc`.
fn object(pc: usize) -> Option<Object> {
    if !FIND.is_resolved() {
        return None;
    }
    let mut object = Object {
        flags: 0,
        start: 0,
        end: 0,
        link_map: 0,
        eh_frame_hdr: 0,
        reserved: [0; 7],
    };
    let at = core::ptr::with_exposed_provenance_mut(pc);
    // SAFETY: it fills the object in, or says that there is none; it takes no lock.
    let found = unsafe { (FIND.get())(at, &raw mut object) } == 0;
    (found && object.eh_frame_hdr != 0).then_some(object)
}

/// Room for what the compilers write: the registers that a callee saves, and a row or two to come back to.
struct Small;

impl UnwindContextStorage<usize> for Small {
    type Rules = [(Register, RegisterRule<usize>); 20];
    type Stack = [UnwindTableRow<usize, Small>; 4];
}

type Bytes = EndianSlice<'static, LittleEndian>;

/// What the tables say of the instruction at `pc`; nothing if there are none, or they do not make sense.
fn read(pc: usize) -> Option<Rule> {
    let object = object(pc)?;
    let bytes = |from: usize| -> Option<Bytes> {
        let len = object.end.checked_sub(from)?;
        let start = core::ptr::with_exposed_provenance(from);
        // SAFETY: the loader says that the library is there, up to its end; only what the tables name is looked at.
        let bytes = unsafe { core::slice::from_raw_parts(start, len) };
        Some(EndianSlice::new(bytes, LittleEndian))
    };
    let at = object.eh_frame_hdr;
    let bases = BaseAddresses::default().set_eh_frame_hdr(at as u64);
    let header = EhFrameHdr::from(bytes(at)?).parse(&bases, 8).ok()?;
    let Pointer::Direct(frames_at) = header.eh_frame_ptr() else {
        return None;
    };
    let bases = bases.set_eh_frame(frames_at);
    let frames = EhFrame::from(bytes(usize::try_from(frames_at).ok()?)?);
    let entry = header
        .table()?
        .fde_for_address(&frames, &bases, pc as u64, EhFrame::cie_from_offset)
        .ok()?;
    if entry.is_signal_trampoline() {
        return Some(Rule::Unknown);
    }
    let mut context = UnwindContext::<usize, Small>::new_in();
    let row = entry
        .unwind_info_for_address(&frames, &bases, &mut context, pc as u64)
        .ok()?;
    Some(rule_of(row).unwrap_or(Rule::Unknown))
}

/// A row of the tables as a rule, if it is of that form.
fn rule_of(row: &UnwindTableRow<usize, Small>) -> Option<Rule> {
    if row.register(X86_64::RA) == Some(RegisterRule::Undefined) {
        return Some(Rule::Last);
    }
    let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else {
        return None;
    };
    let by_frame_pointer = match register {
        X86_64::RBP => true,
        X86_64::RSP => false,
        _ => return None,
    };
    if row.register(X86_64::RA) != Some(RegisterRule::Offset(-8)) {
        return None;
    }
    let saved = match row.register(X86_64::RBP) {
        None | Some(RegisterRule::SameValue) => 0,
        Some(RegisterRule::Offset(offset)) => words(-offset).filter(|words| *words >= 1)?,
        Some(_) => return None,
    };
    let size = words(offset).filter(|words| *words >= 1)?;
    (saved < 1 << SIZE_SHIFT).then_some(Rule::Out(Out {
        by_frame_pointer,
        size,
        saved,
    }))
}

fn words(bytes: i64) -> Option<u16> {
    if bytes % 8 != 0 {
        return None;
    }
    u16::try_from(bytes / 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_back_from_their_bits() {
        for size in [1, 2, 300, u16::MAX] {
            for saved in [0, 1, 2, 4095] {
                for by_frame_pointer in [false, true] {
                    let rule = Rule::Out(Out {
                        by_frame_pointer,
                        size,
                        saved,
                    });
                    assert!(rule.bits() != 0 && rule.bits() < 1 << RULE_BITS);
                    assert_eq!(Rule::from_bits(rule.bits()), rule);
                }
            }
        }
        for rule in [Rule::Last, Rule::Unknown] {
            assert_eq!(Rule::from_bits(rule.bits()), rule);
        }
    }

    #[test]
    fn no_two_addresses_have_the_same_place_and_rest() {
        let mut seen = alloc::collections::BTreeSet::new();
        for page in [0x55_5555_5555_0000_usize >> 8, 0x7FFF_F7A0_0000, 0x40_0000] {
            for pc in page..page + 20_000 {
                assert!(seen.insert(place(pc)));
            }
        }
    }

    #[test]
    fn what_is_no_code_has_no_rule() {
        resolve();
        let data = 0u64;
        assert_eq!(rule(&raw const data as usize + 1), Rule::Unknown);
        assert_eq!(rule(1), Rule::Unknown);
    }
}
