//! SlimState's short way: an access that goes on as its place in the program began needs neither a site nor a look at
//! the array (`engine::slimstate`, streams).

use core::sync::atomic::Ordering;

use engine::detector::Access;
use engine::slimstate::{Footprint, Partition, PlaceKey, Slim, SlimThread};
use event::Addr;

use crate::analysis::{Analysis, State};
use crate::thread::{self, Runtime, Thread, found};
use crate::tls;

/// What became of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// Nothing.
    No,
    /// It is recorded in the shadow by word.
    ByWord,
    /// It is in a footprint.
    InArray,
}

/// The place of an access, with its calling context. Sites have the locks held, too; but with them the region changes, and a
/// stream ends with its region.
#[inline(always)]
fn key(pc: usize) -> Option<PlaceKey> {
    let context = tls::context();
    (pc != 0 && context != 0).then(|| PlaceKey::new(pc as u64, context))
}

/// Shows the streams of a thread to the stubs that take foreseen accesses; none for another detector, or no thread.
pub fn open(own: &tls::Block, thread: *const Thread) {
    // SAFETY: null or the thread's state, which is the caller's.
    let state = unsafe { thread.as_ref() }.map(|thread| &thread.state);
    let table = match (thread::runtime().map(|runtime| &runtime.analysis), state) {
        (Some(Analysis::SlimState(detector)), Some(State::SlimState(state))) => {
            show(own, detector, state)
        }
        (Some(Analysis::SlimStateBb(detector)), Some(State::SlimStateBb(state))) => {
            show(own, detector, state)
        }
        _ => {
            own.window.store(core::ptr::null_mut(), Ordering::Relaxed);
            core::ptr::null_mut()
        }
    };
    own.streams.store(table, Ordering::Release);
}

/// All but the streams themselves, which are returned.
fn show<F: Footprint, P: Partition>(
    own: &tls::Block,
    detector: &Slim<F, P>,
    state: &SlimThread<F>,
) -> *mut () {
    let versions = detector.versions().table().cast_mut();
    own.disturbed.store(versions, Ordering::Relaxed);
    show_plain(own, state);
    own.window
        .store(state.window().cast_mut(), Ordering::Relaxed);
    state.streams().cast_mut()
}

/// Shows the stubs what the thread knows of memory without arrays. Both change together: a signal handler, which waits, finds them as they belong.
#[inline(always)]
pub fn show_plain<F: Footprint>(own: &tls::Block, state: &SlimThread<F>) {
    let (table, mask) = state.plain();
    own.plain.store(table.cast_mut().cast(), Ordering::Relaxed);
    own.plain_mask.store(mask, Ordering::Relaxed);
}

/// Shows the stubs where the thread's tables are, which may have grown, and which stream answers for reads, after an access came the long way.
#[inline(always)]
fn show_streams<F: Footprint>(own: &tls::Block, state: &SlimThread<F>) {
    show_plain(own, state);
    let streams = state.streams().cast_mut();
    own.streams.store(streams, Ordering::Relaxed);
    let window = state.window().cast_mut();
    own.window.store(window, Ordering::Relaxed);
}

/// Is the access done? One of another detector never is.
#[inline(always)]
pub fn foreseen(thread: &mut Thread, runtime: &Runtime, addr: Addr, size: u32, pc: usize) -> bool {
    let size = u64::from(size);
    match (&runtime.analysis, &mut thread.state) {
        (Analysis::SlimState(detector), State::SlimState(state)) => {
            key(pc).is_some_and(|key| detector.take(state, key, addr, size))
        }
        (Analysis::SlimStateBb(detector), State::SlimStateBb(state)) => {
            key(pc).is_some_and(|key| detector.take(state, key, addr, size))
        }
        _ => false,
    }
}

/// Nothing is foreseen from now on, until accesses begin to follow each other anew.
pub fn forget(thread: &mut Thread, runtime: &Runtime) {
    match (&runtime.analysis, &mut thread.state) {
        (Analysis::SlimState(detector), State::SlimState(state)) => {
            detector.still(state, &mut found);
        }
        (Analysis::SlimStateBb(detector), State::SlimStateBb(state)) => {
            detector.still(state, &mut found);
        }
        _ => {}
    }
}

/// The long way, for one that [`foreseen`] did not take. [`Done::No`] if the detector has no streams: nothing was done.
#[inline(always)]
pub fn not_foreseen(
    own: &tls::Block,
    thread: &mut Thread,
    runtime: &Runtime,
    access: Access,
    pc: usize,
) -> Done {
    let Some(key) = key(pc) else {
        return Done::No;
    };
    match (&runtime.analysis, &mut thread.state) {
        (Analysis::SlimState(detector), State::SlimState(state)) => {
            go(own, detector, state, key, access)
        }
        (Analysis::SlimStateBb(detector), State::SlimStateBb(state)) => {
            go(own, detector, state, key, access)
        }
        _ => Done::No,
    }
}

/// The same with a detector that has streams.
///
/// The inlined checks had better not know the page of an array, even if a neighbour has locations there: they would look at untouched ones
/// for each element, before the stubs do what there is to do.
#[inline(always)]
fn go<F: Footprint, P: Partition>(
    own: &tls::Block,
    detector: &Slim<F, P>,
    state: &mut SlimThread<F>,
    key: PlaceKey,
    access: Access,
) -> Done {
    detector.access_at(state, key, access, &mut found);
    let in_array = state.is_in_array(access.addr, detector.versions());
    show_streams(own, state);
    if !in_array {
        return Done::ByWord;
    }
    own.forget(access.addr.0 as usize);
    Done::InArray
}
