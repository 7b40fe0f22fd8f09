//! Accesses to a few bytes: objects with some fields, short texts, what is not aligned.
//!
//! What is known of all words costs a look at each, without entering the runtime. With a precise detector the words that are left are checked together
//! ([`Shadow::access_few`](engine::precise::Shadow::access_few)), for the number of the site and the page are the same; what is not known of these is found out by the way of a single word.

use core::ops::Range;
use core::sync::atomic::Ordering;

use engine::Detector;
use engine::precise::Few;
use engine::shadow::Seen;
use event::{AccessKind, Addr};

use crate::analysis::{Analysis, State};
use crate::entry::{find, quick_any, range_inside, slow_word, tell};
use crate::put_off;
use crate::thread::{self, Runtime, Thread};
use crate::tls;

/// Bytes that are few: an object with some fields.
pub const FEW: usize = 64;

/// Checks an access to `bytes` bytes at `address`, which are few. One function for all who have some.
#[inline(never)]
pub fn few(kind: AccessKind, address: *const u8, bytes: usize, pc: usize) {
    let own = tls::own();
    if own.is_alone() {
        return;
    }
    let at = address as usize;
    if let Some(seen) = own.seen(at) {
        return on_seen(own, seen, kind, at, bytes, pc);
    }
    let words = own
        .page(at)
        .and_then(|page| Few::new(page, Addr(at as u64), bytes as u64));
    let Some(mut words) = words else {
        return elsewhere(kind, at, bytes, pc);
    };
    let (settled, epoch) = own.settled_and_epoch();
    if !words.skip_known(settled, epoch, kind) || !own.enter() {
        return;
    }
    if let Some((thread, runtime)) = thread::current() {
        // What is recorded now is not published yet.
        own.idle.store(0, Ordering::Relaxed);
        if !quickly(thread, runtime, kind, &mut words, pc) {
            match runtime.analysis {
                Analysis::FastTrack(_) => slowly(own, thread, runtime, kind, words, pc),
                _ => by_others(own, thread, runtime, kind, at..at + bytes, pc),
            }
            thread.show(own);
        }
    }
    own.leave();
}

/// The same on a page where checks are put off.
#[inline(never)]
fn on_seen(own: &tls::Block, seen: &Seen, kind: AccessKind, at: usize, bytes: usize, pc: usize) {
    if bytes == 0 || seen.has(kind, Addr(at as u64), bytes as u64) || !own.enter() {
        return;
    }
    // What is put off now is not published yet.
    own.idle.store(0, Ordering::Relaxed);
    if let Some((thread, runtime)) = thread::current()
        // A signal's handler may have put it to another use.
        && !(own.seen(at).is_some_and(|now| core::ptr::eq(now, seen))
            && marked(thread, runtime, seen, (kind, at, bytes), pc))
    {
        in_pages(own, thread, runtime, kind, at..at.saturating_add(bytes), pc);
        thread.show(own);
    }
    own.leave();
}

/// Puts off the check of some bytes of the page of `seen`, if that is simple. Otherwise nothing is done.
#[inline(always)]
fn marked(
    thread: &mut Thread,
    runtime: &Runtime,
    seen: &Seen,
    (kind, at, bytes): (AccessKind, usize, usize),
    pc: usize,
) -> bool {
    let ignores = thread.ignore != [0, 0];
    let (state, names) = thread.state_and_names();
    match (&runtime.analysis, state) {
        (Analysis::FastTrack(detector), State::FastTrack(precise)) if !ignores => {
            let what = (kind, Addr(at as u64), bytes as u64);
            let name = |slot| names.number(pc, slot);
            put_off::mark(detector.shadow(), precise, seen, what, name)
        }
        _ => false,
    }
}

/// Is an access to a few bytes redundant, as far as the inlined checks know their page?
#[inline(always)]
fn is_known(own: &tls::Block, kind: AccessKind, at: usize, bytes: usize) -> bool {
    let (addr, len) = (Addr(at as u64), bytes as u64);
    match own.page(at) {
        Some(page) => Few::new(page, addr, len).is_some_and(|mut words| {
            let (settled, epoch) = own.settled_and_epoch();
            !words.skip_known(settled, epoch, kind)
        }),
        None => own.seen(at).is_some_and(|seen| seen.has(kind, addr, len)),
    }
}

/// Are the accesses to all of these `rows`, each of a few bytes, redundant? If so, the thread need not enter.
#[inline(always)]
pub fn are_known(
    own: &tls::Block,
    kind: AccessKind,
    mut rows: impl Iterator<Item = usize>,
    bytes: usize,
) -> bool {
    rows.all(|at| is_known(own, kind, at, bytes))
}

