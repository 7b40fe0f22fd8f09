//! Placed checks name the bytes that checks before each access name.
//!
//! Generated C programs call `mark`, which the pass knows nothing about, so that no check may cross it. Between two marks the
//! checks of `all`, `redcard` and `bigfoot` must name the same bytes, written ones and others: a byte
//! too few is a race missed, one too many a false alarm. `FOOTRACE_SAME_BYTES=500 cargo test -p footrace-instrument --test same_bytes`
//! makes a long run; `FOOTRACE_SAME_BYTES_SEED` sets where it begins.
use std::path::{Path, PathBuf};
use std::process::Command;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % n as u64).unwrap_or(0)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }
}

/// A program in the making.
struct Generator {
    random: Random,
    names: usize,
}

impl Generator {
    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn mark(&mut self) -> String {
        self.names += 1;
        format!("mark({});", self.names)
    }

    /// An index: linear in a counter, or not.
    fn index(&mut self, counters: &[String]) -> String {
        // Not negative: with an unsigned counter that would be far away.
        let offset = self.random.below(10);
        if counters.is_empty() || self.random.percent(25) {
            return match self.random.below(2) {
                0 => format!("n + {offset}"),
                _ => format!("{offset} - 3"),
            };
        }
        let counter = counters[self.random.below(counters.len())].clone();
        let scale = self.random.one(&["1", "1", "1", "2", "3", "4"]);
        let mut index = format!("{counter} * {scale} + {offset}");
        if self.random.percent(20) {
            let other = counters[self.random.below(counters.len())].clone();
            let scale = self.random.one(&["1", "5", "16"]);
            index = format!("{index} + {other} * {scale}");
        }
        match self.random.below(12) {
            0 => format!("(size_t)({index})"),
            1 => format!("(unsigned char)({index})"),
            _ => index,
        }
    }

    fn element(&mut self, counters: &[String]) -> String {
        let array = self.random.one(&["a", "b", "c", "d", "e"]);
        let index = self.index(counters);
        format!("{array}[{index}]")
    }

    fn simple(&mut self, counters: &[String]) -> String {
        let value = self.element(counters);
        if self.random.percent(30) {
            return format!("t += {value};\n");
        }
        let to = self.element(counters);
        let operator = self.random.one(&["=", "=", "+="]);
        format!("{to} {operator} {value};\n")
    }

    fn block(&mut self, depth: usize, counters: &[String], in_loop: bool) -> String {
        let count = 1 + self.random.below(3);
        (0..count)
            .map(|_| self.statement(depth, counters, in_loop))
            .collect()
    }

    fn statement(&mut self, depth: usize, counters: &[String], in_loop: bool) -> String {
        if depth == 0 {
            return self.simple(counters);
        }
        match self.random.below(20) {
            0..=5 => self.simple(counters),
            6 => {
                let structure = [
                    "s->a += n;",
                    "s->c = m; s->b++;",
                    "t += s->d[2]; s->d[3] = 1;",
                    "s[n].a = m;",
                    "s[m].b = s[m].a;",
                    "*s = s[1];",
                ];
                format!("{}\n", self.random.one(&structure))
            }
            7 => {
                let many = [
                    "memset(a + n, 0, m * 4);",
                    "memcpy(d + 8, e, n);",
                    "memset(b, 1, 16);",
                    "memset(s, 0, sizeof *s);",
                    "memmove(c + 1, c, 8 * m);",
                ];
                format!("{}\n", self.random.one(&many))
            }
            8 => match self.random.below(6) {
                0 => self.mark() + "\n",
                1 => "moves(a, n);\n".to_owned(),
                2 => "fills(b, m);\n".to_owned(),
                // A call that is said to be rare has the rounds without it in a loop of their own.
                3 | 4 => {
                    let mark = self.mark();
                    let counter = counters.last().map_or("t", String::as_str);
                    format!("if (__builtin_expect({counter} % 3 == 1, 0)) {mark}\n")
                }
                _ => format!("if (t == 12345) {}\n", self.mark()),
            },
            9..=11 => {
                let value = self.element(counters);
                let test = match self.random.below(3) {
                    0 => format!("{value} > 1"),
                    1 => "n < 6".to_owned(),
                    _ => "t & 1".to_owned(),
                };
                let then = self.block(depth - 1, counters, in_loop);
                let mut out = format!("if ({test}) {{\n{then}}}\n");
                if self.random.percent(50) {
                    let otherwise = self.block(depth - 1, counters, in_loop);
                    out += &format!("else {{\n{otherwise}}}\n");
                }
                out
            }
            12 if in_loop => {
                let value = self.element(counters);
                format!("if ({value} == 2) break;\n")
            }
            12 => "if (t == 77777) return t;\n".to_owned(),
            _ => self.a_loop(depth, counters),
        }
    }

