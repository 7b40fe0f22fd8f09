//! Builds every executable that a run needs, several at a time.

use crate::column::{Kind, Variant};
use crate::measure;
use crate::pool;
use crate::program::{Places, Program, Recipe};
use crate::progress::{Phase, Progress};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1200);

/// An executable and the processor time that its build took, or the reason why there is none.
pub(crate) type Built = Result<(PathBuf, f64), String>;

/// Which executable: a program by its number, and how it is built.
pub(crate) type Which = (usize, Kind, Variant);

/// All builds of a run.
pub(crate) type Builds = BTreeMap<Which, Built>;

fn expected_seconds(program: &Program, kind: &Kind) -> f64 {
    use crate::program::Group;
    let ours = matches!(kind, Kind::Null | Kind::Checked(_));
    match (program.group(), ours) {
        (Group::C, _) => 0.3,
        (Group::Rust, false) => 1.5,
        (Group::Rust, true) => 6.0,
        (Group::Real, false) => 15.0,
        (Group::Real, true) => 30.0,
    }
}

/// Sources first, then everything that is wanted; what shares a folder one after the other.
pub(crate) fn build_all(
    programs: &[Program],
    wanted: &BTreeSet<Which>,
    places: &Places,
    progress: &mut Progress,
) -> Builds {
    let mut builds = Builds::new();
    let expected = |which: &Which| {
        let seconds = programs
            .get(which.0)
            .map_or(0.0, |p| expected_seconds(p, &which.1));
        seconds / pool::workers() as f64
    };
    progress.expect(Phase::Build, wanted.iter().map(expected).sum());
    progress.begin("build");
    let tools = fingerprint(&places.bin);
    let mut unfetched = BTreeMap::new();
    for (number, program) in programs.iter().enumerate() {
        if let Some(command) = program.fetch(places) {
            progress.show(&format!("fetch {}", program.name));
            match measure::run(command, LIMIT, &places.scratch.join("fetch")) {
                Ok(run) if run.status.is_some_and(|s| s.success()) => {}
                Ok(run) => {
                    unfetched.insert(number, format!("cannot fetch: {}", run.complaint()));
                }
                Err(error) => {
                    unfetched.insert(number, format!("cannot fetch: {error}"));
                }
            }
        }
    }
    let mut by_folder: BTreeMap<PathBuf, Vec<(Which, Recipe)>> = BTreeMap::new();
    for which in wanted {
        let (number, kind, variant) = which;
        let Some(program) = programs.get(*number) else {
            continue;
        };
        let recipe = match unfetched.get(number) {
            Some(reason) => Err(reason.clone()),
            None => program.build(kind, *variant, places),
        };
        match recipe {
            Ok(recipe) => by_folder
                .entry(recipe.folder.clone())
                .or_default()
                .push((which.clone(), recipe)),
            Err(reason) => {
                builds.insert(which.clone(), Err(reason));
            }
        }
    }
    // Long ones first, so that no worker is left alone with them.
    let mut groups: Vec<_> = by_folder.into_values().collect();
    groups.sort_by(|a, b| {
        let sum = |group: &[(Which, _)]| group.iter().map(|(w, _)| expected(w)).sum::<f64>();
        sum(b).total_cmp(&sum(a))
    });
    let (sender, results) = std::sync::mpsc::channel();
    let progress_of = |which: &Which| {
        let name = programs.get(which.0).map_or("", |p| p.name.as_str());
        format!("build {name} {}", which.1.folder(which.2))
    };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pool::run_all(
                pool::workers(),
                groups,
                |worker, group| {
                    let scratch = places.scratch.join(format!("build-{worker}"));
                    let kept = group.first().filter(|(_, recipe)| recipe.keep);
                    let leftover = kept.map(|(_, recipe)| recipe.folder.clone());
                    let mut compiled = None;
                    for (which, recipe) in group {
                        let built = build(&which, recipe, &tools, &scratch, &mut compiled);
                        if sender.send((which, built)).is_err() {
                            return;
                        }
                    }
                    if let Some(folder) = leftover {
                        // Gigabytes that nobody needs any more; what stays of them does no harm.
                        let _ = fs::remove_dir_all(folder);
                    }
                },
                |()| {},
            );
        });
        for (which, built) in results {
            progress.done(Phase::Build, expected(&which));
            progress.show(&progress_of(&which));
            builds.insert(which, built);
        }
    });
    progress.expect(Phase::Build, 0.0);
    builds
}

/// Real programs take long to build and are kept until the tools change; the others are built anew, so that build times are
/// those of a build.
///
/// `compiled`: the seconds that compiling took in this folder, once that has happened there. Who comes later only links, and is told the
/// seconds of both.
fn build(
    which: &Which,
    recipe: Recipe,
    tools: &str,
    scratch: &Path,
    compiled: &mut Option<f64>,
) -> Built {
    let tool = recipe.command.get_program().to_string_lossy().into_owned();
    if tool.contains('/') && !Path::new(&tool).is_file() {
        return Err("the tool is not built: run `cargo xtask dist`".to_string());
    }
    let mark = recipe.executable.with_extension("kept");
    let key = match which.1 {
        Kind::Plain | Kind::Tsan => "",
        Kind::Null | Kind::Checked(_) => tools,
    };
    if recipe.keep
        && let Ok(text) = fs::read_to_string(&mark)
        && let Some((seconds, of)) = text.split_once(' ')
        && of == key
        && recipe.executable.is_file()
        && let Ok(seconds) = seconds.parse()
    {
        return Ok((recipe.executable, seconds));
    }
    let follow = |command| {
        let run =
            measure::run(command, LIMIT, scratch).map_err(|e| format!("cannot build: {e}"))?;
        match run.status {
            Some(status) if status.success() && recipe.executable.is_file() => Ok(run.cpu_seconds),
            Some(_) => Err(format!("does not build: {}", run.complaint())),
            None => Err("building takes too long".to_string()),
        }
    };
    let seconds = match (recipe.link, *compiled) {
        (None, _) => follow(recipe.command)?,
        (Some(link), Some(compiling)) => compiling + follow(link)?,
        (Some(link), None) => {
            let whole = follow(recipe.command)?;
            *compiled = Some((whole - follow(link)?).max(0.0));
            whole
        }
    };
    if recipe.keep {
        fs::write(&mark, format!("{seconds} {key}"))
            .map_err(|e| format!("{}: {e}", mark.display()))?;
    }
    Ok((recipe.executable, seconds))
}

/// Something that changes when the tools do.
fn fingerprint(bin: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    let lib = bin.with_file_name("lib");
    for folder in [bin, &lib] {
        let mut files: Vec<PathBuf> = fs::read_dir(folder)
            .map(|entries| entries.flatten().map(|e| e.path()).collect())
            .unwrap_or_default();
        files.sort();
        for file in files {
            // Piece by piece: the peak memory of this process hides smaller peaks of those it starts.
            let Ok(mut file) = fs::File::open(file) else {
                continue;
            };
            let mut piece = [0; 1 << 16];
            while let Ok(read @ 1..) = file.read(&mut piece) {
                piece.get(..read).hash(&mut hasher);
            }
        }
    }
    format!("{:x}", hasher.finish())
}
