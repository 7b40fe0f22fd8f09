//! What Table II of the SlimState paper says is compressed stays compressed: `cargo xtask figures` prints the whole table.

use engine::replay::Replay;
use engine::slimstate::{SlimState, Summary};
use trace::shapes::{SHAPES, Size};

/// The part of array elements that have a location of their own, in a trace of that shape.
fn shadow_fraction(name: &str) -> f64 {
    let shape = SHAPES.iter().find(|shape| shape.name == name);
    let shape = shape.unwrap_or_else(|| panic!("there is no shape `{name}`"));
    let mut replay = Replay::new(SlimState::default());
    let size = Size {
        size: None,
        iterations: None,
        threads: 4,
        seed: 1,
    };
    let made = shape.generate(&size, &mut |event, _| {
        replay.step(event, &mut |_| {});
        Ok(())
    });
    made.expect("shapes are well-formed");
    replay.finish(&mut |_| {});
    Summary::of(replay.detector()).total.shadow_fraction()
}

/// The paper's fractions where they do not depend on the sizes (to its two digits), and its number of locations by our smaller arrays where they do.
#[test]
fn no_shape_has_more_locations_than_the_papers_program() {
    for (name, most) in [
        ("crypt", 86.0 / 300_104.0),
        ("raytracer", 57.0 / 90_065.0),
        ("montecarlo", 3.0 / 1000.0),
        ("moldyn", 0.635),
        ("series", 0.635),
        ("lufact", 1.0),
        ("sor", 1.0),
        ("sparse", 1.0),
    ] {
        let fraction = shadow_fraction(name);
        assert!(fraction <= most, "{name}: {fraction}, not {most}");
    }
}
