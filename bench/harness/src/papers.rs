//! What the papers measured, on other machines, in Java.

/// The eight programs that are in both papers and here.
pub(crate) const KERNELS: [&str; 8] = [
    "crypt",
    "series",
    "lufact",
    "moldyn",
    "montecarlo",
    "sparse",
    "sor",
    "raytracer",
];

/// SlimState, Tables II and III: the shadow fraction with the paper's representations (SlimState, and bit sets for both
/// footprints and partitions), FastTrack's and SlimState's heap and time in plain ones.
#[derive(Debug)]
pub(crate) struct SlimState {
    pub(crate) program: &'static str,
    pub(crate) fraction: f64,
    pub(crate) both: f64,
    pub(crate) heap: [f64; 2],
    pub(crate) time: [f64; 2],
}

const fn slim(
    program: &'static str,
    [fraction, both]: [f64; 2],
    heap: [f64; 2],
    time: [f64; 2],
) -> SlimState {
    SlimState {
        program,
        fraction,
        both,
        heap,
        time,
    }
}

pub(crate) const SLIMSTATE: [SlimState; 8] = [
    slim("crypt", [5.7e-7, 1.7e-7], [27.67, 1.00], [87.71, 15.06]),
    slim("series", [0.63, 1.4e-5], [3.86, 3.04], [1.03, 1.03]),
    slim("lufact", [1.00, 0.41], [7.00, 7.00], [40.55, 36.70]),
    slim("moldyn", [0.63, 0.0021], [22.78, 21.44], [15.94, 18.54]),
    slim("montecarlo", [0.0018, 0.0017], [3.55, 1.09], [5.92, 3.09]),
    slim("sparse", [1.00, 4.1e-6], [5.53, 3.17], [40.95, 39.27]),
    slim("sor", [1.00, 0.004], [4.76, 4.76], [19.13, 20.53]),
    slim(
        "raytracer",
        [5.7e-5, 3.4e-5],
        [19.00, 10.27],
        [18.67, 19.12],
    ),
];

/// The detectors of BigFoot's tables, in their order.
pub(crate) const BIGFOOT_DETECTORS: [&str; 5] =
    ["fasttrack", "redcard", "slimstate", "slimcard", "bigfoot"];

/// BigFoot, Tables 1 and 2: BigFoot's check ratio, the time beyond the plain run in plain runs, the memory beyond the plain
/// run in FastTrack's.
#[derive(Debug)]
pub(crate) struct BigFoot {
    pub(crate) program: &'static str,
    pub(crate) check_ratio: f64,
    pub(crate) overhead: [f64; 5],
    /// FastTrack's own is 1.
    pub(crate) space: [f64; 5],
}

const fn big(
    program: &'static str,
    check_ratio: f64,
    overhead: [f64; 5],
    space: [f64; 5],
) -> BigFoot {
    BigFoot {
        program,
        check_ratio,
        overhead,
        space,
    }
}

pub(crate) const BIGFOOT: [BigFoot; 8] = [
    big(
        "crypt",
        2.8e-7,
        [96.21, 62.41, 16.87, 16.11, 0.07],
        [1.0, 0.97, 0.04, 0.04, 0.04],
    ),
    big(
        "series",
        4.2e-5,
        [0.01, 0.01, 0.01, 0.01, 0.01],
        [1.0, 1.02, 0.58, 0.59, 0.57],
    ),
    big(
        "lufact",
        0.0022,
        [71.67, 74.31, 70.53, 74.08, 39.53],
        [1.0, 1.00, 1.10, 1.10, 1.11],
    ),
    big(
        "moldyn",
        0.077,
        [27.56, 8.73, 27.18, 6.58, 2.72],
        [1.0, 0.82, 0.91, 0.80, 0.82],
    ),
    big(
        "montecarlo",
        0.085,
        [7.38, 6.81, 2.73, 2.02, 0.08],
        [1.0, 1.00, 0.30, 0.30, 0.30],
    ),
    big(
        "sparse",
        0.14,
        [26.86, 22.57, 30.78, 27.20, 6.68],
        [1.0, 1.01, 1.44, 1.05, 0.79],
    ),
    big(
        "sor",
        0.25,
        [13.37, 13.03, 15.39, 13.85, 10.73],
        [1.0, 1.00, 1.40, 1.40, 2.48],
    ),
    big(
        "raytracer",
        0.32,
        [13.46, 6.46, 12.64, 7.72, 6.37],
        [1.0, 0.96, 0.60, 0.57, 0.60],
    ),
];

/// Geometric means of BigFoot's 19 programs: check ratios, overheads, space.
pub(crate) const BIGFOOT_MEAN_RATIO: [f64; 5] = [1.0, 0.73, 1.0, 0.76, 0.43];
pub(crate) const BIGFOOT_MEAN_OVERHEAD: [f64; 5] = [7.26, 6.00, 6.03, 5.05, 2.47];
pub(crate) const BIGFOOT_MEAN_SPACE: [f64; 5] = [1.0, 0.99, 0.73, 0.74, 0.72];

/// Pacer: the sampling rate and the time in plain runs.
pub(crate) const PACER: [(&str, f64); 4] =
    [("0", 1.33), ("0.01", 1.52), ("0.03", 1.86), ("1", 12.0)];

/// ReX: FastTrack's time and that of ReX before FastTrack, in plain runs; memory in FastTrack's.
pub(crate) const REX_TIME: [f64; 2] = [68.0, 47.0];
pub(crate) const REX_MEMORY: f64 = 1.3;
