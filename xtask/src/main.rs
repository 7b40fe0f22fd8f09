//! The one developer door: `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

fn main() {
    eprintln!("usage: cargo xtask demo|test|dist|tidy");
    std::process::exit(2);
}
