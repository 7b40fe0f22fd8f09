//! From code and data addresses to names and lines, by the files' own debug information.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use addr2line::Loader;
use event::AccessKind;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use places::{Kind, Table};
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
    /// Which accesses its checks stand for.
    places: Table,
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

/// What a program says of its checks; an error if it is damaged, nothing if it has no such section.
pub(crate) fn places_of(file: &object::File<'_>) -> Result<Table, String> {
    let Some(section) = file.section_by_name(places::SECTION) else {
        return Ok(Table::default());
    };
    let bytes = section.data().map_err(|error| error.to_string())?;
    Table::read(bytes).map_err(|error| error.to_string())
}

fn data_of(file: &object::File<'_>) -> Vec<Datum> {
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

pub(crate) fn demangle(name: &str) -> String {
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
            let bytes = std::fs::read(Path::new(path)).unwrap_or_default();
            let file = object::File::parse(&*bytes).ok();
            Rc::new(File {
                loader: Loader::new(path).ok(),
                data: file.as_ref().map(data_of).unwrap_or_default(),
                // Reports are good without it.
                places: file
                    .and_then(|file| places_of(&file).ok())
                    .unwrap_or_default(),
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

    /// The places of the accesses that the check in `frame` stands for, if that is more than the place of the check.
    pub(crate) fn sources(&mut self, frame: &Frame, kind: AccessKind) -> Vec<Place> {
        let Some(place) = &frame.place else {
            return Vec::new();
        };
        let file = self.file(&frame.module);
        let kind = match kind {
            AccessKind::Read => Kind::Read,
            AccessKind::Write => Kind::Write,
        };
        let sources = file
            .places
            .sources(&place.file, place.line, place.column, kind);
        let mut sources: Vec<Place> = sources
            .map(|access| Place {
                file: file.places.text(access.place.file).to_owned(),
                line: access.place.line,
                column: access.place.column,
            })
            .collect();
        sources.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        sources.dedup();
        if sources == [place.clone()] {
            sources.clear();
        }
        sources
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