/// Checks accesses to several rows, each of a few bytes, with a precise detector, for a thread that is inside already: a block of a picture. Returns false if nothing is done, since it is another detector or the first
/// row is on a page that is accessed as a whole.
pub fn rows_inside(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    mut rows: impl Iterator<Item = usize> + Clone,
    bytes: usize,
    pc: usize,
) -> bool {
    let is_detailed = |at: usize| own.page(at).is_some() || own.seen(at).is_some();
    if !matches!(runtime.analysis, Analysis::FastTrack(_))
        || !rows.clone().next().is_some_and(is_detailed)
    {
        return false;
    }
    while let Some(at) = rows.find(|&at| !is_known(own, kind, at, bytes)) {
        let put_off = own
            .seen(at)
            .is_some_and(|seen| marked(thread, runtime, seen, (kind, at, bytes), pc));
        if !put_off {
            in_pages(own, thread, runtime, kind, at..at.saturating_add(bytes), pc);
        }
    }
    true
}

/// Checks some words as far as there is no race, if the number of the site is known, with a precise detector. Is all of it done? Otherwise the first word is left to be checked.
#[inline(always)]
fn quickly(
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    words: &mut Few<'_>,
    pc: usize,
) -> bool {
    let (state, names) = match thread.ignore {
        [0, 0] => thread.state_and_names(),
        _ => return false,
    };
    let (Analysis::FastTrack(detector), State::FastTrack(precise)) = (&runtime.analysis, state)
    else {
        return false;
    };
    let slot = precise.clock.numbering();
    let Some(number) = slot.and_then(|slot| names.number(pc, slot)) else {
        return false;
    };
    let (order, shadow) = (detector.order(), detector.shadow());
    let raced = shadow.access_few(order, precise, words, kind, number);
    raced.is_none_or(|(addr, size)| {
        tell(thread, runtime, (kind, addr, size), pc);
        words.first().1 == 0
    })
}

/// The same where something is not known.
#[inline(never)]
fn slowly(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    mut words: Few<'_>,
    pc: usize,
) {
    loop {
        let (addr, size) = words.first();
        one(own, thread, runtime, kind, (addr.0 as usize, size), pc);
        // The number of the site may be known now.
        if !words.skip_first() || quickly(thread, runtime, kind, &mut words, pc) {
            return;
        }
    }
}

/// Checks an access as that of a single word is.
pub fn one(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    (at, size): (usize, u32),
    pc: usize,
) {
    let is_within = at % 8 + size as usize <= 8;
    let is_known = is_within && own.is_known(kind, at, size) == Some(true);
    if !is_known && !quick_any(own, thread, runtime, kind, at, size, pc) {
        slow_word(own, thread, runtime, kind, at, size, pc);
        thread.show(own);
    }
}

/// The same for bytes on a page that the inlined checks do not know, or on two.
#[inline(never)]
fn elsewhere(kind: AccessKind, at: usize, bytes: usize, pc: usize) {
    if bytes == 0 {
        return;
    }
    thread::with(|thread, runtime| {
        let own = tls::own();
        own.idle.store(0, Ordering::Relaxed);
        let these = at..at.saturating_add(bytes);
        match runtime.analysis {
            Analysis::FastTrack(_) => in_pages(own, thread, runtime, kind, these, pc),
            _ => by_others(own, thread, runtime, kind, these, pc),
        }
    });
}

/// The same with other detectors.
#[inline(never)]
fn by_others(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    bytes: Range<usize>,
    pc: usize,
) {
    let Range { start: mut at, end } = bytes;
    let is_one = match &runtime.analysis {
        // Unaligned, but often one after the other; pairs, which are aligned, too.
        Analysis::SlimState(_) | Analysis::SlimStateBb(_) => {
            let is_pair = bytes.len() == 16 && at.is_multiple_of(16);
            bytes.len() <= 8 || is_pair && own.location(at).is_none()
        }
        _ => false,
    };
    if is_one {
        return one(own, thread, runtime, kind, (at, bytes.len() as u32), pc);
    }
    if own.location(at).is_none() || own.location(end - 1).is_none() {
        let (start, len) = (at as u64, bytes.len() as u64);
        return range_inside(thread, runtime, kind, start, len, pc);
    }
    while at < end {
        let next = end.min((at | 7) + 1);
        one(own, thread, runtime, kind, (at, (next - at) as u32), pc);
        at = next;
    }
}

/// The same with a precise detector.
fn in_pages(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    kind: AccessKind,
    bytes: Range<usize>,
    pc: usize,
) {
    let Range { start: mut at, end } = bytes;
    while at < end {
        let stop = end.min(tls::end_of_page(at));
        let page = match own.page(at) {
            None => find(own, runtime, at).and_then(|_| own.page(at)),
            page => page,
        };
        match page.and_then(|page| Few::new(page, Addr(at as u64), (stop - at) as u64)) {
            Some(mut words) => {
                let (settled, epoch) = own.settled_and_epoch();
                if words.skip_known(settled, epoch, kind)
                    && !quickly(thread, runtime, kind, &mut words, pc)
                {
                    slowly(own, thread, runtime, kind, words, pc);
                }
                at = stop;
            }
            None if at % 8 + (end - at) <= 8 => {
                return one(own, thread, runtime, kind, (at, (end - at) as u32), pc);
            }
            None => {
                let bytes = (end - at) as u64;
                return range_inside(thread, runtime, kind, at as u64, bytes, pc);
            }
        }
    }
}
