//! POSIX semaphores: a post is a message, a wait takes one.

use core::ffi::{c_int, c_void};

use engine::SyncOp;
use event::SyncId;

use super::{forgotten, sync};
use crate::real::interceptors;

type Semaphore = *mut c_void;
type Time = *const libc::timespec;

fn taken(semaphore: Semaphore, result: c_int) -> c_int {
    if result == 0 {
        sync(SyncOp::Receive(SyncId(semaphore as u64)));
    }
    result
}

interceptors! {
    fn sem_post(semaphore: Semaphore) -> c_int = |real, pc| {
        sync(SyncOp::Send(SyncId(semaphore as u64)));
        real(semaphore)
    }
    fn sem_wait(semaphore: Semaphore) -> c_int = |real, pc| {
        taken(semaphore, real(semaphore))
    }
    fn sem_trywait(semaphore: Semaphore) -> c_int = |real, pc| {
        taken(semaphore, real(semaphore))
    }
    fn sem_timedwait(semaphore: Semaphore, until: Time) -> c_int = |real, pc| {
        taken(semaphore, real(semaphore, until))
    }
    fn sem_clockwait(semaphore: Semaphore, clock: c_int, until: Time) -> c_int = |real, pc| {
        taken(semaphore, real(semaphore, clock, until))
    }
    fn sem_init(semaphore: Semaphore, shared: c_int, value: u32) -> c_int = |real, pc| {
        forgotten(semaphore as usize);
        real(semaphore, shared, value)
    }
    fn sem_destroy(semaphore: Semaphore) -> c_int = |real, pc| {
        forgotten(semaphore as usize);
        real(semaphore)
    }
}
