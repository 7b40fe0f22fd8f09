//! `footrace env`: what a build has to know to use our compilers.
use crate::layout::Layout;
use crate::tools::Tool;
use crate::{Error, Result};
use std::path::PathBuf;

/// The variables that make, autoconf, cmake and meson read, with our tools and the archivers that understand bitcode.
pub fn variables(layout: &Layout) -> Result<Vec<(&'static str, PathBuf)>> {
    Ok(vec![
        ("CC", layout.tool("footrace-cc")?),
        ("CXX", layout.tool("footrace-c++")?),
        ("LD", layout.tool("footrace-ld")?),
        ("AR", Tool::Ar.find()?),
        ("RANLIB", Tool::Ranlib.find()?),
        ("NM", Tool::Nm.find()?),
    ])
}

/// One `NAME=path` a line, for `env $(footrace env) ./configure`; or lines for a shell's `eval`.
pub fn lines(layout: &Layout, export: bool) -> Result<String> {
    let mut text = String::new();
    for (name, path) in variables(layout)? {
        let path = path
            .to_str()
            .ok_or_else(|| Error::new(format!("{} is not UTF-8", path.display())))?;
        if export {
            let quoted = path.replace('\'', r"'\''");
            text.push_str(&format!("export {name}='{quoted}'\n"));
        } else if path.contains(char::is_whitespace) {
            return Err(Error::new(format!(
                "{path} has a space in it, which `env $(footrace env)` would split: use eval \"$(footrace env --export)\""
            )));
        } else {
            text.push_str(&format!("{name}={path}\n"));
        }
    }
    Ok(text)
}
