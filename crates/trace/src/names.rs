//! Names of what events speak of, and where named memory lies.
//!
//! ```text
//! 2^40 + 8 i           the i-th named scalar, a word of 8 bytes
//! 2^41 to 2^46         named arrays, each in a region of its own, side by side
//! elsewhere            raw addresses, as a recorded program had them (it has its memory around 2^22, 2^46 and 2^47)
//! ```
//!
//! `new` of a name that was freed takes the same region again if it fits, so that reuse of memory can be
//! written down; else a new one.

use event::Addr;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// First byte of the first named scalar.
pub(crate) const SCALARS: u64 = 1 << 40;
/// First byte of the first named array.
pub(crate) const ARRAYS: u64 = 1 << 41;
/// One past the last byte for named arrays.
const ARRAYS_END: u64 = 1 << 46;
/// Bytes of a named scalar, and of an element unless said otherwise.
pub(crate) const WORD: u8 = 8;
/// Named arrays begin at multiples of this many bytes, as blocks from `malloc` do.
const APART: u64 = 16;
/// The longest array that can be named: its shadow still fits into a machine.
pub(crate) const MAX_LEN: u64 = 1 << 28;

/// Do `len` elements of `elem` bytes at `base` end below the end of memory?
pub(crate) fn within_memory(base: Addr, elem: u8, len: u64) -> bool {
    len.checked_mul(u64::from(elem))
        .and_then(|bytes| base.0.checked_add(bytes))
        .is_some_and(|end| end <= Addr::END)
}

/// What a name can stand for; each has names of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named as in `event`")]
pub enum Namespace {
    Thread,
    Lock,
    Volatile,
    Channel,
    Barrier,
    Function,
    Site,
    Scalar,
    Array,
}

impl Namespace {
    /// All of them.
    pub const ALL: [Namespace; 9] = [
        Namespace::Thread,
        Namespace::Lock,
        Namespace::Volatile,
        Namespace::Channel,
        Namespace::Barrier,
        Namespace::Function,
        Namespace::Site,
        Namespace::Scalar,
        Namespace::Array,
    ];

    /// The name that number `id` goes by if it has none.
    pub fn default_name(self, id: u64) -> String {
        let letter = match self {
            Namespace::Thread => "T",
            Namespace::Lock => "L",
            Namespace::Volatile => "V",
            Namespace::Channel => "G",
            Namespace::Barrier => "B",
            Namespace::Function => "F",
            Namespace::Site => "",
            Namespace::Scalar => "x",
            Namespace::Array => "a",
        };
        format!("{letter}{id}")
    }
}

#[derive(Clone, Debug, Default)]
struct Table {
    ids: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl Table {
    fn intern(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        self.push(name)
    }

    fn push(&mut self, name: &str) -> u32 {
        let id = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.into());
        self.ids.insert(name.into(), id);
        id
    }
}

/// A named array: where it lies now, or lay until it was freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Array {
    /// First byte.
    pub base: Addr,
    /// Bytes in an element.
    pub elem: u8,
    /// Elements.
    pub len: u64,
    /// Not freed.
    pub alive: bool,
    capacity: u64,
}

/// Why a named array cannot be allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unallocated {
    /// It is there already.
    Alive,
    /// It, or all arrays together, would be too large.
    NoRoom,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    name: u32,
    elem: u8,
    len: u64,
}

/// What lies at an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location<'a> {
    /// A named scalar.
    Scalar(&'a str),
    /// An element of a named array.
    Element(&'a str, u64),
    /// Memory without a name.
    Raw(Addr),
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Scalar(x) => write!(f, "{x}"),
            Location::Element(a, i) => write!(f, "{a}[{i}]"),
            Location::Raw(addr) => write!(f, "{addr}"),
        }
    }
}

/// All names of a trace, as far as it has been read.
#[derive(Clone, Debug)]
pub struct Names {
    tables: [Table; Namespace::ALL.len()],
    arrays: Vec<Option<Array>>,
    regions: BTreeMap<Addr, Region>,
    next_array: u64,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names {
            tables: Default::default(),
            arrays: Vec::new(),
            regions: BTreeMap::new(),
            next_array: ARRAYS,
        };
        // Site 0 is "no site"; its name is empty.
        names.tables[Namespace::Site as usize].push("");
        names
    }
}

impl Names {
    /// No names yet.
    pub fn new() -> Self {
        Names::default()
    }

    /// The number of a name, a new one if the name is new.
    pub fn intern(&mut self, space: Namespace, name: &str) -> u32 {
        self.tables[space as usize].intern(name)
    }

    /// The name of a number, if it has one.
    pub fn name(&self, space: Namespace, id: u64) -> Option<&str> {
        let table = &self.tables[space as usize];
        let name = table.names.get(usize::try_from(id).ok()?)?;
        Some(name)
    }

