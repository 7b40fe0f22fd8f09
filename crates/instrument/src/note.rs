//! What a module says of itself: a line of text in an ELF note, and a constructor that runs before
//! all others and hands that line to the runtime.
use crate::checks::Checks;
use crate::llvm::{Linkage, Module};
use crate::options::Placement;

const CONSTRUCTOR: &str = "footrace.module_init";

/// Adds note and constructor.
pub(crate) fn add(module: Module, checks: &mut Checks, placement: Placement) {
    let line = format!(
        "footrace abi={} placement={}",
        abi::VERSION,
        placement.name()
    );
    let (bytes, text) = elf_note(&line);
    let context = module.context();
    let value = context.bytes(&bytes);
    let note = module.add_global("footrace.note", value.kind());
    note.set_initializer(value);
    note.set_constant();
    note.set_linkage(Linkage::LLVMPrivateLinkage);
    note.set_section(abi::NOTE_SECTION);
    note.set_alignment(4);
    module.keep(note);
    let start = module.byte_address(note, text);
    let constructor = checks.constructor(CONSTRUCTOR, start);
    constructor.set_linkage(Linkage::LLVMInternalLinkage);
    module.add_first_constructor(constructor);
}

/// A note by the rules of ELF, since loaders walk every section with such a name: sizes of name
/// and content, a type, then both, each padded to 4 bytes. Returns where the text begins.
fn elf_note(line: &str) -> (Vec<u8>, u64) {
    let name = abi::NOTE_NAME.as_bytes();
    let content = line.len() + 1;
    let mut bytes = Vec::new();
    for number in [name.len() + 1, content, abi::NOTE_TYPE as usize] {
        bytes.extend(u32::try_from(number).unwrap_or(0).to_le_bytes());
    }
    let pad = |bytes: &mut Vec<u8>, part: &[u8]| {
        bytes.extend(part);
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    };
    pad(&mut bytes, name);
    let text = bytes.len() as u64;
    pad(&mut bytes, line.as_bytes());
    (bytes, text)
}
