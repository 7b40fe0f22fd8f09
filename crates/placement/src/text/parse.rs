//! Tokens to BFJ. Recursive descent with a bound on nesting, so that no input overflows the stack.

use super::Error;
use super::ast::*;
use super::lexer::{Token, tokens};
use crate::ir::Kind;

/// Deeper nesting than this is refused.
const MAX_DEPTH: u32 = 200;

const KEYWORDS: [&str; 27] = [
    "class",
    "method",
    "shared",
    "thread",
    "volatile",
    "new",
    "new_array",
    "skip",
    "acq",
    "rel",
    "fork",
    "join",
    "if",
    "else",
    "while",
    "loop",
    "break",
    "return",
    "throw",
    "try",
    "catch",
    "check",
    "commit",
    "gather",
    "gathered",
    "null",
    "read",
];

/// Reads a program.
pub fn parse(text: &str) -> Result<Source, Error> {
    let mut p = Parser {
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
    };
    let mut source = Source::default();
    loop {
        let pos = p.pos();
        if p.take_word("class") {
            source.classes.push(p.class(pos)?);
        } else if p.take_word("shared") {
            let name = p.name("a name for the shared object")?;
            p.expect("=")?;
            let what = p.alloc()?;
            p.expect(";")?;
            source.shared.push(Shared { name, what, pos });
        } else if p.take_word("thread") {
            source.threads.push(p.body()?);
        } else if *p.token() == Token::End {
            return Ok(source);
        } else {
            return Err(p.unexpected("`class`, `shared` or `thread`"));
        }
    }
}

struct Parser {
    tokens: Vec<(Token, Pos)>,
    at: usize,
    depth: u32,
}

