//! The runtime's own memory, straight from the kernel; the program's malloc is never asked.
//!
//! Small blocks come from size classes, four to each power of two, cut from runs that get longer, and then from chunks; each class has a
//! few shards so that threads seldom meet. A block is freed to the shard of who frees it, so a shard that has run out takes
//! what has gathered in the others before it maps more: where one thread allocates and another frees, memory stays as
//! it is. Blocks beyond [`LARGEST_CLASS`] are mappings of their own: zeroed
//! by the kernel, given back at once.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::{mem, ptr};

use crate::lock::Spin;
use crate::{sys, tls};

const PAGE: usize = 4096;
/// A class gets so much at first, then as much as it has. It is cut from what the shard has for all classes: of many, a few blocks are all that is ever used, and
/// a page for each of them would be mostly empty.
const RUN: usize = 512;
/// Whoever needs so much at a time maps it for itself, but never more than the last; a shard maps so much for its runs.
const CHUNK: usize = 64 * 1024;
const LARGEST_CHUNK: usize = 1024 * 1024;
const LARGEST_CLASS: usize = 32 * 1024;
const SMALLEST: usize = 16;
/// 16 32 48 64 | 80 96 112 128 | 160 … | … 32768
const CLASSES: usize = 40;
const SHARDS: usize = 4;

/// Class of a size: the first one that holds it.
const fn class_of(size: usize) -> usize {
    if size <= 64 {
        return size.saturating_sub(1) / SMALLEST;
    }
    let above = size - 1;
    let power = above.ilog2() as usize; // 2^power <= above
    let quarter = (above >> (power - 2)) & 3;
    4 + (power - 6) * 4 + quarter
}

/// Bytes in a block of `class`.
const fn class_size(class: usize) -> usize {
    if class < 4 {
        return (class + 1) * SMALLEST;
    }
    let power = 6 + (class - 4) / 4;
    let quarter = (class - 4) % 4;
    (1 << power) + (quarter + 1) * (1 << (power - 2))
}

const _: () = {
    assert!(class_size(CLASSES - 1) == LARGEST_CLASS);
    let mut size = 1;
    while size <= LARGEST_CLASS {
        let class = class_of(size);
        assert!(class_size(class) >= size);
        assert!(class == 0 || class_size(class - 1) < size);
        size += 1;
    }
};

/// A list of free blocks, linked through their first word, and the chunk that new ones are cut from.
#[derive(Debug)]
struct Class {
    free: *mut *mut u8,
    fresh: *mut u8,
    fresh_left: usize,
    /// Bytes of the next run or chunk.
    chunk: usize,
}

/// What the runs of a shard's classes are cut from.
#[derive(Debug)]
struct Common {
    fresh: *mut u8,
    left: usize,
}

// SAFETY: the pointer is to memory that the shard alone owns.
unsafe impl Send for Common {}

impl Common {
    const fn new() -> Self {
        Common {
            fresh: ptr::null_mut(),
            left: 0,
        }
    }

    /// So many bytes, no more than a chunk has, that begin at a multiple of `align`.
    fn cut(&mut self, bytes: usize, align: usize) -> Option<*mut u8> {
        let mut skip = self.fresh.align_offset(align);
        if self.left < skip.saturating_add(bytes) {
            self.fresh = map_counted(CHUNK)?;
            self.left = CHUNK;
            skip = 0;
        }
        // SAFETY: so many bytes are left.
        let run = unsafe { self.fresh.add(skip) };
        // SAFETY: and so many more.
        self.fresh = unsafe { run.add(bytes) };
        self.left -= skip + bytes;
        Some(run)
    }
}

/// The classes that some threads use.
#[derive(Debug)]
struct Shard {
    classes: [Spin<Class>; CLASSES],
    common: Spin<Common>,
}

impl Shard {
    const fn new() -> Self {
        Shard {
            classes: [const { Spin::new(Class::new()) }; CLASSES],
            common: Spin::new(Common::new()),
        }
    }
}

// SAFETY: the pointers are to memory that the class alone owns.
unsafe impl Send for Class {}

impl Class {
    const fn new() -> Self {
        Class {
            free: ptr::null_mut(),
            fresh: ptr::null_mut(),
            fresh_left: 0,
            chunk: RUN,
        }
    }

