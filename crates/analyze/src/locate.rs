//! The second pass: which event was it?
//!
//! A detector reports a race some time after its accesses, with the thread, the kind and the site of each. The
//! event meant is the last one until then that fits and touches the location.

use crate::findings::Group;
use crate::report::Moment;
use engine::Side;
use event::{AccessKind, Elements, Event, Op, Site, Tid};
use std::collections::HashMap;
use std::io::BufRead;
use std::ops::Range;
use trace::{Error, Format, Names, Place, Reader, Writer};

/// Side `which` of group `group`.
struct Query {
    group: usize,
    which: usize,
    side: Side,
    bytes: Range<u64>,
    until: u64,
}

/// The moments of both sides of each group, as far as they can be found.
pub(crate) fn moments<R: BufRead>(
    groups: &[Group],
    reader: &mut Reader<R>,
) -> Result<Vec<[Option<Moment>; 2]>, Error> {
    let mut found: Vec<[Option<Moment>; 2]> = groups.iter().map(|_| [None, None]).collect();
    let mut queries: HashMap<(Tid, Site), Vec<Query>> = HashMap::new();
    for (g, group) in groups.iter().enumerate() {
        let start = group.race.addr.0;
        for (s, side) in [group.race.first, group.race.second]
            .into_iter()
            .enumerate()
        {
            let query = Query {
                group: g,
                which: s,
                side,
                bytes: start..start.saturating_add(u64::from(group.race.size)),
                until: group.reported_at,
            };
            let of_place = queries.entry((side.thread, side.site)).or_default();
            of_place.push(query);
        }
    }
    let last = groups.iter().map(|g| g.reported_at).max().unwrap_or(0);
    let mut blocks = HashMap::new();
    while let Some(event) = reader.next_event()? {
        let position = reader.position();
        if position > last {
            break;
        }
        if let Op::Alloc { addr, elem, len } = event.op {
            blocks.insert(addr, u64::from(elem).saturating_mul(len));
        }
        let Some(candidates) = queries.get(&(event.thread, event.site)) else {
            continue;
        };
        for query in candidates {
            let freed = match event.op {
                Op::Free { addr } => blocks.get(&addr).copied().unwrap_or(0),
                _ => 0,
            };
            if position <= query.until && fits(&event, freed, query) {
                found[query.group][query.which] = Some(moment(&event, reader)?);
            }
        }
    }
    Ok(found)
}

fn moment<R: BufRead>(event: &Event, reader: &Reader<R>) -> Result<Moment, Error> {
    let event_number = reader.position();
    match reader.place() {
        Place::Text {
            column,
            width,
            text,
            ..
        } => Ok(Moment {
            event: event_number,
            text,
            column,
            width,
        }),
        // As the line would be in a text trace.
        Place::Binary { .. } => {
            let text = line(event, reader.names())?;
            let column = text.find('|').map_or(0, |at| at + 1);
            let op = text[column..].split('|').next().unwrap_or("");
            Ok(Moment {
                event: event_number,
                column: text[..column].chars().count() + 1,
                width: op.chars().count().max(1),
                text,
            })
        }
    }
}

fn line(event: &Event, names: &Names) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Format::Text)?;
    writer.write(event, names)?;
    writer.finish()?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_string())
}

fn fits(event: &Event, freed: u64, query: &Query) -> bool {
    let touches = |start: u64, len: u64| {
        start < query.bytes.end && query.bytes.start < start.saturating_add(len)
    };
    let write = query.side.kind == AccessKind::Write;
    let atomic = query.side.atomic;
    match event.op {
        Op::Access { kind, addr, size } => {
            !atomic && kind == query.side.kind && touches(addr.0, u64::from(size))
        }
        Op::Range { kind, elements } => {
            !atomic && kind == query.side.kind && touches_elements(elements, &query.bytes)
        }
        Op::Free { addr } => !atomic && write && touches(addr.0, freed),
        Op::Load { addr, size, .. } => atomic && !write && touches(addr.0, u64::from(size)),
        Op::Store { addr, size, .. } => atomic && write && touches(addr.0, u64::from(size)),
        Op::Rmw { addr, size, .. } => atomic && touches(addr.0, u64::from(size)),
        _ => false,
    }
}

fn touches_elements(elements: Elements, bytes: &Range<u64>) -> bool {
    let elem = u64::from(elements.elem.max(1));
    let index = |addr: u64| addr.saturating_sub(elements.base.0) / elem;
    if bytes.end <= elements.base.0 || bytes.is_empty() {
        return false;
    }
    let from = index(bytes.start).max(elements.lo);
    let to = (index(bytes.end - 1) + 1).min(elements.hi);
    if from >= to {
        return false;
    }
    let stride = elements.stride.max(1);
    let next = elements.lo + (from - elements.lo).div_ceil(stride) * stride;
    next < to
}
