//! From code and data addresses to names and lines, by the files' own debug information.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};
use report::Module;

use crate::finding::{Frame, Place};

/// A name for data.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Datum {
    start: u64,
    bytes: u64,
    name: String,
}

/// What is known of one file.
struct File {
    loader: Option<Loader>,
    /// By address.
    data: Vec<Datum>,
}

/// The files read so far; a file is read when it is first asked for.
#[derive(Default)]
pub(crate) struct Symbols {
    files: HashMap<String, Rc<File>>,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.files.keys()).finish()
    }
}

fn data_of(path: &Path) -> Vec<Datum> {
    let Ok(bytes) = std::fs::read(path) else {
        return Vec::new();
    };
    let Ok(file) = object::File::parse(&*bytes) else {
        return Vec::new();
    };
    let mut data: Vec<Datum> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0)
        .map(|symbol| Datum {
            start: symbol.address(),
            bytes: symbol.size(),
            name: demangle(symbol.name().unwrap_or_default()),
        })
        .collect();
    data.sort_by(|a, b| (a.start, &a.name).cmp(&(b.start, &b.name)));
    data.dedup();
    data
}

fn demangle(name: &str) -> String {
    // Anything else is a name as it stands; `g` would be taken for a mangled type.
    if !name.starts_with("_Z") && !name.starts_with("_R") {
        return name.to_owned();
    }
    let name = addr2line::demangle_auto(name.into(), None);
    // Rust's hash at the end of a path tells the reader nothing.
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path.to_owned()
        }
        _ => name.into_owned(),
    }
}

impl Symbols {
    fn file(&mut self, path: &str) -> Rc<File> {
        let known = self.files.entry(path.to_owned()).or_insert_with(|| {
            Rc::new(File {
                loader: Loader::new(path).ok(),
                data: data_of(Path::new(path)),
            })
        });
        Rc::clone(known)
    }

    /// The functions at a code address, innermost inlined one first.
    pub(crate) fn frames(&mut self, modules: &[Module], pc: u64) -> Vec<Frame> {
        let Some(module) = modules.iter().find(|m| m.start <= pc && pc < m.end) else {
            return vec![Frame::unknown(pc, "")];
        };
        let address = pc - module.bias;
        let file = self.file(&module.path);
        let mut frames = Vec::new();
        if let Some(loader) = &file.loader {
            if let Ok(mut found) = loader.find_frames(address) {
                while let Ok(Some(frame)) = found.next() {
                    let name = frame.function.as_ref();
                    let name = name.and_then(|name| Some(demangle(&name.raw_name().ok()?)));
                    let place = frame.location.and_then(|at| {
                        Some(Place {
                            file: at.file?.to_owned(),
                            line: at.line?,
                            column: at.column.unwrap_or(0),
                        })
                    });
                    if name.is_some() || place.is_some() {
                        frames.push(Frame {
                            pc,
                            function: name,
                            place,
                            module: module.path.clone(),
                            offset: address,
                        });
                    }
                }
            }
            if frames.is_empty()
                && let Some(symbol) = loader.find_symbol(address)
            {
                frames.push(Frame {
                    pc,
                    function: Some(demangle(symbol)),
                    place: None,
                    module: module.path.clone(),
                    offset: address,
                });
            }
        }
        if let [.., outer] = frames.as_mut_slice()
            && outer.function.is_none()
        {
            outer.function = file
                .loader
                .as_ref()
                .and_then(|loader| loader.find_symbol(address))
                .map(demangle);
        }
        if frames.is_empty() {
            let mut frame = Frame::unknown(pc, &module.path);
            frame.offset = address;
            frames.push(frame);
        }
        frames
    }

    /// The global that holds an address: name, offset in it, size.
    pub(crate) fn global(
        &mut self,
        modules: &[Module],
        address: u64,
    ) -> Option<(String, u64, u64)> {
        let module = modules
            .iter()
            .find(|m| m.start <= address && address < m.end)?;
        let address = address - module.bias;
        let file = self.file(&module.path);
        let at = file.data.partition_point(|datum| datum.start <= address);
        let datum = file.data[..at]
            .iter()
            .rev()
            .take(16)
            .find(|datum| address - datum.start < datum.bytes)?;
        Some((datum.name.clone(), address - datum.start, datum.bytes))
    }
}
