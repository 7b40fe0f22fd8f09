//! Mutexes, reader-writer locks, spin locks, condition variables and barriers of POSIX.

use core::ffi::{c_int, c_void};

use engine::SyncOp;
use event::SyncId;

use super::{acquired, forgotten, releasing, sync};
use crate::real::interceptors;
use crate::{cancel, thread};

type Object = *mut c_void;
type Time = *const libc::timespec;

/// Did the caller get the lock? A robust mutex whose owner died is held, too.
fn got(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

/// What a lock function returned; if it got the lock, so says the detector.
fn taken(lock: Object, shared: bool, result: c_int, pc: usize) -> c_int {
    if got(result) {
        acquired(lock as usize, shared, pc);
    }
    result
}

/// Waits on a condition: gives the mutex back and takes it again.
fn waits(mutex: Object, pc: usize, wait: impl FnOnce() -> c_int) -> c_int {
    releasing(mutex as usize, false);
    // A cancelled thread has the mutex again, too.
    let again = || acquired(mutex as usize, false, pc);
    let result = cancel::call(wait, again);
    again();
    result.unwrap_or(libc::EINVAL)
}

/// Gives a reader-writer lock back. Only the thread knows how it held it.
fn give_back_rwlock(lock: Object) {
    let id = SyncId(lock as u64);
    thread::with(|thread, runtime| {
        let op = if thread.holds_shared(id) {
            SyncOp::ReadRelease(id)
        } else {
            SyncOp::Release(id)
        };
        runtime.analysis.sync(&mut thread.state, op);
        thread.unlocked(id);
    });
}

interceptors! {
    fn pthread_mutex_lock(mutex: Object) -> c_int = |real, pc| {
        taken(mutex, false, real(mutex), pc)
    }
    fn pthread_mutex_trylock(mutex: Object) -> c_int = |real, pc| {
        taken(mutex, false, real(mutex), pc)
    }
    fn pthread_mutex_timedlock(mutex: Object, until: Time) -> c_int = |real, pc| {
        taken(mutex, false, real(mutex, until), pc)
    }
    fn pthread_mutex_clocklock(mutex: Object, clock: c_int, until: Time) -> c_int = |real, pc| {
        taken(mutex, false, real(mutex, clock, until), pc)
    }
    fn pthread_mutex_unlock(mutex: Object) -> c_int = |real, pc| {
        releasing(mutex as usize, false);
        real(mutex)
    }

    fn pthread_rwlock_rdlock(lock: Object) -> c_int = |real, pc| {
        taken(lock, true, real(lock), pc)
    }
    fn pthread_rwlock_tryrdlock(lock: Object) -> c_int = |real, pc| {
        taken(lock, true, real(lock), pc)
    }
    fn pthread_rwlock_timedrdlock(lock: Object, until: Time) -> c_int = |real, pc| {
        taken(lock, true, real(lock, until), pc)
    }
    fn pthread_rwlock_clockrdlock(lock: Object, clock: c_int, until: Time) -> c_int = |real, pc| {
        taken(lock, true, real(lock, clock, until), pc)
    }
    fn pthread_rwlock_wrlock(lock: Object) -> c_int = |real, pc| {
        taken(lock, false, real(lock), pc)
    }
    fn pthread_rwlock_trywrlock(lock: Object) -> c_int = |real, pc| {
        taken(lock, false, real(lock), pc)
    }
    fn pthread_rwlock_timedwrlock(lock: Object, until: Time) -> c_int = |real, pc| {
        taken(lock, false, real(lock, until), pc)
    }
    fn pthread_rwlock_clockwrlock(lock: Object, clock: c_int, until: Time) -> c_int = |real, pc| {
        taken(lock, false, real(lock, clock, until), pc)
    }
    fn pthread_rwlock_unlock(lock: Object) -> c_int = |real, pc| {
        give_back_rwlock(lock);
        real(lock)
    }

    fn pthread_spin_lock(lock: Object) -> c_int = |real, pc| {
        taken(lock, false, real(lock), pc)
    }
    fn pthread_spin_trylock(lock: Object) -> c_int = |real, pc| {
        taken(lock, false, real(lock), pc)
    }
    fn pthread_spin_unlock(lock: Object) -> c_int = |real, pc| {
        releasing(lock as usize, false);
        real(lock)
    }

    fn pthread_cond_wait(condition: Object, mutex: Object) -> c_int = |real, pc| {
        waits(mutex, pc, || real(condition, mutex))
    }
    fn pthread_cond_timedwait(condition: Object, mutex: Object, until: Time) -> c_int = |real, pc| {
        waits(mutex, pc, || real(condition, mutex, until))
    }
    fn pthread_cond_clockwait(condition: Object, mutex: Object, clock: c_int, until: Time) -> c_int = |real, pc| {
        waits(mutex, pc, || real(condition, mutex, clock, until))
    }

    fn pthread_barrier_wait(barrier: Object) -> c_int = |real, pc| {
        let id = SyncId(barrier as u64);
        sync(SyncOp::Arrive(id));
        let result = real(barrier);
        sync(SyncOp::Depart(id));
        result
    }

    fn mtx_lock(mutex: Object) -> c_int = |real, pc| {
        taken(mutex, false, real(mutex), pc)
    }
    fn mtx_trylock(mutex: Object) -> c_int = |real, pc| {
        taken(mutex, false, real(mutex), pc)
    }
    fn mtx_timedlock(mutex: Object, until: Time) -> c_int = |real, pc| {
        taken(mutex, false, real(mutex, until), pc)
    }
    fn mtx_unlock(mutex: Object) -> c_int = |real, pc| {
        releasing(mutex as usize, false);
        real(mutex)
    }
    fn cnd_wait(condition: Object, mutex: Object) -> c_int = |real, pc| {
        waits(mutex, pc, || real(condition, mutex))
    }
    fn cnd_timedwait(condition: Object, mutex: Object, until: Time) -> c_int = |real, pc| {
        waits(mutex, pc, || real(condition, mutex, until))
    }

    fn pthread_mutex_init(object: Object, attributes: Object) -> c_int = |real, pc| {
        forgotten(object as usize);
        real(object, attributes)
    }
    fn pthread_mutex_destroy(object: Object) -> c_int = |real, pc| {
        forgotten(object as usize);
        real(object)
    }
    fn pthread_rwlock_init(object: Object, attributes: Object) -> c_int = |real, pc| {
        forgotten(object as usize);
        real(object, attributes)
    }
    fn pthread_rwlock_destroy(object: Object) -> c_int = |real, pc| {
        forgotten(object as usize);
        real(object)
    }
    fn pthread_spin_init(object: Object, shared: c_int) -> c_int = |real, pc| {
        forgotten(object as usize);
        real(object, shared)
    }
    fn pthread_spin_destroy(object: Object) -> c_int = |real, pc| {
        forgotten(object as usize);
        real(object)
    }
    fn pthread_barrier_init(object: Object, attributes: Object, count: u32) -> c_int = |real, pc| {
        forgotten(object as usize);
        real(object, attributes, count)
    }
    fn pthread_barrier_destroy(object: Object) -> c_int = |real, pc| {
        forgotten(object as usize);
        real(object)
    }
    fn mtx_init(object: Object, kind: c_int) -> c_int = |real, pc| {
        forgotten(object as usize);
        real(object, kind)
    }
    fn mtx_destroy(object: Object) = |real, pc| {
        forgotten(object as usize);
        real(object);
    }
}
