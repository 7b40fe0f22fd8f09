//! A footprint and the sites that made it, so that a check that happens late still names the line.
//!
//! Most loops touch an array from one place; then the site is a number beside the footprint. What other sites add to
//! the footprint is kept in segments: evenly spaced indices with one site. An unrolled loop has
//! a segment for each further copy of its body, a stencil one for each further neighbour. An access that adds nothing is not recorded, as
//! FastTrack's same-epoch rules do not record it.
//!
//! An element's site is one that touched this element in this region, as long as [`MOST`] segments suffice. Beyond that the
//! trail is *blurred*: each site is still one that touched the array in this region, but an element may be given
//! that of another one. Blurred commits are counted.

use super::footprint::Footprint;
use super::strided::Strided;
use alloc::vec::Vec;
use event::Site;
use smallvec::SmallVec;

/// Segments a trail keeps apart.
pub(super) const MOST: usize = 32;
/// Segments that a trail keeps room for between two arrays.
const KEPT: usize = 4;

/// Evenly spaced elements touched from one site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Segment {
    pub(super) elements: Strided,
    pub(super) site: Site,
}

impl Segment {
    /// What of it is from `first` to `last`, with indices that are smaller by `before`, which is not behind `first`.
    pub(super) fn within(self, (first, last): (u64, u64), before: u64) -> Option<Segment> {
        let elements = self.elements;
        let skipped = first.saturating_sub(elements.first());
        let from = elements.first() + skipped.next_multiple_of(elements.step());
        let to = elements.last().min(last);
        (from <= to).then(|| Segment {
            elements: Strided::new(from - before, to - before, elements.step()),
            site: self.site,
        })
    }
}

/// The reads or the writes of one array by one thread since its last synchronisation.
#[derive(Clone, Debug)]
pub(super) struct Trail<F> {
    pub(super) footprint: F,
    /// The site of everything that no segment has: the first one.
    site: Site,
    /// What other sites added: one segment, mostly, which goes when its entry of the commit buffer does and leaves no small block behind.
    segments: SmallVec<[Segment; 1]>,
    /// Were there too many of them?
    blurred: bool,
}

impl<F: Footprint> Default for Trail<F> {
    fn default() -> Self {
        Trail {
            footprint: F::default(),
            site: Site(0),
            segments: SmallVec::new(),
            blurred: false,
        }
    }
}

/// What an access did to a trail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extended {
    /// It is in the footprint now, or was before.
    Yes,
    /// No representation: commit, and begin anew.
    No,
}

impl<F: Footprint> Trail<F> {
    /// `[SS ACCESS]`: adds `more` to the footprint, if the union has a representation.
    #[inline]
    pub(super) fn extend(&mut self, more: Strided, site: Site) -> Extended {
        if site == self.site {
            // Elements of a segment that this site touches too may keep either name.
            return self.add(more);
        }
        self.extend_from_elsewhere(more, site)
    }

    /// The same for one element.
    #[inline]
    pub(super) fn extend_one(&mut self, i: u64, site: Site) -> Extended {
        if site == self.site {
            return if self.footprint.extend_one(i) {
                Extended::Yes
            } else {
                Extended::No
            };
        }
        self.extend_from_elsewhere(Strided::one(i), site)
    }

    #[inline]
    fn add(&mut self, more: Strided) -> Extended {
        if self.footprint.extend(more) {
            Extended::Yes
        } else {
            Extended::No
        }
    }

    #[inline(never)]
    fn extend_from_elsewhere(&mut self, more: Strided, site: Site) -> Extended {
        if self.footprint.is_empty() {
            self.site = site;
            return self.add(more);
        }
        if self.footprint.includes(more) {
            return Extended::Yes;
        }
        if self.add(more) == Extended::No {
            return Extended::No;
        }
        self.name(more, site);
        Extended::Yes
    }

    /// `elements` were touched from `site`.
    fn name(&mut self, elements: Strided, site: Site) {
        for segment in &mut self.segments {
            if segment.site == site
                && let Some(union) = segment.elements.union(elements)
            {
                segment.elements = union;
                return;
            }
        }
        if self.segments.len() < MOST {
            if self.segments.len() == self.segments.capacity() {
                // Most have one or two, and there is a trail for each array that the thread has touched.
                self.segments.reserve_exact(self.segments.len());
            }
            self.segments.push(Segment { elements, site });
        } else {
            self.blurred = true;
        }
    }

