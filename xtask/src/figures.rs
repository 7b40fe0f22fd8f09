//! `cargo xtask figures`: shadow fractions of traces shaped like the papers' programs, beside SlimState's Table II.
use crate::cargo;
use std::process::{Command, Stdio};

/// The variants of Table II, in its order.
const VARIANTS: [&str; 4] = ["slimstate", "slimstate-bf", "slimstate-bp", "slimstate-bb"];

/// A shape, how to generate it, and Table II's row.
const ROWS: &[(&str, &[&str], [&str; 4])] = &[
    (
        "crypt",
        &["--size", "400000"],
        ["5.7e-7", "2.3e-7", "2.1e-7", "1.7e-7"],
    ),
    (
        "raytracer",
        &["--size", "150"],
        ["5.7e-5", "5.7e-5", "3.4e-5", "3.4e-5"],
    ),
    (
        "montecarlo",
        &["--size", "1000"],
        ["0.0018", "0.0018", "0.0017", "0.0017"],
    ),
    (
        "moldyn",
        &["--size", "512"],
        ["0.63", "0.63", "0.63", "0.0021"],
    ),
    (
        "series",
        &["--size", "100000"],
        ["0.63", "0.63", "1.4e-5", "1.4e-5"],
    ),
    (
        "lufact",
        &["--size", "150"],
        ["1.00", "1.00", "0.49", "0.41"],
    ),
    ("sor", &["--size", "300"], ["1.00", "1.00", "1.00", "0.004"]),
    (
        "sparse",
        &["--size", "5000"],
        ["1.00", "0.53", "-", "4.1e-6"],
    ),
];

/// Array shadow locations / array elements, ours and the paper's. Sizes differ from the paper's, so
/// fractions that go with 1 / size do, too.
pub(crate) fn figures() -> Result<(), String> {
    cargo::run(&["build", "--quiet", "--release", "--package", "footrace-cli"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| cargo::workspace().join("target"), Into::into);
    let footrace = target.join("release/footrace");
    let file = target.join("figures.ftr");
    println!("shadow fraction, ours (paper)\n");
    print!("{:12}", "program");
    for variant in VARIANTS {
        print!("{variant:>20}");
    }
    println!();
    for (shape, size, paper) in ROWS {
        cargo::check(
            Command::new(&footrace)
                .args(["gen", shape, "-o"])
                .arg(&file)
                .args(*size),
        )?;
        print!("{shape:12}");
        for (variant, paper) in VARIANTS.iter().zip(paper) {
            let output = Command::new(&footrace)
                .args(["analyze", "--stats", "--detector", variant])
                .arg(&file)
                .stderr(Stdio::inherit())
                .output()
                .map_err(|e| format!("cannot run {}: {e}", footrace.display()))?;
            let text = String::from_utf8_lossy(&output.stdout);
            let ours = text
                .lines()
                .filter(|line| line.starts_with("shadow "))
                .find_map(|line| line.rsplit("= ").next())
                .ok_or_else(|| format!("{variant} on {shape}: no shadow fraction"))?;
            print!("{:>20}", format!("{ours} ({paper})"));
        }
        println!();
    }
    std::fs::remove_file(&file).map_err(|e| format!("cannot remove {}: {e}", file.display()))
}
