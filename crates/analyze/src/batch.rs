//! Many small traces, one after another, through one instance of each detector.
//!
//! A detector is made for long executions, and making one takes longer than a trace of five events. So traces are put side by side: each
//! gets threads, locks and memory of its own, and what follows is one execution whose parts share nothing. The racy bytes of the whole are
//! those of the parts.

use crate::ByteSet;
use crate::conformance::{check_these, racy_bytes, truth};
use crate::detectors::{Entry, Options};
use event::{Event, Op, SyncId, Tid};
use oracle::r#gen::exhaustive::moved;

/// How far apart traces are: in bytes, threads and locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Apart {
    /// Bytes.
    pub bytes: u64,
    /// Threads.
    pub threads: u32,
    /// Locks.
    pub locks: u64,
}

/// Traces that wait to be checked together.
#[derive(Debug)]
pub struct Batch {
    apart: Apart,
    traces: Vec<Vec<Event>>,
    /// All of them, side by side.
    events: Vec<Event>,
    racy: ByteSet,
}

impl Batch {
    /// How many traces are checked at once.
    pub const SIZE: usize = 1024;

    /// No trace yet.
    pub fn new(apart: Apart) -> Self {
        Batch {
            apart,
            traces: Vec::new(),
            events: Vec::new(),
            racy: ByteSet::default(),
        }
    }

    /// One more trace.
    pub fn add(&mut self, trace: &[Event]) {
        let number = self.traces.len() as u64;
        let by = number * self.apart.bytes;
        for run in truth(trace).runs() {
            self.racy.insert(run.start + by..run.end + by);
        }
        let apart = self.apart;
        self.events
            .extend(trace.iter().map(|event| placed(*event, number, apart)));
        self.traces.push(trace.to_vec());
    }

    /// Is it time to check?
    pub fn is_full(&self) -> bool {
        self.traces.len() >= Self::SIZE
    }

    /// Holds the detectors, all of which promise to be exact, to the oracle, and forgets the traces.
    pub fn check<'a>(
        &mut self,
        detectors: impl IntoIterator<Item = &'a Entry> + Clone,
        options: &Options,
    ) -> Result<(), String> {
        for detector in detectors.clone() {
            let found = racy_bytes(detector, options, &self.events);
            if found == self.racy {
                continue;
            }
            for trace in &self.traces {
                check_these(detectors.clone(), options, trace)?;
            }
            return Err(format!(
                "{} is right on each of {} traces alone, and differs from the oracle on all of them side by side: {:?}",
                detector.name,
                self.traces.len(),
                self.events
            ));
        }
        *self = Batch::new(self.apart);
        Ok(())
    }
}

/// The event of the trace with that number, in its place.
fn placed(event: Event, number: u64, apart: Apart) -> Event {
    let mut event = moved(event, number * apart.bytes);
    let thread = |tid: Tid| Tid(tid.0 + number as u32 * apart.threads);
    let lock = |id: SyncId| SyncId(id.0 + number * apart.locks);
    event.thread = thread(event.thread);
    match &mut event.op {
        Op::Fork(child) | Op::Join(child) => *child = thread(*child),
        Op::Acquire(id)
        | Op::Release(id)
        | Op::ReadAcquire(id)
        | Op::ReadRelease(id)
        | Op::VolatileRead(id)
        | Op::VolatileWrite(id)
        | Op::Send(id)
        | Op::Receive(id)
        | Op::Arrive(id)
        | Op::Depart(id) => *id = lock(*id),
        _ => {}
    }
    event
}
