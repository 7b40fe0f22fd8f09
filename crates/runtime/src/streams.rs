//! SlimState's short way: an access that goes on as its place in the program began needs neither a site nor a look at
//! the array (`engine::slimstate`, streams).

use engine::detector::Access;
use engine::slimstate::PlaceKey;
use event::Addr;

use crate::analysis::{Analysis, State};
use crate::thread::{Runtime, Thread, found};

/// The place of an access, with its calling context and the locks held, as sites have it.
#[inline(always)]
fn key(thread: &Thread, pc: usize) -> Option<PlaceKey> {
    thread.key(pc).map(PlaceKey::new)
}

/// Is the access done? One of another detector never is.
#[inline(always)]
pub fn foreseen(thread: &mut Thread, runtime: &Runtime, addr: Addr, pc: usize) -> bool {
    let Analysis::SlimState(detector) = &runtime.analysis else {
        return false;
    };
    let Some(key) = key(thread, pc) else {
        return false;
    };
    let State::SlimState(state) = &mut thread.state else {
        return false;
    };
    detector.take(state, key, addr)
}

/// The long way, for one that [`foreseen`] did not take. False if the detector has no streams: nothing was done.
#[inline(always)]
pub fn not_foreseen(thread: &mut Thread, runtime: &Runtime, access: Access, pc: usize) -> bool {
    let Some(key) = key(thread, pc) else {
        return false;
    };
    match (&runtime.analysis, &mut thread.state) {
        (Analysis::SlimState(detector), State::SlimState(state)) => {
            detector.access_at(state, key, access, &mut found);
            true
        }
        _ => false,
    }
}
