//! The paper's figures, and what goes beyond them, as text: checks, renamings and contexts in place.
//! `FOOTRACE_BLESS=1 cargo test -p footrace-placement --test golden` accepts what is printed now.

use placement::{Mode, Options, ProxyUse, place_program, text};
use std::path::Path;

fn golden(name: &str, suffix: &str, options: Options) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bfj");
    let input = std::fs::read_to_string(dir.join(format!("{name}.bfj"))).expect(name);
    let lowered = text::parse(&input)
        .and_then(|s| text::lower(&s))
        .unwrap_or_else(|e| panic!("{name}.bfj:{e}"));
    let placed = place_program(&lowered.program, options);
    let mut actual = text::annotate(&lowered, &placed.placements, options.contexts);
    for p in placed.proxies.describe(&lowered.program) {
        actual.push_str(&format!("// proxy: {p}\n"));
    }
    let file = dir.join(format!("{name}.{suffix}"));
    if std::env::var_os("FOOTRACE_BLESS").is_some() {
        std::fs::write(&file, &actual).expect("golden file is written");
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        expected,
        actual,
        "{}: bless it if it is right",
        file.display()
    );
}

fn with_contexts(name: &str) {
    let options = Options {
        contexts: true,
        ..Options::default()
    };
    golden(name, "bigfoot", options);
}

#[test]
fn figure1() {
    with_contexts("figure1");
}

#[test]
fn figure1_redcard() {
    let options = Options {
        mode: Mode::RedCard,
        proxies: ProxyUse::OneWay,
        ..Options::default()
    };
    golden("figure1", "redcard", options);
}

#[test]
fn figure1_proxies() {
    let options = Options {
        proxies: ProxyUse::Symmetric,
        ..Options::default()
    };
    golden("figure1", "proxies", options);
}

#[test]
fn figure3() {
    with_contexts("figure3");
}

#[test]
fn figure6a() {
    with_contexts("figure6a");
}

#[test]
fn figure6b() {
    with_contexts("figure6b");
}

/// Section 5's example of alias expressions.
#[test]
fn aliases() {
    let options = Options {
        alias_facts: true,
        ..Options::default()
    };
    golden("aliases", "aliases", options);
    golden("aliases", "bigfoot", Options::default());
}

#[test]
fn rows() {
    with_contexts("rows");
}

#[test]
fn loops() {
    golden("loops", "bigfoot", Options::default());
}

#[test]
fn tables() {
    golden("tables", "bigfoot", Options::default());
}

#[test]
fn segments() {
    golden("segments", "bigfoot", Options::default());
}

#[test]
fn endless() {
    golden("endless", "bigfoot", Options::default());
    let believing = Options {
        loops_end: true,
        ..Options::default()
    };
    golden("endless", "loops-end", believing);
}

#[test]
fn calls() {
    golden("calls", "bigfoot", Options::default());
}

/// Indices in memory.
#[test]
fn gathers() {
    let options = Options {
        gathers: true,
        ..Options::default()
    };
    golden("gathers", "lists", options);
}

/// What a loop chooses: only what it accesses besides, and with nothing in between that a check may not cross.
#[test]
fn choices() {
    let options = Options {
        choices: true,
        ..Options::default()
    };
    golden("choices", "chosen", options);
}

/// What waits when a loop with a deadline in each round begins.
#[test]
fn deadlines() {
    golden("deadlines", "bigfoot", Options::default());
}