    /// `[SS ACCESS]` for many accesses at once, in no particular order. Returns pieces that have no representation together with
    /// the rest: to be committed one by one, with the sites of this trail.
    pub(super) fn absorb(&mut self, pieces: &[(Strided, Site)]) -> Vec<Strided> {
        let &[(piece, first), ..] = pieces else {
            return Vec::new();
        };
        if self.footprint.is_empty() {
            self.site = first;
        }
        if pieces.len() == 1 && self.extend(piece, first) == Extended::Yes {
            return Vec::new();
        }
        for &(piece, site) in pieces {
            if site != self.site && !self.footprint.includes(piece) {
                self.name(piece, site);
            }
        }
        let mut left = pieces.iter().map(|&(piece, _)| piece).collect();
        self.footprint.extend_all(&mut left);
        left
    }

    /// The same sites with another footprint.
    pub(super) fn with(&self, piece: Strided) -> Self {
        let mut footprint = F::default();
        footprint.extend(piece);
        Trail {
            footprint,
            site: self.site,
            segments: self.segments.clone(),
            blurred: self.blurred,
        }
    }

    pub(super) fn clear(&mut self) {
        self.footprint.clear();
        self.segments.clear();
        self.blurred = false;
    }

    /// The trail was cleared, and may be that of another array next: it keeps little memory.
    pub(super) fn end(&mut self) {
        self.footprint = F::default();
        self.segments.clear();
        if self.segments.capacity() > KEPT {
            self.segments = SmallVec::new();
        }
    }

    /// Did some elements get the site of another one?
    pub(super) fn is_blurred(&self) -> bool {
        self.blurred
    }

    /// Whence element `i` was touched.
    pub(super) fn site_of(&self, i: u64) -> Site {
        site_in(&self.segments, self.site, i)
    }

    /// Is `site` one of those that touched element `i`, as far as the trail knows?
    pub(super) fn was_touched(&self, i: u64, site: Site) -> bool {
        let mut those = self.segments.iter().filter(|s| s.elements.contains(i));
        match those.next() {
            None => site == self.site,
            Some(first) => site == first.site || those.any(|other| other.site == site),
        }
    }

    /// Whence element `from` of a piece of the footprint was touched, and up to which element of that piece the others were, too, as far as that is told easily.
    pub(super) fn sites_from(&self, from: u64, piece: Strided) -> (Site, u64) {
        let step = piece.step();
        let mut last = piece.last();
        for &Segment { elements, site } in &self.segments {
            if elements.contains(from) {
                let alike = elements.step() == step;
                return (
                    site,
                    if alike {
                        last.min(elements.last())
                    } else {
                        from
                    },
                );
            }
            if elements.first() > from {
                last = last.min(from + (elements.first() - 1 - from) / step * step);
            } else if elements.last() > from && elements.step() != step {
                last = from;
            }
        }
        (self.site, last)
    }

    /// The first element of the footprint, which is not empty, and the last.
    pub(super) fn hull(&self) -> (u64, u64) {
        let (mut first, mut last) = (u64::MAX, 0);
        self.footprint.pieces(&mut |piece| {
            first = first.min(piece.first());
            last = last.max(piece.last());
        });
        (first, last)
    }

    /// The one site, or all of them with their segments.
    pub(super) fn sites(&self) -> (Site, &[Segment]) {
        (self.site, &self.segments)
    }

    /// The same in elements that are `ratio` times smaller, if the footprint has a representation.
    pub(super) fn finer(&self, ratio: u64) -> Option<Self> {
        let mut finer = Trail {
            footprint: self.footprint.finer(ratio)?,
            site: self.site,
            segments: SmallVec::new(),
            blurred: self.blurred,
        };
        for &Segment { elements, site } in &self.segments {
            let runs = if elements.step() == 1 {
                1
            } else {
                elements.len()
            };
            if finer.segments.len() as u64 + runs > MOST as u64 {
                finer.blurred = true;
                continue;
            }
            for run in 0..runs {
                let first = elements.first() + run * elements.step();
                let last = if runs == 1 { elements.last() } else { first };
                finer.segments.push(Segment {
                    elements: Strided::run(first * ratio, last * ratio + ratio - 1),
                    site,
                });
            }
        }
        Some(finer)
    }
}

/// The site of the first segment that has `i`, or else `other`.
pub(super) fn site_in(segments: &[Segment], other: Site, i: u64) -> Site {
    let segment = segments.iter().find(|s| s.elements.contains(i));
    segment.map_or(other, |segment| segment.site)
}
