//! Characters to tokens.

use super::Error;
use super::ast::Pos;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Name(String),
    Int(i64),
    /// Punctuation, longest match.
    Punct(&'static str),
    End,
}

impl Token {
    /// For "found …".
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Name(n) => format!("`{n}`"),
            Token::Int(i) => format!("`{i}`"),
            Token::Punct(p) => format!("`{p}`"),
            Token::End => "the end of the text".into(),
        }
    }
}

/// Longer ones first.
const PUNCT: [&str; 26] = [
    "..", "<-", "==", "!=", "<=", ">=", "{", "}", "(", ")", "[", "]", ";", ",", ".", "=", "<", ">",
    "+", "-", "*", "/", "%", ":", "|", "&",
];

pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Pos)>, Error> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut pos = Pos { line: 1, column: 1 };
    while let Some(c) = rest.chars().next() {
        let start = pos;
        let taken = if c.is_whitespace() {
            c.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if c.is_ascii_digit() {
            let n = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let value = rest[..n].parse().map_err(|_| Error {
                pos,
                message: format!("the number {} does not fit into 64 bits", &rest[..n]),
            })?;
            out.push((Token::Int(value), start));
            n
        } else if c.is_alphabetic() || c == '_' {
            let n = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''))
                .unwrap_or(rest.len());
            out.push((Token::Name(rest[..n].to_owned()), start));
            n
        } else if let Some(p) = PUNCT.iter().find(|p| rest.starts_with(**p)) {
            out.push((Token::Punct(p), start));
            p.len()
        } else {
            return Err(Error {
                pos,
                message: format!("the character {c:?} means nothing here"),
            });
        };
        for c in rest[..taken].chars() {
            if c == '\n' {
                pos.line += 1;
                pos.column = 1;
            } else {
                pos.column += 1;
            }
        }
        rest = &rest[taken..];
    }
    out.push((Token::End, pos));
    Ok(out)
}
