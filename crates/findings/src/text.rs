//! A finding as the user reads it: the way rustc prints an error.

use std::collections::HashMap;
use std::fmt::Write;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Renderer, Snippet};
use event::AccessKind;
use report::Elements;

use crate::finding::{Access, Finding, Frame, Memory, Place, top};

/// Stacks are cut after this many frames; JSON has them all.
const FRAMES: usize = 32;

fn verb(access: &Access) -> &'static str {
    match (access.kind, access.atomic) {
        (AccessKind::Read, false) => "read",
        (AccessKind::Write, false) => "write",
        (AccessKind::Read, true) => "atomic read",
        (AccessKind::Write, true) => "atomic write",
    }
}

fn bytes(count: u64) -> String {
    if count == 1 {
        "1 byte".to_owned()
    } else {
        format!("{count} bytes")
    }
}

pub(crate) fn line(frame: &Frame) -> String {
    match &frame.place {
        Some(place) => format!("{} at {}", frame.name(), at(place)),
        None if frame.function.is_some() => format!("{} in {}", frame.name(), frame.module_name()),
        None => frame.name(),
    }
}

fn at(place: &Place) -> String {
    if place.column == 0 {
        format!("{}:{}", place.file, place.line)
    } else {
        format!("{}:{}:{}", place.file, place.line, place.column)
    }
}

/// A frame a line; one that follows itself, as in a recursion, is told once with how often.
fn stack(text: &mut String, frames: &[Frame]) {
    let mut told = 0;
    let mut rest = frames;
    while let Some(first) = rest.first()
        && told < FRAMES
    {
        let this = line(first);
        let times = rest.iter().take_while(|frame| line(frame) == this).count();
        let _ = write!(text, "\n    {this}");
        if times > 1 {
            let _ = write!(text, " ({times} times)");
        }
        rest = rest.get(times..).unwrap_or_default();
        told += 1;
    }
    if !rest.is_empty() {
        let _ = write!(text, "\n    … and {} more", rest.len());
    }
}

/// "elements 3, 5, … 99 of 100"
fn elements(all: Elements, offset: u64, whole: u64) -> Option<String> {
    let Elements { size, step, count } = all;
    let even = size > 0 && offset.is_multiple_of(size) && step.is_multiple_of(size);
    if !even || count < 2 {
        return None;
    }
    let index = |i: u64| (offset + i * step) / size;
    let of = whole / size;
    Some(match count {
        2 => format!("elements {} and {} of {of}", index(0), index(1)),
        3 => format!("elements {}, {}, {} of {of}", index(0), index(1), index(2)),
        _ => format!(
            "elements {}, {}, … {} of {of}",
            index(0),
            index(1),
            index(count - 1)
        ),
    })
}

/// The bytes of the race in something larger, of `whole` bytes; which elements they are, if it is made of such.
fn part(finding: &Finding, offset: u64, whole: u64) -> String {
    if let Some(all) = finding.elements
        && let Some(text) = elements(all, offset, whole)
    {
        return format!("{text} ({} each)", bytes(all.size));
    }
    let size = u64::from(finding.bytes);
    let element = if matches!(size, 2 | 4 | 8) && offset.is_multiple_of(size) {
        format!(" ({size}-byte element {})", offset / size)
    } else {
        String::new()
    };
    format!("{} at offset {offset}{element}", bytes(size))
}

/// "4 bytes of global `counter`"
fn what(finding: &Finding) -> String {
    let size = bytes(u64::from(finding.bytes));
    match &finding.memory {
        Memory::Global {
            name,
            offset: 0,
            bytes,
        } if *bytes == u64::from(finding.bytes) => format!("global `{name}`"),
        Memory::Global {
            name,
            offset,
            bytes: whole,
        } => {
            format!("global `{name}`, {}", part(finding, *offset, *whole))
        }
        Memory::Heap {
            offset,
            bytes: whole,
            ..
        } => format!(
            "a heap block of {}, {}",
            bytes(*whole),
            part(finding, *offset, *whole)
        ),
        Memory::Mapped {
            offset,
            bytes: whole,
            ..
        } => format!(
            "a mapping of {}, {}",
            bytes(*whole),
            part(finding, *offset, *whole)
        ),
        Memory::ThreadStack { thread } => {
            format!("the stack of {}, {size}", finding.thread_name(*thread))
        }
        Memory::Unknown => size,
    }
}