    fn a_loop(&mut self, depth: usize, counters: &[String]) -> String {
        let kind = self.random.one(&[
            "int",
            "long",
            "size_t",
            "unsigned",
            "int",
            "short",
            "unsigned char",
        ]);
        let signed = self.random.one(&["int", "long"]);
        let (array, of) = [
            ("a", "int"),
            ("b", "short"),
            ("c", "double"),
            ("d", "unsigned char"),
            ("e", "long"),
        ][self.random.below(5)];
        let low = self.random.one(&["0", "0", "1", "2"]);
        let high = self.random.one(&["n", "m", "n + m", "7", "9"]);
        let step = self.random.one(&["1", "1", "1", "2", "3"]);
        let (i, p) = (self.fresh("i"), self.fresh("p"));
        let mut inner = counters.to_vec();
        inner.push(i.clone());
        match self.random.below(13) {
            0..=2 => {
                let body = self.block(depth - 1, &inner, true);
                format!(
                    "for ({kind} {i} = {low}; {i} < ({kind})({high}); {i} += {step}) {{\n{body}}}\n"
                )
            }
            3 => {
                let body = self.block(depth - 1, &inner, true);
                format!("for ({signed} {i} = {high}; {i} > {low}; {i} -= {step}) {{\n{body}}}\n")
            }
            4 => {
                let body = self.block(depth - 1, counters, true);
                let access =
                    self.random
                        .one(&["*P += n;", "t += *P;", "P[1] = P[0];", "P[-2] = t;"]);
                let access = access.replace('P', &p);
                let step = self.random.one(&["1", "1", "2"]);
                format!(
                    "for ({of} *{p} = {array}; {p} < {array} + ({high}); {p} += {step}) {{\n{access}\n{body}}}\n"
                )
            }
            5 => {
                let body = self.block(depth - 1, counters, true);
                format!(
                    "{{ {of} *{p} = {array} + ({high}); do {{ {p}--; *{p} += t;\n{body}}} while ({p} != {array}); }}\n"
                )
            }
            // Through pointers in memory that the loop may change, and sometimes does.
            6 | 7 => {
                let body = self.block(depth - 1, &inner, true);
                let accesses: Vec<String> = (0..3)
                    .map(|_| {
                        let access = self.random.one(&[
                            "v->p[I * 2 + 1] += n;",
                            "t += v->p[I];",
                            "v->p[I] = v->q[I + 3];",
                            "v->q[2 * I] = v->p[2];",
                            "t += v->p[I + n];",
                            "v->q[I] = 1;",
                            "if (t & 2) v->p[I] = 2;",
                            "t += v->w->q[I];",
                            "if (I % 3 == 1) v->p = (int *)c;",
                            "if (t & 4) v->q = (unsigned char *)a + 2;",
                            "if (n == 9) v->p++;",
                            "if (I == 2) v->w = v + 1;",
                        ]);
                        access.replace('I', &i)
                    })
                    .collect();
                let [first, second, third] = &accesses[..] else {
                    return String::new();
                };
                format!(
                    "v->p = a; v->q = d; v[1] = *v; v->w = v;\n\
                     for ({kind} {i} = {low}; {i} < ({kind})({high}); {i} += {step}) {{\n{first}\n{body}{second}\n{third}\n}}\n"
                )
            }
            // What indices in memory lead to, which the loop may change as well; sometimes more than a list has room for.
            8 | 9 => {
                // Its counter goes too far for the other arrays.
                let body = match self.random.below(2) {
                    0 => String::new(),
                    _ => self.block(depth - 1, counters, true),
                };
                let accesses: String = (0..1 + self.random.below(3))
                    .map(|_| {
                        let access = self.random.one(&[
                            "c[a[I] & 31] += 2;\n",
                            "t += e[(unsigned short)a[I] % 40 + n];\n",
                            "b[d[2 * I]] = t;\n",
                            "a[d[I] & 15] = a[d[I + 1]];\n",
                            "if (t & 1) d[e[I] & 255]++;\n",
                            "if (a[b[I] & 63] == 7) break;\n",
                        ]);
                        access.replace('I', &i)
                    })
                    .collect();
                let high = self.random.one(&["n", "n + m", "m * 20", "150"]);
                format!(
                    "for ({signed} {i} = {low}; {i} < {high}; {i} += {step}) {{\n{accesses}{body}}}\n"
                )
            }
            // An element that the loop chooses, and then one of a row that only the program knows to be in it.
            11 | 12 => {
                let body = match self.random.below(3) {
                    0 => self.block(depth - 1, &inner, true),
                    _ => String::new(),
                };
                let chosen = self.fresh("w");
                let other = self
                    .random
                    .one(&["I", "I", "I", "I + 1", "n", "W > 1 ? W - 1 : I"]);
                let value = self.random.one(&["I", "I", "I", "I + 1", "n"]);
                let test = format!("{array}[{value}] > {array}[W]");
                let walk = match self.random.below(3) {
                    0 => format!("{array}[W] += 1; if ({array}[I]++ > 3) W = {other};\n"),
                    _ => format!("if ({test}) W = {other};\n"),
                };
                let row = format!("{array}[{}] += 1;\n", self.random.one(&["I", "I", "I + 2"]));
                let name = |text: &str| text.replace('I', &i).replace('W', &chosen);
                let (walk, row) = (name(&walk), name(&row));
                let each = format!("for ({signed} {i} = {low}; {i} < {high}; {i}++)");
                format!(
                    "{{ {signed} {chosen} = {low}; {each} {{\n{walk}{body}}}\n\
                     {array}[{chosen}] = {array}[n];\n{each} {row}}}\n"
                )
            }
            _ => {
                let body = self.block(depth - 1, &inner, true);
                format!(
                    "{{ volatile int *{p} = a + 3; {signed} {i} = 0; while ({i} < 5 && *{p} != 99) {{\n{body}{i}++; }} }}\n"
                )
            }
        }
    }

