//! From a log of a recorded process to a trace: numbers get names, and the execution becomes one that the analyser
//! accepts, with the same happens-before and the same accesses.
//!
//! | in a process | in the trace |
//! |---|---|
//! | a mutex is destroyed, another made at its address | two locks |
//! | memory goes away that is no living block, or only part of one | a write to it |
//! | a lock is released by a thread that does not hold it | a message; later owners of the lock receive it |
//! | a lock is taken whose owner went away with it | another lock from then on |
//! | an access beyond the address space, which then faults | nothing |

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use event::{Addr, Elements, Event, Op, Site, SyncId, Tid};
use report::recording::{Decoder, Item, Told};
use report::{Block, Module, Process};
use trace::{Format, Names, Namespace, Writer};

use crate::finding::{Frame, stack};
use crate::symbols::Symbols;

/// The items of a log, as they are needed.
struct Log {
    file: File,
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl Log {
    fn open(path: &Path) -> Result<Log, String> {
        Ok(Log {
            file: File::open(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?,
            decoder: Decoder::new(),
            buffer: vec![0; 1 << 16],
        })
    }

    fn next(&mut self) -> Result<Option<Item>, String> {
        loop {
            match self.decoder.next_item() {
                Ok(Some(item)) => return Ok(Some(item)),
                Ok(None) => {}
                Err(bad) => return Err(bad.to_string()),
            }
            match self.file.read(&mut self.buffer) {
                Ok(0) => return Ok(None),
                Ok(n) => self.decoder.feed(&self.buffer[..n]),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// Who holds a lock, as far as the trace goes.
#[derive(Debug, Default)]
struct Holders {
    /// The one that has it alone, and how often.
    alone: Option<(Tid, u32)>,
    readers: HashMap<Tid, u32>,
}

#[derive(Debug)]
struct Lock {
    id: SyncId,
    holders: Holders,
    /// Has its name been used for another one's messages?
    handed_over: bool,
}

struct Converter<'a> {
    symbols: &'a mut Symbols,
    modules: Vec<Module>,
    names: Names,
    writer: Writer<File>,
    thread_names: HashMap<Tid, String>,
    threads: HashMap<Tid, Tid>,
    sites: HashMap<Site, Site>,
    /// The present bearer of a name.
    objects: HashMap<(Namespace, SyncId), SyncId>,
    locks: HashMap<SyncId, Lock>,
    /// Living blocks.
    blocks: BTreeMap<Addr, u64>,
    events: u64,
    /// Not wanted in the trace.
    without: Told,
    /// What the next event is.
    next: Told,
    /// Did the program tell of its accesses?
    witnessed: bool,
}

/// What a recording became.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Converted {
    /// Whose it was.
    pub(crate) process: Option<Process>,
    /// How many events the trace has.
    pub(crate) events: u64,
    /// Did the program tell of its accesses besides its checks?
    pub(crate) witnessed: bool,
}

/// Makes a trace of a log: of the checks in it, `without` accesses that are checked elsewhere; or the other way round.
pub(crate) fn convert(log: &Path, to: &Path, without: Told) -> Result<Converted, String> {
    let cannot = |e: &dyn std::fmt::Display| format!("cannot write {}: {e}", to.display());
    let file = File::create(to).map_err(|e| cannot(&e))?;
    let writer = Writer::new(file, Format::Binary).map_err(|e| cannot(&e))?;
    let mut symbols = Symbols::default();
    let mut converter = Converter {
        symbols: &mut symbols,
        modules: Vec::new(),
        names: Names::new(),
        writer,
        thread_names: thread_names(log)?,
        threads: HashMap::new(),
        sites: HashMap::from([(Site(0), Site(0))]),
        objects: HashMap::new(),
        locks: HashMap::new(),
        blocks: BTreeMap::new(),
        events: 0,
        without,
        next: Told::Both,
        witnessed: false,
    };
    let mut process = None;
    let mut items = Log::open(log)?;
    while let Some(item) = items.next()? {
        match item {
            Item::Facts(Block::Process(facts)) => process = Some(facts),
            item => converter.item(item).map_err(|e| cannot(&e))?,
        }
    }
    let (events, witnessed) = (converter.events, converter.witnessed);
    converter.writer.finish().map_err(|e| cannot(&e))?;
    Ok(Converted {
        process,
        events,
        witnessed,
    })
}

/// Threads get their names after their first events, so these are looked for first.
fn thread_names(log: &Path) -> Result<HashMap<Tid, String>, String> {
    let mut names = HashMap::new();
    let mut items = Log::open(log)?;
    while let Some(item) = items.next()? {
        if let Item::Named(thread, name) = item {
            names.insert(thread, name);
        }
    }
    Ok(names)
}

/// Without the characters that mean something in a text trace.
fn clean(name: &str) -> String {
    let bad = |c: char| c.is_control() || c.is_whitespace() || "|(),[]#@".contains(c);
    name.chars().map(|c| if bad(c) { '_' } else { c }).collect()
}

/// Names of sites are cut after this many frames, and after this many characters.
const FRAMES: usize = 16;
const LONGEST: usize = 4000;

/// Where a site is, in words: the line and function, and the functions that called it.
fn site_name(frames: &[Frame]) -> String {
    let mut name = String::new();
    for (depth, frame) in frames.iter().take(FRAMES).enumerate() {
        let file = |file: &str| match depth {
            0 => file.to_owned(),
            _ => file.rsplit('/').next().unwrap_or(file).to_owned(),
        };
        let place = frame.place.as_ref();
        let place = place.map(|place| format!("{}:{}", file(&place.file), place.line));
        if depth > 0 {
            name.push_str(" < ");
        }
        if let Some(place) = place {
            name.push_str(&place);
            name.push(' ');
        }
        name.push_str(&frame.name());
    }
    let bad = |c: char| c.is_control() || c == '|' || c == '#';
    let clean = name.chars().map(|c| if bad(c) { '_' } else { c });
    let cut: String = clean.take(LONGEST).collect();
    cut.trim().to_owned()
}

impl Converter<'_> {
    fn item(&mut self, item: Item) -> Result<(), trace::Error> {
        match item {
            Item::Facts(Block::Modules(modules)) => self.modules = modules,
            Item::Facts(_) | Item::Named(..) => {}
            Item::Site(site, pcs) => {
                let frames = stack(self.symbols, &self.modules, &pcs.0);
                let id = self.names.intern(Namespace::Site, &site_name(&frames));
                self.sites.insert(site, Site(id));
            }
            Item::Forgotten(object) => {
                for space in [Namespace::Lock, Namespace::Channel, Namespace::Barrier] {
                    self.objects.remove(&(space, object));
                }
                self.locks.remove(&object);
            }
            Item::Freed {
                thread,
                addr,
                bytes,
                site,
            } => self.freed(thread, addr, bytes, site)?,
            Item::Told(told) => {
                self.next = told;
                self.witnessed = true;
            }
            Item::Event(event) => {
                let told = std::mem::take(&mut self.next);
                if told == Told::Both || told != self.without {
                    self.event(event)?;
                }
            }
        }
        Ok(())
    }

    fn emit(&mut self, thread: Tid, op: Op, site: Site) -> Result<(), trace::Error> {
        let thread = self.thread(thread);
        let site = self.sites.get(&site).copied().unwrap_or_default();
        self.events += 1;
        let event = Event { thread, op, site };
        self.writer.write(&event, &self.names)
    }

    fn thread(&mut self, thread: Tid) -> Tid {
        if let Some(&known) = self.threads.get(&thread) {
            return known;
        }
        let name = match self.thread_names.get(&thread) {
            _ if thread.0 == 1 => "main".to_owned(),
            Some(name) => format!("T{}-{}", thread.0, clean(name)),
            None => format!("T{}", thread.0),
        };
        let id = Tid(self.names.intern(Namespace::Thread, &name));
        self.threads.insert(thread, id);
        id
    }

    /// A new name for an object at an address; one like it if that is taken.
    fn name(&mut self, space: Namespace, object: SyncId) -> SyncId {
        let base = match self.symbols.global(&self.modules, object.0) {
            Some((name, 0, _)) => clean(&name),
            Some((name, offset, _)) => format!("{}+{offset}", clean(&name)),
            None => format!("{:#x}", object.0),
        };
        let mut name = base.clone();
        let mut next = 2;
        while self.names.knows(space, &name) {
            name = format!("{base}'{next}");
            next += 1;
        }
        SyncId(self.names.intern(space, &name).into())
    }

    fn object(&mut self, space: Namespace, object: SyncId) -> SyncId {
        if let Some(&known) = self.objects.get(&(space, object)) {
            return known;
        }
        let id = self.name(space, object);
        self.objects.insert((space, object), id);
        id
    }

    fn freed(
        &mut self,
        thread: Tid,
        addr: Addr,
        bytes: u64,
        site: Site,
    ) -> Result<(), trace::Error> {
        if self.blocks.get(&addr) == Some(&bytes) {
            self.blocks.remove(&addr);
            return self.emit(thread, Op::Free { addr }, site);
        }
        let elements = Elements {
            base: addr,
            elem: 1,
            lo: 0,
            hi: bytes,
            stride: 1,
        };
        let kind = event::AccessKind::Write;
        let op = Op::Range { kind, elements };
        self.event(Event { thread, op, site })
    }

    fn event(&mut self, event: Event) -> Result<(), trace::Error> {
        let Event { thread, op, site } = event;
        let reaches = |addr: Addr, bytes: u64| {
            let end = addr.0.checked_add(bytes);
            bytes > 0 && end.is_some_and(|end| end <= Addr::END)
        };
        let op = match op {
            Op::Access { addr, size, .. }
            | Op::Load { addr, size, .. }
            | Op::Store { addr, size, .. }
            | Op::Rmw { addr, size, .. } => {
                if !reaches(addr, size.into()) {
                    return Ok(());
                }
                op
            }
            Op::Range { kind, elements } => return self.range(thread, kind, elements, site),
            Op::Alloc { addr, elem, len } => {
                let bytes = u64::from(elem).saturating_mul(len);
                if !reaches(addr, bytes.max(1)) {
                    return Ok(());
                }
                self.displace(addr, bytes);
                self.blocks.insert(addr, bytes);
                op
            }
            Op::Free { .. } => return Ok(()),
            Op::Acquire(_) | Op::Release(_) | Op::ReadAcquire(_) | Op::ReadRelease(_) => {
                return self.lock(thread, op, site);
            }
            Op::VolatileRead(x) => Op::VolatileRead(self.object(Namespace::Volatile, x)),
            Op::VolatileWrite(x) => Op::VolatileWrite(self.object(Namespace::Volatile, x)),
            Op::Send(g) => Op::Send(self.object(Namespace::Channel, g)),
            Op::Receive(g) => Op::Receive(self.object(Namespace::Channel, g)),
            Op::Arrive(b) => Op::Arrive(self.object(Namespace::Barrier, b)),
            Op::Depart(b) => Op::Depart(self.object(Namespace::Barrier, b)),
            Op::Fork(child) => Op::Fork(self.thread(child)),
            Op::Join(child) => Op::Join(self.thread(child)),
            Op::Fence(_) | Op::Begin | Op::End => op,
            Op::SampleBegin | Op::SampleEnd | Op::Enter(_) | Op::Exit(_) => return Ok(()),
        };
        self.emit(thread, op, site)
    }

    /// In pieces that the analyser takes.
    fn range(
        &mut self,
        thread: Tid,
        kind: event::AccessKind,
        elements: Elements,
        site: Site,
    ) -> Result<(), trace::Error> {
        const MOST: u64 = 1 << 27;
        let bytes = elements.hi.checked_mul(u64::from(elements.elem));
        let end = bytes.and_then(|bytes| elements.base.0.checked_add(bytes));
        if elements.is_empty() || end.is_none_or(|end| end > Addr::END) {
            return Ok(());
        }
        let mut lo = elements.lo;
        while lo < elements.hi {
            let step = MOST.saturating_mul(elements.stride);
            let hi = lo.saturating_add(step).min(elements.hi);
            let elements = Elements { lo, hi, ..elements };
            self.emit(thread, Op::Range { kind, elements }, site)?;
            lo = lo.saturating_add(step);
        }
        Ok(())
    }

    /// A block comes where others may have been.
    fn displace(&mut self, addr: Addr, bytes: u64) {
        self.blocks.remove(&addr);
        let end = Addr(addr.0 + bytes);
        while let Some((&other, &size)) = self.blocks.range(..end).next_back()
            && other.0 + size > addr.0
        {
            self.blocks.remove(&other);
        }
    }

    fn lock(&mut self, thread: Tid, op: Op, site: Site) -> Result<(), trace::Error> {
        let (Op::Acquire(object)
        | Op::Release(object)
        | Op::ReadAcquire(object)
        | Op::ReadRelease(object)) = op
        else {
            return Ok(());
        };
        if !self.locks.contains_key(&object) {
            let lock = Lock {
                id: self.name(Namespace::Lock, object),
                holders: Holders::default(),
                handed_over: false,
            };
            self.locks.insert(object, lock);
        }
        let fits = self
            .locks
            .get_mut(&object)
            .is_some_and(|lock| lock.holders.step(thread, op));
        let release = matches!(op, Op::Release(_) | Op::ReadRelease(_));
        if !fits {
            // From here on it is another lock: what the trace knows of its owner is not so.
            let id = self.name(Namespace::Lock, object);
            if let Some(lock) = self.locks.get_mut(&object) {
                lock.id = id;
                lock.holders = Holders::default();
                lock.handed_over |= release;
                if !release {
                    lock.holders.step(thread, op);
                }
            }
        }
        let Some(lock) = self.locks.get(&object) else {
            return Ok(());
        };
        let (id, handed_over) = (lock.id, lock.handed_over);
        if release && !fits {
            let channel = self.object(Namespace::Channel, object);
            return self.emit(thread, Op::Send(channel), site);
        }
        let op = match op {
            Op::Acquire(_) => Op::Acquire(id),
            Op::Release(_) => Op::Release(id),
            Op::ReadAcquire(_) => Op::ReadAcquire(id),
            _ => Op::ReadRelease(id),
        };
        self.emit(thread, op, site)?;
        if handed_over && !release {
            let channel = self.object(Namespace::Channel, object);
            self.emit(thread, Op::Receive(channel), site)?;
        }
        Ok(())
    }
}

impl Holders {
    /// The operation, if it can be; false if it cannot, and nothing has changed.
    fn step(&mut self, thread: Tid, op: Op) -> bool {
        match op {
            Op::Acquire(_) => match &mut self.alone {
                Some((owner, depth)) if *owner == thread => *depth += 1,
                None if self.readers.is_empty() => self.alone = Some((thread, 1)),
                _ => return false,
            },
            Op::Release(_) => match &mut self.alone {
                Some((owner, depth)) if *owner == thread => {
                    *depth -= 1;
                    if *depth == 0 {
                        self.alone = None;
                    }
                }
                _ => return false,
            },
            Op::ReadAcquire(_) => {
                if self.alone.is_some() {
                    return false;
                }
                *self.readers.entry(thread).or_default() += 1;
            }
            _ => {
                let Some(depth) = self.readers.get_mut(&thread) else {
                    return false;
                };
                *depth -= 1;
                if *depth == 0 {
                    self.readers.remove(&thread);
                }
            }
        }
        true
    }
}