impl Parser {
    fn token(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)].0
    }

    fn peek(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].0
    }

    fn pos(&self) -> Pos {
        self.tokens[self.at.min(self.tokens.len() - 1)].1
    }

    fn unexpected(&self, expected: &str) -> Error {
        Error {
            pos: self.pos(),
            message: format!("expected {expected}, found {}", self.token().describe()),
        }
    }

    fn is(&self, punct: &str) -> bool {
        matches!(self.token(), Token::Punct(p) if *p == punct)
    }

    fn take(&mut self, punct: &str) -> bool {
        let yes = self.is(punct);
        self.at += usize::from(yes);
        yes
    }

    fn expect(&mut self, punct: &str) -> Result<(), Error> {
        if self.take(punct) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{punct}`")))
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Name(n) if n == word)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let yes = self.is_word(word);
        self.at += usize::from(yes);
        yes
    }

    fn name(&mut self, what: &str) -> Result<String, Error> {
        match self.token() {
            Token::Name(n) if !KEYWORDS.contains(&n.as_str()) => {
                let n = n.clone();
                self.at += 1;
                Ok(n)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth == MAX_DEPTH {
            return Err(Error {
                pos: self.pos(),
                message: format!("nested deeper than {MAX_DEPTH} levels; split it up"),
            });
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn class(&mut self, pos: Pos) -> Result<Class, Error> {
        let name = self.name("the name of the class")?;
        self.expect("{")?;
        let (mut fields, mut methods) = (Vec::new(), Vec::new());
        while !self.take("}") {
            let pos = self.pos();
            if self.take_word("method") {
                methods.push(self.method(pos)?);
                continue;
            }
            let volatile = self.take_word("volatile");
            loop {
                let pos = self.pos();
                let name = self.name("a field, `method` or `}`")?;
                fields.push(Field {
                    name,
                    volatile,
                    pos,
                });
                if !self.take(",") {
                    break;
                }
            }
            self.expect(";")?;
        }
        Ok(Class {
            name,
            fields,
            methods,
            pos,
        })
    }

    fn method(&mut self, pos: Pos) -> Result<Method, Error> {
        let name = self.name("the name of the method")?;
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.take(")") {
            if !params.is_empty() {
                self.expect(",")?;
            }
            params.push(self.name("a parameter or `)`")?);
        }
        Ok(Method {
            name,
            params,
            body: self.body()?,
            pos,
        })
    }

    fn body(&mut self) -> Result<Body, Error> {
        self.deeper(|p| {
            p.expect("{")?;
            let mut stmts = Vec::new();
            while !p.take("}") {
                stmts.push(p.stmt()?);
            }
            Ok(Body { stmts })
        })
    }

    fn stmt(&mut self) -> Result<Stmt, Error> {
        let pos = self.pos();
        let word = match self.token() {
            Token::Name(n) => n.clone(),
            _ => return Err(self.unexpected("a statement or `}`")),
        };
        let kind = match word.as_str() {
            "if" | "while" | "loop" | "try" => {
                self.at += 1;
                return Ok(Stmt {
                    kind: self.compound(&word)?,
                    pos,
                });
            }
            "skip" | "break" | "throw" => {
                self.at += 1;
                match word.as_str() {
                    "skip" => StmtKind::Skip,
                    "break" => StmtKind::Break,
                    _ => StmtKind::Throw,
                }
            }
            "acq" | "rel" | "join" => {
                self.at += 1;
                self.expect("(")?;
                let x = self.name("a variable")?;
                self.expect(")")?;
                match word.as_str() {
                    "acq" => StmtKind::Acquire(x),
                    "rel" => StmtKind::Release(x),
                    _ => StmtKind::Join(x),
                }
            }
            "return" => {
                self.at += 1;
                StmtKind::Return(self.expr()?)
            }
            "gather" => {
                self.at += 1;
                self.expect("(")?;
                let list = self.list()?;
                self.expect(",")?;
                match <[CheckExpr; 1]>::try_from(self.checks()?) {
                    Ok([check]) => StmtKind::Gather(list, check),
                    Err(_) => return Err(self.unexpected("one check for the list, and")),
                }
            }
            "gathered" => {
                self.at += 1;
                self.expect("(")?;
                let list = self.list()?;
                self.expect(")")?;
                StmtKind::Gathered(list)
            }
            "check" | "commit" => {
                self.at += 1;
                self.expect("(")?;
                let checks = self.checks()?;
                if word == "check" {
                    StmtKind::Check(checks)
                } else {
                    StmtKind::Commit(checks)
                }
            }
            _ => self.simple()?,
        };
        self.expect(";")?;
        Ok(Stmt { kind, pos })
    }

    fn compound(&mut self, word: &str) -> Result<StmtKind, Error> {
        Ok(match word {
            "if" => {
                let cond = self.condition()?;
                let then = self.body()?;
                let otherwise = if self.take_word("else") {
                    self.body()?
                } else {
                    Body::default()
                };
                StmtKind::If(cond, then, otherwise)
            }
            "while" => StmtKind::While(self.condition()?, self.body()?),
            "loop" => StmtKind::Loop(self.body()?),
            _ => {
                let tried = self.body()?;
                if !self.take_word("catch") {
                    return Err(self.unexpected("`catch`"));
                }
                StmtKind::Try(tried, self.body()?)
            }
        })
    }

    /// Statements that begin with a variable.
    fn simple(&mut self) -> Result<StmtKind, Error> {
        let x = self.name("a statement or `}`")?;
        if self.take("<-") {
            return Ok(StmtKind::Rename(x, self.name("a variable")?));
        }
        if self.take("=") {
            return self.right_hand_side(x);
        }
        if self.take("[") {
            let index = self.expr()?;
            self.expect("]")?;
            self.expect("=")?;
            return Ok(StmtKind::Write(Place::Element(x, index), self.expr()?));
        }
        if self.take(".") {
            let f = self.name("a field or method")?;
            if self.is("(") {
                return Ok(StmtKind::Call(None, self.call(x, f)?));
            }
            self.expect("=")?;
            return Ok(StmtKind::Write(Place::Field(x, f), self.expr()?));
        }
        Err(self.unexpected("`=`, `<-`, `.` or `[`"))
    }

    fn right_hand_side(&mut self, x: String) -> Result<StmtKind, Error> {
        if self.is_word("new") || self.is_word("new_array") {
            return Ok(StmtKind::New(x, self.alloc()?));
        }
        if self.take_word("fork") {
            let y = self.name("the receiver of the call")?;
            self.expect(".")?;
            let m = self.name("a method")?;
            return Ok(StmtKind::Fork(x, self.call(y, m)?));
        }
        let heap = matches!(self.token(), Token::Name(n) if !KEYWORDS.contains(&n.as_str()))
            && matches!(self.peek(1), Token::Punct("." | "["));
        if !heap {
            return Ok(StmtKind::Assign(x, self.expr()?));
        }
        let y = self.name("a variable")?;
        if self.take("[") {
            let index = self.expr()?;
            self.expect("]")?;
            return Ok(StmtKind::Read(x, Place::Element(y, index)));
        }
        self.expect(".")?;
        let f = self.name("a field or method")?;
        if self.is("(") {
            return Ok(StmtKind::Call(Some(x), self.call(y, f)?));
        }
        Ok(StmtKind::Read(x, Place::Field(y, f)))
    }

    fn alloc(&mut self) -> Result<Alloc, Error> {
        if self.take_word("new") {
            return Ok(Alloc::Object(self.name("a class")?));
        }
        if self.take_word("new_array") {
            return Ok(Alloc::Array(self.expr()?));
        }
        Err(self.unexpected("`new` or `new_array`"))
    }

    fn call(&mut self, receiver: String, method: String) -> Result<CallExpr, Error> {
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.take(")") {
            if !args.is_empty() {
                self.expect(",")?;
            }
            args.push(self.expr()?);
        }
        Ok(CallExpr {
            receiver,
            method,
            args,
        })
    }

    fn checks(&mut self) -> Result<Vec<CheckExpr>, Error> {
        let mut out = Vec::new();
        loop {
            let kind = match self.token() {
                Token::Name(n) if n == "read" => Kind::Read,
                Token::Name(n) if n == "write" => Kind::Write,
                _ => return Err(self.unexpected("`read` or `write`")),
            };
            self.at += 1;
            let x = self.name("a variable")?;
            let path = if self.take("[") {
                let lo = self.expr()?;
                if self.take("..") {
                    let hi = self.expr()?;
                    let mut stride = 1;
                    if self.take(":") {
                        match *self.token() {
                            Token::Int(k) if k > 0 => stride = k,
                            _ => return Err(self.unexpected("a positive stride")),
                        }
                        self.at += 1;
                    }
                    self.expect("]")?;
                    CheckPath::Range(x, lo, hi, stride)
                } else {
                    self.expect("]")?;
                    CheckPath::Element(x, lo)
                }
            } else {
                self.expect(".")?;
                let mut fields = vec![self.name("a field")?];
                while self.take("/") {
                    fields.push(self.name("a field")?);
                }
                CheckPath::Fields(x, fields)
            };
            let range = matches!(path, CheckPath::Range(..));
            let when = match self.token() {
                Token::Name(n) if n == "when" && !range => {
                    self.at += 1;
                    Some(self.expr()?)
                }
                _ => None,
            };
            out.push(CheckExpr { kind, path, when });
            if self.take(")") {
                return Ok(out);
            }
            self.expect(",")?;
        }
    }

    /// The number of a list.
    fn list(&mut self) -> Result<u32, Error> {
        let number = match *self.token() {
            Token::Int(i) => u32::try_from(i).ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected("the number of a list"))?;
        self.at += 1;
        Ok(number)
    }

    fn condition(&mut self) -> Result<BoolExpr, Error> {
        self.expect("(")?;
        let left = self.expr()?;
        let cmp = match self.token() {
            Token::Punct("==") => Cmp::Eq,
            Token::Punct("!=") => Cmp::Ne,
            Token::Punct("<") => Cmp::Lt,
            Token::Punct("<=") => Cmp::Le,
            Token::Punct(">") => Cmp::Gt,
            Token::Punct(">=") => Cmp::Ge,
            _ => return Err(self.unexpected("a comparison")),
        };
        self.at += 1;
        let right = self.expr()?;
        self.expect(")")?;
        Ok(BoolExpr { left, cmp, right })
    }

    fn expr(&mut self) -> Result<Expr, Error> {
        self.deeper(|p| {
            let mut left = p.term()?;
            let depth = p.depth;
            loop {
                let op = match p.token() {
                    Token::Punct("+") => Op::Add,
                    Token::Punct("-") => Op::Sub,
                    _ => {
                        p.depth = depth;
                        return Ok(left);
                    }
                };
                p.at += 1;
                // A chain of operators nests to the left.
                left = p.deeper(|p| Ok(Expr::Binary(op, Box::new(left), Box::new(p.term()?))))?;
                p.depth += 1;
            }
        })
    }

    fn term(&mut self) -> Result<Expr, Error> {
        let mut left = self.atom()?;
        let depth = self.depth;
        loop {
            let op = match self.token() {
                Token::Punct("*") => Op::Mul,
                Token::Punct("/") => Op::Div,
                Token::Punct("%") => Op::Rem,
                _ => {
                    self.depth = depth;
                    return Ok(left);
                }
            };
            self.at += 1;
            left = self.deeper(|p| Ok(Expr::Binary(op, Box::new(left), Box::new(p.atom()?))))?;
            self.depth += 1;
        }
    }

    fn atom(&mut self) -> Result<Expr, Error> {
        match *self.token() {
            Token::Int(i) => {
                self.at += 1;
                Ok(Expr::Int(i))
            }
            Token::Punct("-") => {
                self.at += 1;
                match *self.token() {
                    Token::Int(i) => {
                        self.at += 1;
                        Ok(Expr::Int(-i))
                    }
                    _ => Err(self.unexpected("a number after `-`")),
                }
            }
            Token::Punct("(") => {
                self.at += 1;
                let e = self.expr()?;
                self.expect(")")?;
                Ok(e)
            }
            _ if self.is_word("null") => {
                self.at += 1;
                Ok(Expr::Int(0))
            }
            _ => Ok(Expr::Var(self.name("an expression")?)),
        }
    }
}
