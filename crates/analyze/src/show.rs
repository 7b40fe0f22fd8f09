//! Results and errors for people.

use crate::report::{Moment, Report, Side, Stats, UniqueRace};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt::Write as _;
use trace::{Error, Place};

/// How to print.
#[derive(Clone, Debug)]
pub struct Style {
    /// The file that the trace is in.
    pub path: String,
    /// With colours.
    pub color: bool,
}

impl Style {
    fn renderer(&self) -> Renderer {
        if self.color {
            Renderer::styled()
        } else {
            Renderer::plain()
        }
    }
}

/// One JSON object.
pub fn json(report: &Report) -> String {
    // Strings and numbers only: nothing that could fail.
    serde_json::to_string_pretty(report).unwrap_or_default() + "\n"
}

/// Each unique race, and a line that sums up.
pub fn report(report: &Report, style: &Style) -> String {
    let mut out = String::new();
    for race in &report.races {
        out.push_str(&one(race, style));
        out.push_str("\n\n");
    }
    let events = report.events;
    let detector = &report.detector;
    let summary = match (report.races.len(), report.racy_locations.len()) {
        (0, _) => format!("no data race in {events} events ({detector})"),
        (1, 1) => format!("1 data race, on 1 location, in {events} events ({detector})"),
        (1, n) => format!("1 data race, on {n} locations, in {events} events ({detector})"),
        (n, 1) => format!("{n} data races, on 1 location, in {events} events ({detector})"),
        (n, m) => format!("{n} data races, on {m} locations, in {events} events ({detector})"),
    };
    out.push_str(&summary);
    out.push('\n');
    out
}

fn verb(side: &Side) -> String {
    let atomic = if side.atomic { " atomically" } else { "" };
    format!("{}s{atomic}", side.kind)
}

fn label(side: &Side) -> String {
    match &side.site {
        Some(site) => format!("{} {} here, at {site}", side.thread, verb(side)),
        None => format!("{} {} here", side.thread, verb(side)),
    }
}

fn one(race: &UniqueRace, style: &Style) -> String {
    let (first, second) = (&race.first, &race.second);
    let title = format!(
        "data race on `{}`: nothing orders the {} by {} and the {} by {}",
        race.location, first.kind, first.thread, second.kind, second.thread
    );
    let mut group = Group::with_title(Level::ERROR.primary_title(title));
    for (side, kind) in [
        (second, AnnotationKind::Primary),
        (first, AnnotationKind::Context),
    ] {
        group = match &side.moment {
            Some(moment) => group.element(
                Snippet::source(moment.text.clone())
                    .line_start(usize::try_from(moment.event).unwrap_or(usize::MAX))
                    .path(style.path.clone())
                    .annotation(kind.span(span(moment)).label(label(side))),
            ),
            None => group.element(Level::NOTE.message(label(side))),
        };
    }
    if race.count > 1 {
        group = group.element(Level::NOTE.message(format!("reported {} times", race.count)));
    }
    style.renderer().render(&[group])
}

/// Characters to bytes.
fn byte_span(text: &str, column: usize, width: usize) -> std::ops::Range<usize> {
    let byte = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(i, _)| i);
    byte(column.saturating_sub(1))..byte(column.saturating_sub(1) + width)
}

fn span(moment: &Moment) -> std::ops::Range<usize> {
    byte_span(&moment.text, moment.column, moment.width)
}

/// What is wrong with a trace: where, what, what was expected.
pub fn error(error: &Error, style: &Style) -> String {
    let rendered = match error {
        Error::Io(e) => {
            let title = format!("cannot read or write `{}`: {e}", style.path);
            style
                .renderer()
                .render(&[Group::with_title(Level::ERROR.primary_title(title))])
        }
        Error::Bad {
            place,
            what,
            expected,
        } => {
            let title = Level::ERROR.primary_title(what.clone());
            let expected = format!("expected {expected}");
            let group = match place {
                Place::Text {
                    line,
                    column,
                    width,
                    text,
                } => title.element(
                    Snippet::source(text.clone())
                        .line_start(usize::try_from(*line).unwrap_or(usize::MAX))
                        .path(style.path.clone())
                        .annotation(
                            AnnotationKind::Primary
                                .span(byte_span(text, *column, *width))
                                .label(expected),
                        ),
                ),
                Place::Binary { .. } => title
                    .element(Level::NOTE.message(format!("in {}, {place}", style.path)))
                    .element(Level::HELP.message(expected)),
            };
            style.renderer().render(&[group])
        }
    };
    rendered + "\n"
}

/// Counters, checks for each access, and the shadow of arrays.
pub fn stats(stats: &Stats) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "checks  {} / {} accesses = {:.2e}",
        stats.checks, stats.accesses, stats.checks_per_access
    );
    let width = stats.rules.keys().map(|k| k.len()).max().unwrap_or(0);
    for (rule, count) in &stats.rules {
        let _ = writeln!(out, "rule  {rule:width$}  {count}");
    }
    if let Some(shadow) = &stats.shadow {
        for array in &shadow.arrays {
            let _ = writeln!(
                out,
                "array  {}  {} locations / {} elements = {:.2e}  {}",
                array.array, array.locations, array.elements, array.fraction, array.partition
            );
        }
        let _ = writeln!(
            out,
            "shadow  {} locations / {} elements = {:.2e}",
            shadow.locations, shadow.elements, shadow.fraction
        );
    }
    out
}
