//! The paper's rule: Algorithms 1 and 2 with their trie. Not sound; see the module above.
//!
//! A context is a node of one trie that all threads share. Each thread stands on a node and goes down an edge
//! when it sends or releases. The history maps an access and a node to the threads, at most two,
//! that made it there. Both maps are split into shards by their keys' hashes, with a short spin lock each, and hold a
//! bounded number of entries: a full shard is emptied, which makes the filter forget, and node
//! numbers are never given twice.

use super::own::LockSet;
use super::{Footprint, Locks, Redundancy, Step, Symbol, Touch, Verdict};
use crate::lock::Lock;
use crate::random::mix;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::sync::atomic::{AtomicU64, Ordering};
use event::{AccessKind, Site, Tid};

const SHARDS: usize = 64;
const SHARD_ENTRIES: usize = 4096;

/// The number of a node; 0 is the root.
type Node = u64;

/// The rule of `rex-paper`.
#[derive(Debug)]
pub struct Trie {
    locks: Locks,
    children: Sharded<(Node, Symbol), Node>,
    history: Sharded<(Access, Node), Stack>,
    nodes: AtomicU64,
}

/// An access in a form that has an order: site, kind, and base, element size, lo, hi, stride.
type Access = (Site, AccessKind, [u64; 5]);

/// The paper's bounded stack: who made the access in this context, and to which generation of the memory.
#[derive(Clone, Copy, Debug)]
struct Stack {
    threads: [Option<Tid>; 2],
    generation: u64,
}

/// A thread's place in the trie.
#[derive(Debug)]
pub struct Climber {
    tid: Tid,
    /// What it sent.
    sent: Node,
    /// The same, with the locks it holds.
    context: Node,
    held: LockSet,
}

impl Trie {
    /// An empty trie.
    pub fn new(locks: Locks) -> Self {
        Trie {
            locks,
            children: Sharded::new(),
            history: Sharded::new(),
            nodes: AtomicU64::new(1),
        }
    }

    fn unique(&self) -> u64 {
        self.nodes.fetch_add(1, Ordering::Relaxed)
    }

    fn child(&self, node: Node, symbol: Symbol) -> Node {
        if let Symbol::Unique(fresh) = symbol {
            return fresh;
        }
        self.children.with(mix(node), (node, symbol), |child| {
            *child.get_or_insert_with(|| self.unique())
        })
    }

    fn send(&self, thread: &mut Climber, symbol: Symbol) {
        thread.sent = self.child(thread.sent, symbol);
        self.find_context(thread);
    }

    /// Below what was sent, the path of the locks held, in their order.
    fn find_context(&self, thread: &mut Climber) {
        thread.context = thread
            .held
            .keys()
            .into_iter()
            .fold(thread.sent, |node, (lock, mode)| {
                self.child(node, Symbol::Lock(lock, mode))
            });
    }
}

impl Redundancy for Trie {
    type Thread = Climber;

    fn thread(&self, tid: Tid) -> Climber {
        Climber {
            tid,
            sent: 0,
            context: 0,
            held: LockSet::default(),
        }
    }

    fn step(&self, thread: &mut Climber, step: Step) {
        match (step, self.locks) {
            (Step::Acquire(..), Locks::Order) => {}
            (Step::Release(lock, mode), Locks::Order) => {
                self.send(thread, Symbol::Lock(lock, mode));
            }
            (Step::Acquire(lock, mode), Locks::Held) => {
                thread.held.acquire(lock, mode);
                self.find_context(thread);
            }
            (Step::Release(lock, mode), Locks::Held) => {
                thread.held.release(lock, mode);
                self.find_context(thread);
            }
            (Step::Send(symbol), _) => self.send(thread, symbol),
            // "Treated as accesses enclosed by ACQ and REL": a read releases, too.
            (Step::VolatileRead(x), _) => self.send(thread, Symbol::Volatile(x)),
            // "Treated conservatively as REL/SND operations each with a unique ID."
            (Step::Atomic { .. }, _) => {
                let symbol = Symbol::Unique(self.unique());
                self.send(thread, symbol);
            }
        }
    }

