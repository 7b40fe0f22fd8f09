//! BFJ, the paper's language, as text: parse, print, lower to the IR.
//!
//! ```text
//! program  = { class | shared | thread }
//! class    = "class" name "{" { ["volatile"] name {"," name} ";" | method } "}"
//! method   = "method" name "(" [name {"," name}] ")" block
//! shared   = "shared" name "=" alloc ";"            known by name to every initial thread
//! thread   = "thread" block
//! alloc    = "new" name | "new_array" expr
//! stmt     = "skip;" | name "=" expr ";" | name "<-" name ";" | name "=" alloc ";"
//!          | name "=" place ";" | place "=" expr ";" | "acq" "(" name ")" ";" | "rel" "(" name ")" ";"
//!          | [name "="] name "." name "(" args ")" ";" | name "=" "fork" name "." name "(" args ")" ";"
//!          | "join" "(" name ")" ";" | "if" "(" cmp ")" block ["else" block] | "while" "(" cmp ")" block
//!          | "loop" block | "break;" | "return" expr ";" | "throw;" | "try" block "catch" block
//!          | ("check" | "commit") "(" check {"," check} ")" ";"
//!          | "gather" "(" int "," check ")" ";" | "gathered" "(" int ")" ";"
//! check    = ("read" | "write") (name "." name {"/" name} | name "[" expr [".." expr [":" int]] "]")
//! ```
//!
//! Locals hold integers; references are integers too, `null` is 0, a local never assigned is 0. A field name means
//! the same offset in every class. `//` starts a comment. `while (c) { s }` means
//! `if (c) { loop { s; if (not c) break; } }`, the shape on which [LOOP] works best.

mod annotate;
pub mod ast;
mod lexer;
mod lower;
mod names;
mod parse;
mod print;

pub use annotate::annotate;
pub use lower::{Lowered, Origin, lower};
pub use parse::parse;
pub use print::{Notes, print, print_with};

use ast::Pos;
use std::fmt;

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Where.
    pub pos: Pos,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.pos.line, self.pos.column, self.message)
    }
}

impl std::error::Error for Error {}
