//! The detectors by name. A detector is an analysis and the placement of checks that it is meant for; the papers' systems are
//! points of that table.
//!
//! What does not fit is refused, though any analysis would be precise on any placement: the name says how many checks
//! there are and what they cost, and a `fasttrack` without most of its checks is not FastTrack.

/// A name that `detector=` knows.
#[derive(PartialEq, Eq, Debug)]
pub struct Detector {
    /// The name.
    pub name: &'static str,
    /// The [`crate::analysis::Analysis`] that runs.
    pub analysis: &'static str,
    /// Which checks the program has to be linked with, `-ffootrace=`.
    pub placement: &'static str,
}

const fn detector(name: &'static str, analysis: &'static str, placement: &'static str) -> Detector {
    Detector {
        name,
        analysis,
        placement,
    }
}

/// All of them. The first one of a placement is what runs if the user names none.
pub const DETECTORS: &[Detector] = &[
    detector("fasttrack", "fasttrack", "all"),
    detector("djit", "djit", "all"),
    detector("slimstate", "slimstate", "all"),
    // Bit sets for its footprints and its partitions: Table II's last column.
    detector("slimstate-bb", "slimstate-bb", "all"),
    detector("rex", "rex", "all"),
    detector("rex-lockset", "rex-lockset", "all"),
    detector("pacer", "pacer", "all"),
    detector("redcard", "fasttrack", "redcard"),
    detector("slimcard", "slimstate", "redcard"),
    // On a shadow by pages: measured, it takes less time than SlimState's, and most programs less than with the next one.
    detector("bigfoot-layers", "layers", "bigfoot"),
    // On FastTrack's shadow, where a page that is checked as a whole has one location: nothing is put off.
    detector("bigfoot-pages", "fasttrack", "bigfoot"),
    // The paper's.
    detector("bigfoot", "slimstate", "bigfoot"),
    detector("bigfoot-bb", "slimstate-bb", "bigfoot"),
];

/// The detector of that name.
pub fn find(name: &str) -> Option<&'static Detector> {
    DETECTORS.iter().find(|detector| detector.name == name)
}

/// The detector for a program with that placement whose user names none.
pub fn default_for(placement: &str) -> Option<&'static Detector> {
    DETECTORS.iter().find(|d| d.placement == placement)
}

/// All names, for messages; or those that fit a placement.
pub fn names(placement: Option<&str>) -> alloc::string::String {
    let fits = |d: &&Detector| placement.is_none_or(|placement| d.placement == placement);
    let names: alloc::vec::Vec<_> = DETECTORS.iter().filter(fits).map(|d| d.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::options::Options;

    #[test]
    fn each_detector_has_its_analysis() {
        for detector in DETECTORS {
            let analysis = Analysis::new(detector.analysis, &Options::default());
            assert!(analysis.is_some(), "{detector:?}");
            assert_eq!(find(detector.name), Some(detector));
        }
        assert_eq!(default_for("all").map(|d| d.name), Some("fasttrack"));
        assert_eq!(
            default_for("bigfoot").map(|d| d.name),
            Some("bigfoot-layers")
        );
        assert_eq!(default_for("nonsense"), None);
    }
}
