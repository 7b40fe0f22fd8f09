//! Streams a trace through a detector.

use crate::detectors::{self, Options, Unknown, Visitor};
use crate::findings::{Findings, Group};
use crate::locate::moments;
use crate::report::{ArrayShadow, Moment, Report, Shadow, Side, Stats, UniqueRace, fraction};
use engine::{Access, Detector, Race, replay::Replay};
use event::{AccessKind, Addr, Event, Op, Tid};
use oracle::{Checker, Malformed, Outcome};
use std::fmt;
use std::io::BufRead;
use trace::{BLANK, Error, Location, NO_ACCESS, Names, Namespace, Plain, Reader};

/// Why there is no whole result.
#[derive(Debug)]
pub enum Failure {
    /// No such detector.
    Detector(Unknown),
    /// The trace is wrong from some point on.
    Trace(Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Detector(e) => write!(f, "{e}"),
            Failure::Trace(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Failure::Trace(e)
    }
}

/// Analyses a trace. `open` opens it: once, and again to look for marks or for the events of races; it may say `None` then if
/// it cannot.
///
/// If the trace is wrong somewhere, the report is about the events before that.
pub fn analyze<R: BufRead>(
    detector: &str,
    options: &Options,
    mut open: impl FnMut() -> Result<Option<Reader<R>>, Error>,
) -> (Option<Report>, Result<(), Failure>) {
    let mut reader = match open() {
        Ok(Some(reader)) => reader,
        Ok(None) => return (None, Ok(())),
        Err(e) => return (None, Err(e.into())),
    };
    let mut options = *options;
    let marks = options.rate.is_none();
    if marks && detectors::samples(detector) && !has_marks(&mut open) {
        options.rate = Some(1.0);
    }
    let pass = Pass {
        reader: &mut reader,
        marks,
    };
    let first = match detectors::with(detector, &options, pass) {
        Ok(first) => first,
        Err(unknown) => return (None, Err(Failure::Detector(unknown))),
    };
    let names = reader.names();
    let groups = &first.findings.groups;
    let mut seen = vec![[None, None]; groups.len()];
    if !groups.is_empty()
        && let Ok(Some(mut again)) = open()
        && let Ok(found) = moments(groups, &mut again)
    {
        seen = found;
    }
    let races = groups
        .iter()
        .zip(seen)
        .map(|(group, moments)| unique_race(group, moments, names))
        .collect();
    let report = Report {
        detector: detector.to_string(),
        events: first.events,
        racy_locations: locations(&first.findings, names),
        races,
        stats: first.stats,
    };
    (Some(report), first.end.map_err(Failure::Trace))
}

/// Does the trace say when to sample? If it cannot be looked at twice, nobody knows; then no.
fn has_marks<R: BufRead>(open: &mut impl FnMut() -> Result<Option<Reader<R>>, Error>) -> bool {
    let Ok(Some(mut reader)) = open() else {
        return false;
    };
    while let Ok(Some(event)) = reader.next_event() {
        if event.op == Op::SampleBegin {
            return true;
        }
    }
    false
}

/// Plain accesses that are decoded at once, so that the decoder's state is not stored after each.
pub const BATCH: usize = 64;

struct Pass<'a, R> {
    reader: &'a mut Reader<R>,
    /// Sampling periods are those of the trace.
    marks: bool,
}

struct FirstPass {
    findings: Findings,
    events: u64,
    stats: Stats,
    end: Result<(), Error>,
}

impl<R: BufRead> Visitor for Pass<'_, R> {
    type Output = FirstPass;

    fn visit<D: Detector + 'static>(self, detector: D) -> FirstPass {
        let Pass { reader, marks } = self;
        let mut replay = Replay::new(detector);
        let mut checker = Checker::new();
        let mut findings = Findings::default();
        let mut events = 0;
        let mut accesses = 0;
        let mut event = BLANK;
        let mut batch = [NO_ACCESS; BATCH];
        let end = loop {
            // Nearly all events of a long trace: plain accesses by a thread that needs no look.
            while let Some((thread, plain)) = turn(reader, &mut checker, &mut batch) {
                let read = plain.len() as u64;
                let before = reader.position() - read;
                replay.accesses(thread, plain.iter().map(access_of), |i, race| {
                    findings.add(race, before + i + 1);
                });
                accesses += read;
                events += read;
            }
            match reader.read_event(&mut event) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
            match checker.step(&event) {
                Ok(Outcome::Plain) if marks || !is_mark(&event) => {
                    let at = reader.position();
                    accesses += accesses_of(&event);
                    if !replay.meet(event.thread) {
                        break Err(exhausted_at(reader));
                    }
                    replay.step(&event, &mut |race: &Race| findings.add(race, at));
                    if replay.detector().exhausted() {
                        break Err(exhausted_at(reader));
                    }
                }
                Ok(_) => {}
                Err(malformed) => break Err(malformed_at(reader, &malformed)),
            }
            events += 1;
        };
        let at = reader.position();
        // Of a thread too many nothing is known.
        if !replay.detector().exhausted() {
            replay.finish(&mut |race: &Race| findings.add(race, at));
        }
        let stats = stats(&replay, accesses, reader.names());
        FirstPass {
            findings,
            events,
            stats,
            end,
        }
    }
}

/// The plain accesses that a running thread makes next, as many as there is room for; None if what comes next needs a look.
#[inline(always)]
pub fn turn<'a, R: BufRead>(
    reader: &mut Reader<R>,
    checker: &mut Checker,
    room: &'a mut [Plain],
) -> Option<(Tid, &'a [Plain])> {
    let thread = reader.turn()?;
    if !checker.is_running(thread) {
        return None;
    }
    let read = reader.plain_accesses(room);
    if read == 0 {
        return None;
    }
    checker.went_on(read);
    Some((thread, &room[..read]))
}

