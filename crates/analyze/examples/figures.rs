//! Array shadow fractions of the program shapes beside Table II of the SlimState paper, as Markdown.
//! `cargo xtask figures` writes them to the end of docs/figures.md.

use engine::Detector;
use engine::replay::Replay;
use engine::slimstate::{SlimState, SlimStateBb, SlimStateBf, SlimStateBp, Summary};
use trace::shapes::{SHAPES, Shape, Size};

const PREFACE: &str = "\
## Traces: array shadow fractions

Shadow locations of arrays for each array element, over all arrays that a program allocates. In parentheses: Table II of the SlimState
paper, its sizes (Table III), and the number of locations that follows from both. Ours are traces of `footrace gen NAME` in their default
sizes, with 4 worker threads: the same loops over smaller arrays.

How to read it: what is compressed needs a number of locations that does not grow with the array, so fractions near 0 depend on the sizes, and
the *locations* are to be compared (crypt, raytracer, montecarlo for each of its tasks). What is not compressed has a fraction that does not depend
on the size: moldyn, series, lufact, sor, sparse.

Where the shapes differ from the programs: sparse's row numbers are read in order when the entries are sorted, which keeps one of its
eight arrays COARSE (the paper has all of them FINE); lufact is 100 columns long instead of 2000.
*Locations* are those that exist: single elements of 4 bytes share that of their word (sparse has four arrays of such, the paper one location for each element).
*Checks for each access*: locations looked at by SlimState, where FastTrack has 1.
";

/// Array elements of the paper's programs, in millions (Table III).
const ELEMENTS: &[(&str, f64)] = &[
    ("crypt", 150.0),
    ("raytracer", 1.0),
    ("montecarlo", 180.0),
    ("moldyn", 0.2),
    ("series", 2.0),
    ("lufact", 4.0),
    ("sor", 4.0),
    ("sparse", 16.0),
];

/// The paper's columns: SlimState, bit-set footprints, bit-set partitions, both.
const PAPER: &[(&str, [Option<f64>; 4])] = &[
    (
        "crypt",
        [Some(5.7e-7), Some(2.3e-7), Some(2.1e-7), Some(1.7e-7)],
    ),
    (
        "raytracer",
        [Some(5.7e-5), Some(5.7e-5), Some(3.4e-5), Some(3.4e-5)],
    ),
    (
        "montecarlo",
        [Some(0.0018), Some(0.0018), Some(0.0017), Some(0.0017)],
    ),
    ("moldyn", [Some(0.63), Some(0.63), Some(0.63), Some(0.0021)]),
    (
        "series",
        [Some(0.63), Some(0.63), Some(1.4e-5), Some(1.4e-5)],
    ),
    ("lufact", [Some(1.0), Some(1.0), Some(0.49), Some(0.41)]),
    ("sor", [Some(1.0), Some(1.0), Some(1.0), Some(0.004)]),
    ("sparse", [Some(1.0), Some(0.53), None, Some(4.1e-6)]),
];

struct Measured {
    summary: Summary,
    accesses: u64,
    checks: u64,
}

fn measure<D: Detector + Default>(shape: &Shape) -> Measured {
    let mut replay = Replay::new(D::default());
    let size = Size {
        size: None,
        iterations: None,
        threads: 4,
        seed: 1,
    };
    let mut accesses = 0;
    let made = shape.generate(&size, &mut |event, _| {
        accesses += u64::from(matches!(event.op, event::Op::Access { .. }));
        replay.step(event, &mut |_| {});
        Ok(())
    });
    made.expect("shapes are well-formed");
    replay.finish(&mut |_| {});
    let mut checks = 0;
    // FastTrack's rules count one for each location that was looked at.
    replay.counters(&mut |name, count| {
        if name.starts_with("Read") || name.starts_with("Write") {
            checks += count;
        }
    });
    Measured {
        summary: Summary::of(replay.detector()),
        accesses,
        checks,
    }
}

fn number(x: f64) -> String {
    if x >= 0.01 {
        format!("{x:.2}")
    } else {
        format!("{x:.1e}")
    }
}

fn main() {
    println!("{PREFACE}");
    println!(
        "| shape | elements | SlimState | bit-set footprints | bit-set partitions | both \
         | locations | checks for each access | final partitions |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, paper) in PAPER {
        let Some(shape) = SHAPES.iter().find(|shape| shape.name == *name) else {
            continue;
        };
        let ours = [
            measure::<SlimState>(shape),
            measure::<SlimStateBf>(shape),
            measure::<SlimStateBp>(shape),
            measure::<SlimStateBb>(shape),
        ];
        let cells: Vec<String> = ours
            .iter()
            .zip(paper)
            .map(|(ours, paper)| {
                let paper = paper.map_or("no memory".into(), number);
                format!("{} ({paper})", number(ours.summary.total.shadow_fraction()))
            })
            .collect();
        let partitions: Vec<String> = ours[0]
            .summary
            .total
            .partitions
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let millions = ELEMENTS
            .iter()
            .find(|(n, _)| n == name)
            .map_or(0.0, |e| e.1);
        let locations = paper[0].unwrap_or(0.0) * millions * 1e6;
        println!(
            "| {name} | {} ({millions} M) | {} | {} ({locations:.0}) | {} | {} |",
            ours[0].summary.total.elements,
            cells.join(" | "),
            ours[0].summary.total.locations,
            number(ours[0].checks as f64 / ours[0].accesses as f64),
            partitions.join(", ")
        );
    }
}