    /// Algorithm 2.
    fn check(&self, thread: &mut Climber, touch: Touch, generation: u64) -> Verdict {
        let bytes = match touch.footprint {
            Footprint::Bytes { addr, size } => [addr.0, u64::from(size), 0, 1, 0],
            Footprint::Elements(e) => [e.base.0, u64::from(e.elem), e.lo, e.hi, e.stride],
        };
        let hash = mix(bytes[0]) ^ thread.context;
        let key = ((touch.site, touch.kind, bytes), thread.context);
        let t = Some(thread.tid);
        self.history.with(hash, key, |stack| match stack {
            None => {
                *stack = Some(Stack {
                    threads: [t, None],
                    generation,
                });
                Verdict::FirstInContext
            }
            Some(old) if old.generation != generation => {
                *old = Stack {
                    threads: [t, None],
                    generation,
                };
                Verdict::Reallocated
            }
            Some(Stack { threads, .. }) if threads.contains(&t) => Verdict::IntraThread,
            Some(Stack {
                threads: [_, second @ None],
                ..
            }) => {
                *second = t;
                Verdict::SecondThread
            }
            Some(_) => Verdict::InterThread,
        })
    }
}

/// A bounded map shared by all threads.
#[derive(Debug)]
struct Sharded<K, V> {
    shards: Box<[Lock<BTreeMap<K, V>>]>,
}

impl<K: Ord, V> Sharded<K, V> {
    fn new() -> Self {
        Sharded {
            shards: (0..SHARDS).map(|_| Lock::new(BTreeMap::new())).collect(),
        }
    }

    /// Looks at the entry of `key` and keeps what `f` leaves there.
    fn with<T>(&self, hash: u64, key: K, f: impl FnOnce(&mut Option<V>) -> T) -> T {
        let mut shard = self.shards[(mix(hash) % SHARDS as u64) as usize].lock();
        let mut entry = shard.remove(&key);
        let result = f(&mut entry);
        if let Some(value) = entry {
            if shard.len() >= SHARD_ENTRIES {
                shard.clear();
            }
            shard.insert(key, value);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rex::Mode;
    use event::{Addr, SyncId};

    fn touch(addr: u64) -> Touch {
        Touch {
            kind: AccessKind::Read,
            site: Site(1),
            footprint: Footprint::Bytes {
                addr: Addr(addr),
                size: 4,
            },
        }
    }

    #[test]
    fn the_four_cases_of_algorithm_2() {
        let trie = Trie::new(Locks::Order);
        let mut threads: [Climber; 3] = core::array::from_fn(|i| trie.thread(Tid(i as u32)));
        let mut check = |t: usize| trie.check(&mut threads[t], touch(8), 0);
        assert_eq!(check(0), Verdict::FirstInContext);
        assert_eq!(check(0), Verdict::IntraThread);
        assert_eq!(check(1), Verdict::SecondThread);
        assert_eq!(check(2), Verdict::InterThread);
        for thread in &mut threads {
            trie.step(thread, Step::Release(SyncId(5), Mode::Exclusive));
        }
        let mut check = |t: usize| trie.check(&mut threads[t], touch(8), 0);
        assert_eq!(check(2), Verdict::FirstInContext);
        assert_eq!(check(1), Verdict::SecondThread);
        assert_eq!(check(0), Verdict::InterThread);
    }

    #[test]
    fn memory_is_bounded() {
        let trie = Trie::new(Locks::Order);
        let mut thread = trie.thread(Tid(0));
        for i in 0..600_000 {
            trie.step(&mut thread, Step::Release(SyncId(i), Mode::Exclusive));
            trie.check(&mut thread, touch(i), 0);
        }
        let entries = |n: usize| assert!(n <= SHARD_ENTRIES);
        trie.children
            .shards
            .iter()
            .for_each(|s| entries(s.lock().len()));
        trie.history
            .shards
            .iter()
            .for_each(|s| entries(s.lock().len()));
    }
}