    /// A block, and whether it may hold old bytes, if there is one without mapping more.
    fn take(&mut self, size: usize) -> Option<(*mut u8, bool)> {
        if self.free.is_null() {
            return self.cut(size).map(|block| (block, false));
        }
        let block = self.free;
        // SAFETY: a free block's first word is the link, written by `give`.
        self.free = unsafe { block.read() }.cast();
        Some((block.cast(), true))
    }

    /// A block that nobody had yet.
    fn cut(&mut self, size: usize) -> Option<*mut u8> {
        if self.fresh_left < size {
            return None;
        }
        let block = self.fresh;
        // SAFETY: `size` bytes are left in the chunk.
        self.fresh = unsafe { block.add(size) };
        self.fresh_left -= size;
        Some(block)
    }

    /// The same from a new run of what is common to all classes, or from a new chunk.
    fn extend(&mut self, size: usize, common: &Spin<Common>) -> (*mut u8, bool) {
        // Blocks of half a page and more leave little of their pages to others.
        let bytes = if size < PAGE / 2 {
            self.chunk.max(size)
        } else {
            self.chunk.max(CHUNK)
        };
        let more = if bytes < CHUNK {
            // Blocks of a power-of-two class must be aligned to their size.
            let align = 1 << size.trailing_zeros();
            common.lock().cut(bytes, align)
        } else {
            map_counted(bytes)
        };
        let Some(more) = more else {
            return (ptr::null_mut(), false);
        };
        self.fresh = more;
        self.fresh_left = bytes;
        self.chunk = (2 * bytes).min(LARGEST_CHUNK);
        (self.cut(size).unwrap_or(ptr::null_mut()), false)
    }

    /// Takes over the free blocks of another shard's class.
    fn adopt(&mut self, mut list: *mut *mut u8) {
        if self.free.is_null() {
            self.free = list;
            return;
        }
        // Somebody freed a block to this shard meanwhile.
        while !list.is_null() {
            // SAFETY: a free block's first word is the link, written by `give`.
            let next = unsafe { list.read() }.cast();
            self.give(list.cast());
            list = next;
        }
    }

    fn give(&mut self, block: *mut u8) {
        let link: *mut *mut u8 = block.cast();
        // SAFETY: every class holds a word, and the block is nobody's any more.
        unsafe { link.write(self.free.cast()) };
        self.free = link;
    }
}

/// The allocator.
#[derive(Debug)]
pub struct Memory {
    shards: [Shard; SHARDS],
}

static MAPPED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Bytes mapped for the runtime at any one time, at most.
pub fn most_mapped() -> usize {
    MOST.load(Ordering::Relaxed)
}

fn map_counted(bytes: usize) -> Option<*mut u8> {
    let got = sys::map(bytes);
    if got.is_some() {
        let now = MAPPED.fetch_add(bytes, Ordering::Relaxed) + bytes;
        MOST.fetch_max(now, Ordering::Relaxed);
    }
    got
}

impl Memory {
    /// An allocator with nothing mapped.
    pub const fn new() -> Self {
        Memory {
            shards: [const { Shard::new() }; SHARDS],
        }
    }

    /// Any shard will do; the address of the thread's own block tells threads apart cheaply.
    fn shard(&self) -> &Shard {
        let page = (tls::block() as usize >> 12) as u32;
        &self.shards[(page.wrapping_mul(0x9E37_79B9) >> 30) as usize % SHARDS]
    }

    fn take(&self, layout: Layout) -> (*mut u8, bool) {
        // Blocks of a power-of-two class are aligned to their size, up to a page.
        let size = if layout.align() <= SMALLEST {
            layout.size()
        } else {
            layout.size().max(layout.align()).next_power_of_two()
        };
        if size > LARGEST_CLASS || layout.align() > PAGE {
            return (large(layout), false);
        }
        let class = class_of(size);
        let own = self.shard();
        let block = own.classes[class].lock().take(class_size(class));
        block.unwrap_or_else(|| self.refill(own, class))
    }