    fn program(&mut self) -> String {
        let mut out = "#include <stddef.h>\n#include <string.h>\n\
            void mark(int); char *region(void);\n\
            struct V { int *p; unsigned char *q; struct V *w; };\n\
            struct S { int a; short b; double c; struct S *next; char d[6]; };\n\
            __attribute__((noinline)) static void fills(short *b, int m) { for (int i = 0; i < m; i++) b[i * 2] = i; }\n\
            __attribute__((noinline)) static void moves(int *a, int n) {\n\
              if (a[0] == 4242) mark(-1);\n\
              for (int i = 0; i < n; i++) a[i] += a[i + 1]; }\n"
            .to_owned();
        for function in 0..3 {
            out += &format!(
                "__attribute__((noinline)) long f{function}(int *a, short *b, double *c, unsigned char *d, long *e, \
                 struct S *s, struct V *v, int n, int m) {{ long t = n;\n"
            );
            for _ in 0..4 {
                out += &self.statement(3, &[], false);
            }
            out += "return t; }\n";
        }
        out += "int main(void) { char *r = region(); long t = 0;\n\
            for (int i = 0; i < 65536; i++) r[i] = (i * 7 + i / 13) & 3;\nmark(0);\n";
        for function in 0..3 {
            for (n, m) in [(5, 3), (1, 1), (1, 8), (9, 2), (12, 12)] {
                // Apart, and in each other's way.
                for [a, b, c, d, e, s] in [
                    [4096, 12288, 20480, 28672, 36864, 45056],
                    [4096, 4100, 4096, 4090, 4200, 4104],
                ] {
                    out += &format!(
                        "t += f{function}((int *)(r + {a}), (short *)(r + {b}), (double *)(r + {c}), \
                         (unsigned char *)(r + {d}), (long *)(r + {e}), (struct S *)(r + {s}), (struct V *)(r + 60000), {n}, {m}); mark(0);\n"
                    );
                }
            }
        }
        out + "return t == 3; }\n"
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() || output.status.code() == Some(1) && output.stderr.is_empty() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{command:?}: {}\n{said}", output.status))
    }
}