/// The sources read so far.
#[derive(Default)]
struct Sources(HashMap<String, Option<String>>);

impl Sources {
    fn get(&mut self, path: &str) -> Option<&str> {
        let known = self
            .0
            .entry(path.to_owned())
            .or_insert_with(|| std::fs::read_to_string(path).ok());
        known.as_deref()
    }
}

/// The bytes of the statement that a place is in, on its line.
fn span(source: &str, place: &Place) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for _ in 1..place.line {
        start += source.get(start..)?.find('\n')? + 1;
    }
    let text = source.get(start..)?.lines().next()?;
    // The column is where the compiler says the access is, often an operator in mid-statement.
    let column = (place.column as usize).saturating_sub(1);
    let ends = [';', '{', '}'];
    let before = text.get(..column).unwrap_or_default();
    let from = before.rfind(ends).map_or(0, |at| at + 1);
    let to = text
        .get(column..)?
        .find(ends)
        .map_or(text.len(), |at| column + at);
    let statement = &text[from..to];
    let from = from + statement.len() - statement.trim_start().len();
    let length = statement.trim().len();
    if length == 0 {
        let whole = text.trim();
        let from = text.len() - text.trim_start().len();
        return Some(start + from..start + from + whole.len());
    }
    Some(start + from..start + from + length)
}

fn label(finding: &Finding, at: usize) -> String {
    let access = &finding.accesses[at];
    let order = if at == 0 { "first" } else { "then" };
    format!(
        "{order}: {} by {}",
        verb(access),
        finding.thread_name(access.thread)
    )
}

/// The locks of Rust's std are atomic operations like any others: that none is known says nothing.
fn is_rust(access: &Access) -> bool {
    let mut places = access.stack.iter().filter_map(|frame| frame.place.as_ref());
    places.any(|place| place.file.ends_with(".rs"))
}

fn side_note(finding: &Finding, at: usize) -> String {
    let access = &finding.accesses[at];
    let mut text = format!(
        "{} {} by {}",
        if at == 0 { "the earlier" } else { "the later" },
        verb(access),
        finding.thread_name(access.thread)
    );
    if access.locks.is_empty() && is_rust(access) {
        text.push(':');
    } else if access.locks.is_empty() {
        text.push_str(", holding no lock:");
    } else {
        let names: Vec<String> = access
            .locks
            .iter()
            .map(|lock| {
                let name = match &lock.name {
                    Some(name) => format!("`{name}`"),
                    None if lock.address == 0 => "one of many locks".to_owned(),
                    None => format!("the lock at {:#x}", lock.address),
                };
                let shared = if lock.shared { " (shared)" } else { "" };
                let taken = top(&lock.stack)
                    .and_then(|frame| frame.place.as_ref())
                    .map_or(String::new(), |place| {
                        format!(" taken at {}", self::at(place))
                    });
                format!("{name}{shared}{taken}")
            })
            .collect();
        let _ = write!(text, ", holding {}:", names.join(", "));
    }
    stack(&mut text, &access.stack);
    if !access.sources.is_empty() {
        let places: Vec<String> = access.sources.iter().map(self::at).collect();
        let _ = write!(
            text,
            "\n    one check stands for the accesses at {}",
            places.join(", ")
        );
    }
    text
}

fn notes(finding: &Finding) -> Vec<String> {
    let mut notes = vec![side_note(finding, 0), side_note(finding, 1)];
    for thread in &finding.threads {
        if let Some(parent) = thread.parent {
            let mut text = format!(
                "{} was created by {}:",
                finding.thread_name(thread.id),
                finding.thread_name(parent)
            );
            stack(&mut text, &thread.stack);
            notes.push(text);
        }
    }
    let allocation = match &finding.memory {
        Memory::Heap {
            bytes: size,
            thread,
            stack,
            ..
        } => Some(("the block", "allocated", size, thread, stack)),
        Memory::Mapped {
            bytes: size,
            thread,
            stack,
            ..
        } => Some(("the mapping", "made", size, thread, stack)),
        _ => None,
    };
    if let Some((what, done, size, thread, frames)) = allocation {
        let mut text = format!(
            "{what} of {} was {done} by {}:",
            bytes(*size),
            finding.thread_name(*thread)
        );
        stack(&mut text, frames);
        notes.push(text);
    }
    notes
}

