//! The findings for machines.

use event::AccessKind;
use serde_json::{Value, json};

use crate::Statistics;
use crate::collect::Collector;
use crate::finding::{Access, Finding, Frame, Memory};

/// Changes when a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

pub(crate) fn stack(frames: &[Frame]) -> Value {
    frames
        .iter()
        .map(|frame| {
            json!({
                "function": frame.function,
                "file": frame.place.as_ref().map(|place| &place.file),
                "line": frame.place.as_ref().map(|place| place.line),
                "column": frame.place.as_ref().map(|place| place.column),
                "module": frame.module,
                "offset": format!("{:#x}", frame.offset),
                "pc": format!("{:#x}", frame.pc),
            })
        })
        .collect()
}

fn access(access: &Access) -> Value {
    let locks: Value = access
        .locks
        .iter()
        .map(|lock| {
            json!({
                "address": format!("{:#x}", lock.address),
                "name": lock.name,
                "shared": lock.shared,
                "stack": stack(&lock.stack),
            })
        })
        .collect();
    let sources: Value = access
        .sources
        .iter()
        .map(|place| json!({"file": place.file, "line": place.line, "column": place.column}))
        .collect();
    json!({
        "kind": match access.kind { AccessKind::Read => "read", AccessKind::Write => "write" },
        "atomic": access.atomic,
        "thread": access.thread,
        "stack": stack(&access.stack),
        "sources": sources,
        "locks": locks,
    })
}

fn memory(memory: &Memory) -> Value {
    match memory {
        Memory::Global {
            name,
            offset,
            bytes,
        } => json!({"kind": "global", "name": name, "offset": offset, "bytes": bytes}),
        Memory::Heap {
            offset,
            bytes,
            thread,
            stack: at,
        } => json!({"kind": "heap", "offset": offset, "bytes": bytes, "thread": thread,
            "stack": stack(at)}),
        Memory::Mapped {
            offset,
            bytes,
            thread,
            stack: at,
        } => json!({"kind": "mapped", "offset": offset, "bytes": bytes, "thread": thread,
            "stack": stack(at)}),
        Memory::ThreadStack { thread } => json!({"kind": "stack", "thread": thread}),
        Memory::Unknown => json!({"kind": "unknown"}),
    }
}

fn finding(finding: &Finding) -> Value {
    let threads: Value = finding
        .threads
        .iter()
        .map(|thread| {
            json!({
                "id": thread.id,
                "parent": thread.parent,
                "name": thread.name,
                "stack": stack(&thread.stack),
            })
        })
        .collect();
    json!({
        "id": finding.id,
        "pid": finding.process.pid,
        "executable": finding.process.executable,
        "detector": finding.process.detector,
        "address": format!("{:#x}", finding.address),
        "bytes": finding.bytes,
        "elements": finding.elements.map(|e| json!({"size": e.size, "step": e.step, "count": e.count})),
        "times": finding.times,
        "accesses": [access(&finding.accesses[0]), access(&finding.accesses[1])],
        "threads": threads,
        "memory": memory(&finding.memory),
    })
}

/// Everything that was found.
pub fn all(collector: &Collector) -> Value {
    json!({
        "footrace": VERSION,
        "races": collector.findings().iter().map(finding).collect::<Value>(),
        "suppressed": collector.suppressed(),
        "problems": collector.problems(),
        "statistics": collector.statistics().iter().map(Statistics::json).collect::<Value>(),
    })
}

/// Writes everything that was found to a file.
pub fn write(collector: &Collector, path: &std::path::Path) -> Result<(), String> {
    std::fs::write(path, format!("{:#}\n", all(collector)))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}
