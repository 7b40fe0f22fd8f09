//! `cargo xtask tidy`: what no compiler checks, and what only a strict one does.
use crate::cargo;
use std::fs;
use std::path::{Path, PathBuf};

/// No source file is longer.
const MAX_LINES: usize = 800;

/// Formatting, lints, and the rules for files. `fix` repairs formatting.
pub(crate) fn tidy(fix: bool) -> Result<(), String> {
    if fix {
        cargo::run(&["fmt", "--all"])?;
    } else {
        cargo::run(&["fmt", "--all", "--check"])?;
    }
    files()?;
    cargo::run(&["clippy", "--quiet", "--workspace", "--all-targets"])
}

fn files() -> Result<(), String> {
    let mut wrong = Vec::new();
    for root in ["crates", "xtask", "tests", "bench"] {
        visit(&cargo::workspace().join(root), &mut |path, text| {
            let name = path.strip_prefix(cargo::workspace()).unwrap_or(path);
            let lines = text.lines().count();
            if path.extension().is_some_and(|e| e == "rs") && lines > MAX_LINES {
                wrong.push(format!(
                    "{}: {lines} lines, more than {MAX_LINES}",
                    name.display()
                ));
            }
            if !text.is_empty() && !text.ends_with('\n') {
                wrong.push(format!("{}: no newline at the end", name.display()));
            }
        });
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("untidy files:\n  {}", wrong.join("\n  ")))
    }
}

fn visit(path: &Path, f: &mut dyn FnMut(&Path, &str)) {
    let hidden = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('.') || name == "target"
    };
    if let Ok(entries) = fs::read_dir(path) {
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        for path in paths.iter().filter(|p| !hidden(p)) {
            visit(path, f);
        }
    } else if path
        .extension()
        .is_some_and(|e| e == "rs" || e == "toml" || e == "std")
        && let Ok(text) = fs::read_to_string(path)
    {
        f(path, &text);
    }
}
