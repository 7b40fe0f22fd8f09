//! The one developer door: `cargo xtask COMMAND`.
#![forbid(unsafe_code)]

mod dist;
mod image;
mod suite;

fn main() {
    let command = std::env::args().nth(1).unwrap_or_default();
    let result = match command.as_str() {
        "test" => suite::test(&[]),
        "bless" => suite::test(&["--bless"]),
        "dist" => dist::dist().map(|root| println!("{}", root.display())),
        _ => {
            eprintln!("usage: cargo xtask demo|test|bless|dist|tidy");
            std::process::exit(2);
        }
    };
    if let Err(message) = result {
        eprintln!("xtask: error: {message}");
        std::process::exit(1);
    }
}