fn plugin() -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let directory = test.parent().expect("the test is in a directory");
    let name = "libfootrace_instrument.so";
    [directory.join(name), directory.with_file_name(name)]
        .into_iter()
        .find(|path| path.exists())
        .expect("cargo builds the plugin before its tests")
}

/// The bytes that the checks of one placement name.
fn bytes(bitcode: &Path, runtime: &Path, placement: &str) -> Result<String, String> {
    let placed = bitcode.with_extension(format!("{placement}.bc"));
    let program = bitcode.with_extension(placement);
    run(Command::new("opt-22")
        .arg(format!("-load-pass-plugin={}", plugin().display()))
        .arg("-passes=footrace-early,verify,default<O1>")
        .arg(bitcode)
        .arg("-o")
        .arg(&placed)
        .env("FOOTRACE_PLACEMENT", placement))?;
    run(Command::new("clang-22")
        .args(["-w", "-O1"])
        .args([&placed, runtime])
        .arg("-o")
        .arg(&program))?;
    run(Command::new("timeout").arg("20").arg(&program))
}

fn compare(seed: u64, directory: &Path, runtime: &Path) -> Result<(), String> {
    let mut generator = Generator {
        random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        names: 0,
    };
    let source = directory.join(format!("same_bytes_{seed}.c"));
    std::fs::write(&source, generator.program()).map_err(|error| error.to_string())?;
    let bitcode = source.with_extension("bc");
    run(Command::new("clang-22")
        .args(["-w", "-g", "-c", "-emit-llvm", "-flto=full"])
        .arg(["-O2", "-O1", "-Os"][usize::try_from(seed % 3).unwrap_or(0)])
        .args(["-mllvm", "-force-attribute=sanitize_thread"])
        .args(["-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"])
        .args(["-fno-strict-aliasing", "-o"])
        .arg(&bitcode)
        .arg(&source))?;
    let expected = bytes(&bitcode, runtime, "all")?;
    for placement in ["redcard", "bigfoot"] {
        let found = bytes(&bitcode, runtime, placement)?;
        let differ = |(_, (a, b)): &(usize, (&str, &str))| a != b;
        if let Some((line, (a, b))) = (1..).zip(expected.lines().zip(found.lines())).find(differ) {
            return Err(format!(
                "{}: {placement} differs in line {line}:\nall:  {a}\nhere: {b}",
                source.display()
            ));
        }
        if expected.lines().count() != found.lines().count() {
            return Err(format!("{}: {placement} ends early", source.display()));
        }
    }
    Ok(())
}

#[test]
fn placed_checks_name_the_same_bytes() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let runtime = directory.join("same_bytes_runtime.o");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/same_bytes.c");
    let mut compile = Command::new("clang-22");
    compile.args(["-O2", "-c"]).arg(&source);
    run(compile.arg("-o").arg(&runtime)).expect("the runtime compiles");
    let first = number("FOOTRACE_SAME_BYTES_SEED", 1);
    let count = number("FOOTRACE_SAME_BYTES", 8);
    for seed in first..first + count {
        if let Err(message) = compare(seed, directory, &runtime) {
            panic!("seed {seed}: {message}");
        }
    }
}
