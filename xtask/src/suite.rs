//! `cargo xtask test [NAME…]` and `bless`: the unit tests, then every program of `tests/` under every detector.
use crate::{cargo, dist, setup, tidy};

/// `chosen` goes to the runner: names to filter by, `--detectors`, `--tool`. With names, only those programs are run.
pub(crate) fn test(extra: &[&str], chosen: &[&str]) -> Result<(), String> {
    setup::ensure_tests()?;
    let long = chosen.contains(&"--long");
    let chosen: Vec<&str> = chosen.iter().copied().filter(|&c| c != "--long").collect();
    if chosen.is_empty() && extra.is_empty() {
        tidy::tidy(false)?;
        let mut tests = cargo::command(&["test", "--workspace", "--quiet"]);
        if long {
            tests.env("FOOTRACE_LONG", "1");
        }
        cargo::check(&mut tests)?;
        loom()?;
    }
    dist::dist()?;
    if chosen.is_empty() && extra.is_empty() {
        let builds = ["test", "--quiet", "--package", "footrace-driver"];
        cargo::run(
            &[
                &builds[..],
                &["--test", "builds", "--test", "lives", "--", "--ignored"],
            ]
            .concat(),
        )?;
    }
    let runner = ["run", "--quiet", "--package", "footrace-corpus", "--"];
    let all: &[&str] = if long { &["--all"] } else { &[] };
    cargo::run(&[&runner[..], extra, all, &chosen].concat())?;
    if chosen.is_empty() && extra.is_empty() {
        // So that the benchmarks cannot rot: it fails if an output is wrong or a seeded race is missed, never for slowness.
        let two = [
            "--quick",
            "--programs",
            "sor,queues.rs",
            "--out",
            "target/bench-quick",
        ];
        harness(&two)?;
    }
    Ok(())
}

/// The engine's locks and locations on a model of the memory, in a target directory of its own: everything is built another way.
fn loom() -> Result<(), String> {
    let engine = ["--package", "footrace-engine", "--test", "loom"];
    let place = ["--release", "--quiet", "--target-dir", "target/loom"];
    let mut models = cargo::command(&[&["test"][..], &engine, &place].concat());
    cargo::check(models.env("RUSTFLAGS", "--cfg loom"))
}

/// What checking every access costs, beside ThreadSanitizer, and nothing else.
pub(crate) const NATIVE: &[&str] = &[
    "--programs",
    "c",
    "--detectors",
    "fasttrack",
    "--no-valgrind",
    "--no-scaling",
    "--no-counters",
];

/// `cargo xtask bench large`: the kernels with arrays of 50 MB, for fractions and memory.
pub(crate) const LARGE: &[&str] = &[
    "--large",
    "--programs",
    "crypt,series,lufact,moldyn,montecarlo,sparse,sor,raytracer,crypt.rs,series.rs,lufact.rs,moldyn.rs,montecarlo.rs,sparse.rs,\
     sor.rs,raytracer.rs",
    "--detectors",
    "fasttrack,slimstate,slimstate-bb,bigfoot-pages,bigfoot-layers",
    "--rounds",
    "1",
    "--no-valgrind",
    "--no-scaling",
    "--limit",
    "400",
    "--minutes",
    "90",
    "--out",
    "bench/results/large",
];

/// `cargo xtask bench growth`: how cost grows, into the committed results.
pub(crate) const GROWTH: &[&str] = &[
    "--only-scaling",
    "--programs",
    "crypt,sor,moldyn,hashmap,queues,sparse,montecarlo",
    "--detectors",
    "fasttrack,slimstate,bigfoot-layers",
    "--no-valgrind",
    "--no-counters",
    "--out",
    "bench/results",
];

/// `cargo xtask bench`: `chosen` goes to the harness.
pub(crate) fn bench(chosen: &[&str]) -> Result<(), String> {
    setup::ensure_benchmarks()?;
    dist::dist()?;
    harness(chosen)
}

fn harness(arguments: &[&str]) -> Result<(), String> {
    let run = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "footrace-bench",
        "--",
    ];
    cargo::run(&[&run[..], arguments].concat())
}