    /// The name of a number, or one made from the number.
    pub fn name_or_default(&self, space: Namespace, id: u64) -> std::borrow::Cow<'_, str> {
        match self.name(space, id) {
            Some(name) => name.into(),
            None => self.free_name(space, id).into(),
        }
    }

    /// A name for a number that has none, not in use in this name space.
    pub fn free_name(&self, space: Namespace, id: u64) -> String {
        let mut name = space.default_name(id);
        while self.knows(space, &name) {
            name.push('\'');
        }
        name
    }

    /// Is this name in use in this name space?
    pub fn knows(&self, space: Namespace, name: &str) -> bool {
        self.tables[space as usize].ids.contains_key(name)
    }

    /// How many names a name space has.
    pub fn count(&self, space: Namespace) -> usize {
        self.tables[space as usize].names.len()
    }

    /// Where a scalar lies.
    pub fn scalar(&mut self, name: &str) -> Addr {
        let id = self.intern(Namespace::Scalar, name);
        Addr(SCALARS + u64::from(WORD) * u64::from(id))
    }

    /// The scalar that lies at this word.
    pub fn scalar_at(&self, addr: Addr) -> Option<u32> {
        let offset = addr.0.checked_sub(SCALARS)?;
        let id = u32::try_from(offset / u64::from(WORD)).ok()?;
        ((id as usize) < self.count(Namespace::Scalar)).then_some(id)
    }

    /// The array of this name, if it was ever allocated.
    pub fn array(&self, name: &str) -> Option<Array> {
        let id = *self.tables[Namespace::Array as usize].ids.get(name)?;
        self.array_by_id(id)
    }

    /// The array of this number, if it was ever allocated.
    pub fn array_by_id(&self, id: u32) -> Option<Array> {
        *self.arrays.get(id as usize)?
    }

    /// Allocates a named array: its old place if it fits there, else a new one. Says what is wrong if it cannot be.
    pub fn allocate(&mut self, name: &str, elem: u8, len: u64) -> Result<Array, Unallocated> {
        let bytes = u64::from(elem).saturating_mul(len);
        let base = match self.array(name) {
            Some(old) if old.alive => return Err(Unallocated::Alive),
            Some(old) if bytes <= old.capacity => old.base,
            _ => Addr(self.next_array),
        };
        if len > MAX_LEN || base.0.saturating_add(bytes) >= ARRAYS_END {
            return Err(Unallocated::NoRoom);
        }
        let id = self.intern(Namespace::Array, name);
        self.bind(id, base, elem, len);
        self.array_by_id(id).ok_or(Unallocated::NoRoom)
    }

    /// Says that array `id` now lies at `base`.
    pub fn bind(&mut self, id: u32, base: Addr, elem: u8, len: u64) {
        let index = id as usize;
        if index >= self.count(Namespace::Array) {
            return;
        }
        if index >= self.arrays.len() {
            self.arrays.resize(index + 1, None);
        }
        let bytes = u64::from(elem).saturating_mul(len);
        // Even an empty array has a first byte of its own.
        let room = bytes
            .max(1)
            .checked_next_multiple_of(APART)
            .unwrap_or(bytes);
        let capacity = match self.arrays[index] {
            Some(old) if old.base == base => old.capacity.max(room),
            _ => room,
        };
        self.next_array = self
            .next_array
            .max(base.0.saturating_add(capacity))
            .min(u64::MAX / 2);
        self.regions.insert(
            base,
            Region {
                name: id,
                elem,
                len,
            },
        );
        self.arrays[index] = Some(Array {
            base,
            elem,
            len,
            alive: true,
            capacity,
        });
    }

    /// The block at `base` is freed. Its name keeps its elements until the next `new`.
    pub fn unbind(&mut self, base: Addr) {
        if let Some(id) = self.array_at(base)
            && let Some(Some(array)) = self.arrays.get_mut(id as usize)
            && array.base == base
        {
            array.alive = false;
        }
    }

    /// The number of the array that begins at `base`.
    pub fn array_at(&self, base: Addr) -> Option<u32> {
        self.regions.get(&base).map(|region| region.name)
    }

    /// The named array around `addr`: its number, first byte, and size of element; also of one that is freed.
    pub fn array_around(&self, addr: Addr) -> Option<(u32, Addr, u8)> {
        let (&base, region) = self.regions.range(..=addr).next_back()?;
        let bytes = u64::from(region.elem).saturating_mul(region.len);
        (addr.0 - base.0 < bytes).then_some((region.name, base, region.elem))
    }

    /// What lies at `addr`, and where it begins and ends.
    pub fn locate(&self, addr: Addr) -> (Location<'_>, std::ops::Range<u64>) {
        if let Some((id, base, elem)) = self.array_around(addr) {
            let elem = u64::from(elem);
            let i = (addr.0 - base.0) / elem;
            let start = base.0 + i * elem;
            let name = self.name(Namespace::Array, u64::from(id)).unwrap_or("");
            return (Location::Element(name, i), start..start + elem);
        }
        if let Some(id) = self.scalar_at(addr) {
            let start = SCALARS + u64::from(WORD) * u64::from(id);
            let name = self.name(Namespace::Scalar, u64::from(id)).unwrap_or("");
            return (Location::Scalar(name), start..start + u64::from(WORD));
        }
        (Location::Raw(addr), addr.0..addr.0.saturating_add(1))
    }
}