/// What the user can do next.
fn help(finding: &Finding) -> String {
    let [a, b] = &finding.accesses;
    let common = a.locks.iter().any(|x| {
        b.locks
            .iter()
            .any(|y| x.address != 0 && x.address == y.address)
    });
    let unknown = |access: &Access| access.locks.iter().any(|lock| lock.address == 0);
    if a.atomic || b.atomic {
        "one side is atomic, the other is not: make both atomic, or order them".to_owned()
    } else if common {
        "both hold the lock, but at least one only as a reader: write under the exclusive lock"
            .to_owned()
    } else if a.locks.is_empty() && b.locks.is_empty() {
        "protect both accesses with the same lock, make them atomic, or order them by join or message"
            .to_owned()
    } else if unknown(a) && unknown(b) {
        "both hold one of many locks, but not the same one: see which one belongs to this memory"
            .to_owned()
    } else {
        "the two sides hold no common lock: take the same one on both".to_owned()
    }
}

/// Files of a toolchain or of the system: their reader did not write them.
fn is_foreign(file: &str) -> bool {
    ["/rustc/", "/usr/"]
        .iter()
        .any(|start| file.starts_with(start))
        || file.contains("/.cargo/registry/")
        || file.contains("/rustlib/src/")
}

/// The line to show of a stack: the innermost one of the program's own source, if there is one to be read.
fn shown(stack: &[Frame], sources: &mut Sources) -> Option<Place> {
    let own = stack.iter().filter_map(|frame| frame.place.as_ref());
    let mut own = own.filter(|place| !is_foreign(&place.file));
    let own = own.find(|place| sources.get(&place.file).is_some());
    own.or_else(|| top(stack).and_then(|frame| frame.place.as_ref()))
        .cloned()
}

/// The report of one finding. `color`: for a terminal.
pub fn render(finding: &Finding, color: bool) -> String {
    let title = format!("data race on {}", what(finding));
    let mut sources = Sources::default();
    let places: Vec<Option<Place>> = finding
        .accesses
        .iter()
        .map(|access| shown(&access.stack, &mut sources))
        .collect();
    let texts: Vec<Option<String>> = places
        .iter()
        .map(|place| sources.get(&place.as_ref()?.file).map(str::to_owned))
        .collect();
    let mut elements: Vec<Element<'_>> = Vec::new();
    let same_file = match (&places[0], &places[1]) {
        (Some(a), Some(b)) => a.file == b.file,
        _ => false,
    };
    let mut snippets: Vec<(usize, Vec<usize>)> = Vec::new();
    if same_file {
        snippets.push((1, vec![1, 0]));
    } else {
        snippets.extend([(1, vec![1]), (0, vec![0])]);
    }
    for (owner, sides) in snippets {
        let (Some(place), Some(text)) = (&places[owner], &texts[owner]) else {
            continue;
        };
        let mut snippet = Snippet::source(text.as_str()).path(place.file.as_str());
        for side in sides {
            let kind = if side == 1 {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            if let Some(span) = places[side].as_ref().and_then(|place| span(text, place)) {
                snippet = snippet.annotation(kind.span(span).label(label(finding, side)));
            }
        }
        elements.push(snippet.into());
    }
    for note in notes(finding) {
        elements.push(Level::NOTE.message(note).into());
    }
    elements.push(Level::HELP.message(help(finding)).into());
    let group: Group<'_> = Level::ERROR
        .primary_title(title)
        .id(finding.id.as_str())
        .elements(elements);
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer.render(&[group])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_counted() {
        let all = |size, step, count| Elements { size, step, count };
        let text = |all, offset| elements(all, offset, 400);
        let say = |text: &str| Some(text.to_owned());
        assert_eq!(text(all(4, 8, 49), 12), say("elements 3, 5, … 99 of 100"));
        assert_eq!(text(all(4, 4, 100), 0), say("elements 0, 1, … 99 of 100"));
        assert_eq!(text(all(8, 8, 2), 16), say("elements 2 and 3 of 50"));
        assert_eq!(text(all(8, 24, 3), 0), say("elements 0, 3, 6 of 50"));
        assert_eq!(text(all(8, 8, 1), 16), None);
        assert_eq!(text(all(8, 8, 4), 3), None);
    }
}