#[inline(always)]
fn access_of(plain: &Plain) -> Access {
    Access {
        kind: plain.kind,
        addr: plain.addr,
        size: plain.size,
        site: plain.site,
    }
}

#[cold]
fn malformed_at<R: BufRead>(reader: &Reader<R>, malformed: &Malformed) -> Error {
    Error::Bad {
        place: reader.place(),
        what: malformed.what.to_string(),
        expected: malformed.what.expected().to_string(),
    }
}

#[cold]
fn exhausted_at<R: BufRead>(reader: &Reader<R>) -> Error {
    let most = engine::Limits::CELL.slots;
    Error::Bad {
        place: reader.place(),
        what: format!("this thread is one of more than {most} that are not known to have ended"),
        expected: format!(
            "at most {most} threads at a time: `join` those that ended before forking more"
        ),
    }
}

fn is_mark(event: &Event) -> bool {
    matches!(event.op, Op::SampleBegin | Op::SampleEnd)
}

#[inline]
fn accesses_of(event: &Event) -> u64 {
    match event.op {
        Op::Access { .. } | Op::Load { .. } | Op::Store { .. } | Op::Rmw { .. } => 1,
        Op::Range { elements, .. } => elements.len(),
        _ => 0,
    }
}

/// Is this one of the rules that check a location?
fn is_check(rule: &str) -> bool {
    ["Run", "RunAgain", "RunSameEpoch"].contains(&rule)
        || ["Read", "Write", "Atomic", "WholePage"]
            .iter()
            .any(|start| rule.starts_with(start))
}

fn stats<D: Detector>(replay: &Replay<D>, accesses: u64, names: &Names) -> Stats {
    let mut stats = Stats {
        accesses,
        ..Stats::default()
    };
    replay.counters(&mut |rule, count| *stats.rules.entry(rule).or_default() += count);
    let checks = stats.rules.iter().filter(|(rule, _)| is_check(rule));
    stats.checks = checks.map(|(_, count)| count).sum();
    stats.checks_per_access = fraction(stats.checks, accesses);
    let mut arrays = Vec::new();
    replay.detector().shadow(&mut |block| {
        arrays.push(ArrayShadow {
            array: if block.blocks == 1 {
                block_name(block.addr, names)
            } else {
                format!("{} blocks", block.blocks)
            },
            elements: block.elements,
            locations: block.locations,
            fraction: fraction(block.locations, block.elements),
            partition: block.partition.clone(),
        });
    });
    if !arrays.is_empty() {
        let elements = arrays.iter().map(|a| a.elements).sum();
        let locations = arrays.iter().map(|a| a.locations).sum();
        stats.shadow = Some(Shadow {
            elements,
            locations,
            fraction: fraction(locations, elements),
            arrays,
        });
    }
    stats
}

fn block_name(addr: Addr, names: &Names) -> String {
    match names.array_at(addr) {
        Some(id) => names
            .name_or_default(Namespace::Array, u64::from(id))
            .into_owned(),
        None => addr.to_string(),
    }
}

/// The names of all racy bytes.
fn locations(findings: &Findings, names: &Names) -> Vec<String> {
    let mut found = Vec::new();
    for run in findings.racy.runs() {
        let mut raw: Option<std::ops::Range<u64>> = None;
        let mut at = run.start;
        while at < run.end {
            let (location, bytes) = names.locate(Addr(at));
            if let Location::Raw(_) = location {
                raw = Some(raw.map_or(at, |r| r.start)..at + 1);
                at += 1;
                continue;
            }
            found.extend(raw.take().map(raw_name));
            found.push(location.to_string());
            at = bytes.end;
        }
        found.extend(raw.map(raw_name));
    }
    found.sort();
    found.dedup();
    found
}

fn raw_name(bytes: std::ops::Range<u64>) -> String {
    if bytes.end - bytes.start == 1 {
        Addr(bytes.start).to_string()
    } else {
        format!("{}..{}", Addr(bytes.start), Addr(bytes.end))
    }
}

fn unique_race(group: &Group, moments: [Option<Moment>; 2], names: &Names) -> UniqueRace {
    let race = &group.race;
    let [first, second] = moments;
    let first = side(&race.first, first, names);
    let second = side(&race.second, second, names);
    // Detectors that check late may meet the later access first.
    let swapped = matches!((first.event, second.event), (Some(a), Some(b)) if a > b);
    let (first, second) = if swapped {
        (second, first)
    } else {
        (first, second)
    };
    let location = match names.locate(race.addr) {
        (Location::Raw(_), _) => {
            raw_name(race.addr.0..race.addr.0.saturating_add(u64::from(race.size)))
        }
        (named, _) => named.to_string(),
    };
    UniqueRace {
        location,
        first,
        second,
        count: group.count,
    }
}

fn side(side: &engine::Side, moment: Option<Moment>, names: &Names) -> Side {
    let site = names.name_or_default(Namespace::Site, u64::from(side.site.0));
    Side {
        thread: names
            .name_or_default(Namespace::Thread, u64::from(side.thread.0))
            .into_owned(),
        kind: match side.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
        },
        atomic: side.atomic,
        site: (!site.is_empty()).then(|| site.into_owned()),
        event: moment.as_ref().map(|m| m.event),
        moment,
    }
}
