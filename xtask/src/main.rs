//! The one developer door: `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

mod cargo;
mod demo;
mod dist;
mod figures;
mod image;
mod setup;
mod suite;
mod tidy;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  demo             shows what footrace does
  test [--long]    all tests; --long: also those that take hours
  test NAME…       programs of tests/ whose names contain one of these
  bless            accepts the reports of the programs in tests/ as right
  tidy [--fix]     formatting, lints, rules for files
  dist             builds everything into target/dist
  dist runtime     builds the runtime alone again
  bench engine     events per second
  bench native     the C programs: plain, null runtime, fasttrack, ThreadSanitizer
  bench large      the kernels with arrays of 50 MB: fractions, memory
  bench growth     how cost grows with threads and sizes; joins the committed run
  figures          docs/figures.md and the README: the committed run beside the papers' tables
  bench [OPTION…]  the programs of bench/programs beside the peers; --quick, --programs A,B, --detectors A,B, --help";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["demo"] => demo::demo(),
        ["test", rest @ ..] => suite::test(&[], rest),
        ["bless", rest @ ..] => suite::test(&["--bless"], rest),
        ["tidy"] => tidy::tidy(false),
        ["tidy", "--fix"] => tidy::tidy(true),
        ["dist"] => setup::ensure().and_then(|()| dist::dist()).map(|root| {
            let bin = root.join("bin");
            println!("export PATH=\"{}:$PATH\"", bin.display());
        }),
        ["dist", "runtime"] => dist::runtime(),
        ["figures", rest @ ..] => figures::figures(rest),
        ["bench", "engine"] => cargo::run(&[
            "bench",
            "--package",
            "footrace-engine",
            "--package",
            "footrace-analyze",
        ]),
        ["bench", "native", rest @ ..] => suite::bench(&[suite::NATIVE, rest].concat()),
        ["bench", "large", rest @ ..] => suite::bench(&[suite::LARGE, rest].concat()),
        ["bench", "growth", rest @ ..] => suite::bench(&[suite::GROWTH, rest].concat()),
        ["bench", rest @ ..] => suite::bench(rest),
        _ => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    };
    if let Err(message) = result {
        eprintln!("xtask: error: {message}");
        std::process::exit(1);
    }
}
