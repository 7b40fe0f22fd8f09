//! Real programs, unmodified, with a job each. `bench/real/build.sh` fetches their sources and builds them.

use crate::column::{Kind, Variant};
use crate::program::{Check, Job, Places, Recipe, checks, create};
use std::path::PathBuf;
use std::process::Command;

/// A real program.
#[derive(Debug)]
pub(crate) struct Real {
    pub(crate) name: &'static str,
    rust: bool,
    /// Its command line: `{threads}`, `{input:N}` (a file of N MB), `{sources}` (a tree of C), `{video}`, `{picture}`, `{user}`.
    arguments: &'static [&'static str],
    check: Check,
}

const fn c(name: &'static str, arguments: &'static [&'static str]) -> Real {
    Real {
        name,
        rust: false,
        arguments,
        check: Check::SameOutput,
    }
}

const fn rust(name: &'static str, arguments: &'static [&'static str], check: Check) -> Real {
    Real {
        name,
        rust: true,
        arguments,
        check,
    }
}

/// All of them. Compressors write the same bytes whatever the schedule; drivers print what they found.
pub(crate) const ALL: &[Real] = &[
    c("pigz", &["-n", "-p", "{threads}", "-c", "{input:8}"]),
    c("pbzip2", &["-p{threads}", "-c", "{input:4}"]),
    c(
        "zstd",
        &["-q", "-6", "-T{threads}", "-B1MB", "-c", "{input:4}"],
    ),
    c(
        "xz",
        &[
            "-3",
            "-T{threads}",
            "--block-size=512KiB",
            "-c",
            "{input:2}",
        ],
    ),
    c(
        "memcached",
        &["-u", "{user}", "-t", "{threads}", "-m", "64"],
    ),
    c(
        "x264",
        &[
            "--quiet",
            "--frames",
            "15",
            "--no-progress",
            "--threads",
            "{threads}",
            "--preset",
            "veryfast",
            "--muxer",
            "raw",
            "--input-res",
            "352x288",
            "--fps",
            "25",
            "-o",
            "/dev/stdout",
            "{video}",
        ],
    ),
    c("sqlite", &["{threads}", "10000"]),
    c("leveldb", &["{threads}", "7000"]),
    rust(
        "ripgrep",
        &[
            "-j{threads}",
            "--no-config",
            "-n",
            "size_t [a-z]+",
            "{sources}",
        ],
        Check::SameLines,
    ),
    rust(
        "oxipng",
        &["-q", "-o2", "-t{threads}", "--stdout", "{picture}"],
        Check::SameOutput,
    ),
    rust("rayon", &["{threads}", "1500000"], Check::SameOutput),
    rust("tokio", &["{threads}", "30000"], Check::SameOutput),
];

/// The one with this name.
pub(crate) fn find(name: &str) -> Option<&'static Real> {
    ALL.iter().find(|real| real.name == name)
}

/// The names of those that ThreadSanitizer can be measured on, and that do not wait for a client.
pub(crate) fn compared() -> Vec<&'static str> {
    let compared = |real: &&Real| !real.rust && real.name != "memcached";
    ALL.iter().filter(compared).map(|real| real.name).collect()
}

fn folder(places: &Places) -> PathBuf {
    places.repository.join("target/real")
}

impl Real {
    /// `build.sh` with everything but what it is to do.
    fn script(&self, places: &Places) -> Command {
        let mut command = Command::new("bash");
        command
            .arg(places.repository.join("bench/real/build.sh"))
            .env("REAL_DIR", folder(places));
        command
    }

    /// Fetches its sources and makes the files that its job reads.
    pub(crate) fn fetch(&self, places: &Places) -> Command {
        let mut command = self.script(places);
        command.args(["fetch", self.name]);
        command
    }

    pub(crate) fn job(&self, threads: usize, places: &Places) -> Job {
        let at = folder(places);
        let path = |name: &str| at.join(name).to_string_lossy().into_owned();
        let user = std::env::var("USER").unwrap_or_else(|_| "root".to_string());
        let arguments = self
            .arguments
            .iter()
            .map(|argument| {
                if let Some(size) = argument
                    .strip_prefix("{input:")
                    .and_then(|rest| rest.strip_suffix('}'))
                {
                    return path(&format!("input-{size}"));
                }
                argument
                    .replace("{threads}", &threads.to_string())
                    .replace("{sources}", &path("src/libzstd"))
                    .replace("{video}", &path("video.yuv"))
                    .replace("{picture}", &path("picture.png"))
                    .replace("{user}", &user)
            })
            .collect();
        let wrapper = if self.name == "memcached" {
            let client = places.repository.join("bench/real/client.py");
            vec!["python3".to_string(), client.to_string_lossy().into_owned()]
        } else {
            Vec::new()
        };
        Job {
            wrapper,
            arguments,
            check: self.check,
        }
    }

    pub(crate) fn build(
        &self,
        kind: &Kind,
        variant: Variant,
        places: &Places,
    ) -> Result<Recipe, String> {
        if *kind == Kind::Tsan && self.rust {
            return Err("n/a (needs nightly)".to_string());
        }
        let real = folder(places);
        let executable = real
            .join("programs")
            .join(self.name)
            .join(kind.folder(variant));
        create(&real.join("programs").join(self.name))?;
        // Which checks are inserted is chosen at the link, so C is compiled once for all of ours; cargo compiles anew.
        let ours = matches!(kind, Kind::Null | Kind::Checked(_));
        let place = if ours && !self.rust {
            "ours".to_string()
        } else {
            kind.folder(variant)
        };
        let at = real.join("build").join(place).join(self.name);
        let follow = |step: &str| {
            let mut command = self.script(places);
            command.args([step, self.name]).args([&at, &executable]);
            self.choose(&mut command, kind, variant, places);
            command
        };
        Ok(Recipe {
            command: follow("build"),
            link: (ours && !self.rust).then(|| follow("link")),
            executable: executable.clone(),
            folder: at.clone(),
            keep: true,
        })
    }

    /// Compilers and what they are told, as a user would: in the environment.
    fn choose(&self, command: &mut Command, kind: &Kind, variant: Variant, places: &Places) {
        let compilers = match kind {
            Kind::Plain => ["clang-22 -gdwarf-4", "clang++-22 -gdwarf-4"],
            Kind::Tsan => [
                "clang-22 -g -fsanitize=thread",
                "clang++-22 -g -fsanitize=thread",
            ],
            Kind::Null | Kind::Checked(_) => ["footrace-cc", "footrace-c++"],
        };
        command.env("CC", compilers[0]).env("CXX", compilers[1]);
        match kind {
            Kind::Plain | Kind::Tsan => {
                command
                    .env("AR", "llvm-ar-22")
                    .env("RANLIB", "llvm-ranlib-22")
                    .env("RUSTFLAGS", "-C dwarf-version=4")
                    .env("CARGO_BUILD", "cargo build");
            }
            Kind::Null | Kind::Checked(_) => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let all = std::iter::once(places.bin.clone()).chain(std::env::split_paths(&path));
                if let Ok(path) = std::env::join_paths(all) {
                    command.env("PATH", path);
                }
                command
                    .env("AR", "llvm-ar")
                    .env("RANLIB", "llvm-ranlib")
                    .env("CARGO_BUILD", "cargo footrace build");
            }
        }
        checks(command, kind, variant);
    }
}
