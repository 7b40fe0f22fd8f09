//! What the benchmark programs share: `NAME THREADS SIZE`, random numbers, and the verdict at the end.
//!
//! Each program prints `NAME threads=T size=S checksum=…` and ends with 0 if the result is right, 1 if not, 2 for bad
//! arguments. With the feature `seeded_race` one lock or barrier is missing: the lines marked `// RACE` race, and the result
//! is not judged.
use std::cell::UnsafeCell;
use std::ops::Range;
use std::process::ExitCode;

/// The command line.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    pub threads: usize,
    pub size: usize,
}

impl Arguments {
    pub fn read(default_size: usize) -> Arguments {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let number = |at: usize, default: usize| match words.get(at) {
            None => Some(default),
            Some(word) => word.parse().ok(),
        };
        match (number(0, 4), number(1, default_size), words.len()) {
            (Some(threads @ 1..=256), Some(size @ 1..), 0..=2) => Arguments { threads, size },
            _ => {
                eprintln!(
                    "usage: [THREADS [SIZE]], 1 to 256 threads, size {default_size} unless given"
                );
                std::process::exit(2);
            }
        }
    }

    /// The part of `n` items that belongs to a thread.
    pub fn slice(self, thread: usize, n: usize) -> Range<usize> {
        n * thread / self.threads..n * (thread + 1) / self.threads
    }

    pub fn end(self, name: &str, checksum: f64, right: bool, seeded: bool) -> ExitCode {
        let right = right || seeded;
        println!(
            "{name} threads={} size={} checksum={checksum}{}",
            self.threads,
            self.size,
            if right { "" } else { " WRONG" }
        );
        if right {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// SplitMix64: a stream for each seed.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// An array that threads divide among themselves, as Java programs do: who touches what is up to them and their barriers.
pub struct Field<T>(Box<[UnsafeCell<T>]>);
// SAFETY: the programs order conflicting accesses with barriers and joins (unless a race is seeded).
unsafe impl<T: Send> Sync for Field<T> {}

impl<T: Copy> Field<T> {
    pub fn new(values: impl IntoIterator<Item = T>) -> Field<T> {
        Field(values.into_iter().map(UnsafeCell::new).collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline(always)]
    pub fn get(&self, at: usize) -> T {
        // SAFETY: see `Sync`.
        unsafe { *self.0[at].get() }
    }

    #[inline(always)]
    pub fn set(&self, at: usize, value: T) {
        // SAFETY: see `Sync`.
        unsafe { *self.0[at].get() = value }
    }

    /// The elements of a range, for the one thread that owns them now.
    ///
    /// # Safety
    /// No other thread touches the range while the slice lives.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        let cells = &self.0[range];
        // SAFETY: the caller's promise; UnsafeCell<T> is laid out as T.
        unsafe { std::slice::from_raw_parts_mut(cells.as_ptr() as *mut T, cells.len()) }
    }
}
