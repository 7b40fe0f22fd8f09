//! `footrace`: data races in programs and traces. Thin: each command is a call into a library.
#![forbid(unsafe_code)]

mod compilers;
mod place;
mod races;
mod traces;

use clap::{Parser, Subcommand};
use driver::cc::Language;
use std::process::ExitCode;

/// Finds data races.
#[derive(Parser)]
#[command(name = "footrace", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program and report its races.
    Run(races::Run),
    /// Report the races of a program that ran by itself.
    Show(races::Show),
    /// Say where the checks of a line's accesses went, and why.
    Explain(races::Explain),
    /// Compile or link C, as footrace-cc does.
    Cc(compilers::Compile),
    /// Compile or link C++, as footrace-c++ does.
    #[command(name = "c++")]
    Cxx(compilers::Compile),
    /// Print CC, CXX, LD, AR, RANLIB and NM for a build: env $(footrace env) ./configure
    Env(compilers::Environment),
    /// Look for races in a recorded trace.
    Analyze(traces::Analyze),
    /// Convert a trace from text to binary or back.
    Convert(traces::Convert),
    /// Write a trace shaped like a known program, or a random one.
    Gen(traces::Generate),
    /// Show where race checks go in a program written in BFJ.
    Place(place::Place),
}

/// No race, everything went well.
const FINE: u8 = 0;
/// There are races.
const RACES: u8 = 66;
/// The input is wrong, or cannot be read.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    // clap's own exit code for wrong usage is 2, too.
    let code = match Arguments::parse().command {
        Command::Run(arguments) => arguments.run(),
        Command::Show(arguments) => arguments.run(),
        Command::Explain(arguments) => arguments.run(),
        Command::Cc(arguments) => return arguments.run("footrace cc", Language::C),
        Command::Cxx(arguments) => return arguments.run("footrace c++", Language::Cxx),
        Command::Env(arguments) => return arguments.run(),
        Command::Analyze(arguments) => arguments.run(),
        Command::Convert(arguments) => arguments.run(),
        Command::Gen(arguments) => arguments.run(),
        Command::Place(arguments) => arguments.run(),
    };
    ExitCode::from(code)
}
