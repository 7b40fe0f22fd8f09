//! Command lines: response files in, response files out.
use crate::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Response files inside response files that are followed.
const DEPTH: usize = 16;

/// Replaces each `@file` by the arguments in that file. As with gcc, an `@file` that cannot be read stays as it is.
pub fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>> {
    expand_at(arguments, 0)
}

fn expand_at(arguments: Vec<OsString>, depth: usize) -> Result<Vec<OsString>> {
    if depth > DEPTH {
        return Err(Error::new(
            "response files include each other too deeply: is there a cycle?",
        ));
    }
    let mut result = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let path = argument.as_bytes().strip_prefix(b"@");
        match path.and_then(|path| std::fs::read(OsStr::from_bytes(path)).ok()) {
            Some(text) => result.extend(expand_at(split(&text), depth + 1)?),
            None => result.push(argument),
        }
    }
    Ok(result)
}

/// Splits by the rules of GNU tools: white space separates, quotes of both kinds group, a backslash takes the next byte as it is.
pub fn split(text: &[u8]) -> Vec<OsString> {
    let mut result = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => {
                let next = bytes.next();
                word.get_or_insert_default().extend(next);
            }
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (byte, Some(open)) if byte == open => quote = None,
            (byte, None) if byte.is_ascii_whitespace() => {
                result.extend(word.take().map(OsString::from_vec));
            }
            (byte, _) => word.get_or_insert_default().push(byte),
        }
    }
    result.extend(word.map(OsString::from_vec));
    result
}

/// Arguments as the text of a response file that [`split`] reads back.
pub fn join(arguments: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for argument in arguments {
        text.push(b'"');
        for byte in argument.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.extend(b"\"\n");
    }
    text
}

/// Longer command lines go through a response file.
const LIMIT: usize = 100_000;

/// A response file that is deleted when dropped.
#[derive(Debug)]
pub struct ResponseFile(Option<PathBuf>);

impl Drop for ResponseFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Gives the arguments to the command, through a response file if there are too many for the system.
/// The file lives as long as the result.
pub fn pass(command: &mut Command, arguments: &[OsString]) -> Result<ResponseFile> {
    if arguments
        .iter()
        .map(|argument| argument.len() + 1)
        .sum::<usize>()
        < LIMIT
    {
        command.args(arguments);
        return Ok(ResponseFile(None));
    }
    let name = format!("footrace-{}.rsp", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, join(arguments)).map_err(|error| Error::file("write", &path, &error))?;
    let mut reference = OsString::from("@");
    reference.push(&path);
    command.arg(reference);
    Ok(ResponseFile(Some(path)))
}

impl ResponseFile {
    /// No file was needed.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

/// Does the path end in one of the extensions?
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension()
        .and_then(OsStr::to_str)
        .is_some_and(|extension| extensions.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text.as_bytes())
            .into_iter()
            .map(|word| word.into_string().unwrap_or_default())
            .collect()
    }

    #[test]
    fn splits_as_gnu_tools_do() {
        assert_eq!(words("a  b\n\tc"), ["a", "b", "c"]);
        assert_eq!(
            words(r#"-DX="a b" 'c d' e\ f ''"#),
            ["-DX=a b", "c d", "e f", ""]
        );
        assert_eq!(words(r#""a\"b" 'a\b'"#), ["a\"b", r"a\b"]);
        assert_eq!(words(""), Vec::<String>::new());
    }

    #[test]
    fn what_is_joined_splits_again() {
        let arguments: Vec<OsString> =
            ["", "a b", r#"q"u\o'te"#, "-Wl,-rpath,$ORIGIN", "new\nline"]
                .map(OsString::from)
                .to_vec();
        assert_eq!(split(&join(&arguments)), arguments);
    }

    #[test]
    fn an_unreadable_response_file_stays() {
        let arguments = vec![OsString::from("@/no/such/file")];
        assert_eq!(expand(arguments.clone()), Ok(arguments));
    }
}