    /// A block for a shard that has run out.
    #[cold]
    fn refill(&self, own: &Shard, class: usize) -> (*mut u8, bool) {
        let (own, common) = (&own.classes[class], &own.common);
        let size = class_size(class);
        for shard in &self.shards {
            // One lock at a time: two threads may refill from each other.
            let gathered = mem::replace(&mut shard.classes[class].lock().free, ptr::null_mut());
            if gathered.is_null() {
                continue;
            }
            let mut own = own.lock();
            own.adopt(gathered);
            if let Some(block) = own.take(size) {
                return block;
            }
        }
        let mut own = own.lock();
        let block = own.take(size);
        block.unwrap_or_else(|| own.extend(size, common))
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

fn large(layout: Layout) -> *mut u8 {
    let bytes = layout.size().next_multiple_of(PAGE);
    if layout.align() <= PAGE {
        return map_counted(bytes).unwrap_or(ptr::null_mut());
    }
    // Over-allocate and trim: rare.
    let Some(start) = map_counted(bytes + layout.align()) else {
        return ptr::null_mut();
    };
    let skip = start.align_offset(layout.align());
    MAPPED.fetch_sub(layout.align(), Ordering::Relaxed);
    // SAFETY: the mapping is `align` bytes longer than needed.
    let aligned = unsafe { start.add(skip) };
    if skip > 0 {
        // SAFETY: the head is ours and unused.
        unsafe { sys::unmap(start, skip) };
    }
    // SAFETY: still inside the mapping.
    let end = unsafe { aligned.add(bytes) };
    if layout.align() > skip {
        // SAFETY: the tail is ours and unused.
        unsafe { sys::unmap(end, layout.align() - skip) };
    }
    aligned
}

// SAFETY: blocks are disjoint, as large and as aligned as asked, and stay until deallocated.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout).0
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (block, old) = self.take(layout);
        if old {
            // SAFETY: the block holds at least `size` bytes.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let size = if layout.align() <= SMALLEST {
            layout.size()
        } else {
            layout.size().max(layout.align()).next_power_of_two()
        };
        if size > LARGEST_CLASS || layout.align() > PAGE {
            let bytes = layout.size().next_multiple_of(PAGE);
            MAPPED.fetch_sub(bytes, Ordering::Relaxed);
            // SAFETY: `take` made a mapping of its own for this layout.
            unsafe { sys::unmap(block, bytes) };
        } else {
            self.shard().classes[class_of(size)].lock().give(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_that_has_run_out_takes_what_was_freed_to_others() {
        let memory = Memory::new();
        let class = class_of(48);
        let [first, second, ..] = &memory.shards;
        let (allocating, freeing) = (first, &second.classes[class]);
        let blocks_of_a_chunk = CHUNK / class_size(class);
        let mut blocks: alloc::vec::Vec<*mut u8> = (0..blocks_of_a_chunk)
            .map(|_| memory.refill(allocating, class).0)
            .collect();
        for &block in &blocks {
            freeing.lock().give(block);
        }
        let mut again: alloc::vec::Vec<*mut u8> = (0..blocks_of_a_chunk)
            .map(|_| memory.refill(allocating, class).0)
            .collect();
        blocks.sort();
        again.sort();
        assert_eq!(blocks, again);
    }

    /// Blocks of all classes are apart from each other and as aligned as they must be, however many there are.
    #[test]
    fn runs_of_classes_do_not_overlap() {
        let memory = Memory::new();
        let shard = &memory.shards[0];
        let mut blocks = alloc::vec::Vec::new();
        for round in 0..300 {
            for class in (0..CLASSES).filter(|class| round % (class + 1) == 0) {
                let (block, _) = memory.refill(shard, class);
                let size = class_size(class);
                let align = if size.is_power_of_two() {
                    size.min(PAGE)
                } else {
                    SMALLEST
                };
                assert_eq!(block.align_offset(align), 0, "{size}");
                // SAFETY: the block is ours.
                unsafe { block.write_bytes(class as u8, size) };
                blocks.push((block as usize, size));
            }
        }
        blocks.sort_unstable();
        let apart = |pair: &[(usize, usize)]| pair[0].0 + pair[0].1 <= pair[1].0;
        assert!(blocks.windows(2).all(apart));
    }

    #[test]
    fn adopted_blocks_join_those_that_are_there() {
        let mut class = Class::new();
        let mut blocks = [[0usize; 2]; 3];
        let [own, others @ ..] = &mut blocks;
        class.give(ptr::from_mut(own).cast());
        let mut other = Class::new();
        for block in others {
            other.give(ptr::from_mut(block).cast());
        }
        class.adopt(other.free);
        let taken: alloc::vec::Vec<_> = core::iter::from_fn(|| class.take(16)).collect();
        assert_eq!(taken.len(), 3);
    }
}
