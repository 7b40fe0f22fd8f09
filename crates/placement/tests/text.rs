//! BFJ text: what is printed parses to the same program, what is wrong is said with its place.

use placement::text::{lower, parse, print};

const POINT: &str = "
class Point {
    x; y; z;
    volatile ready;
    method move(dx) {
        tmp = this.x;
        this.x = tmp + dx;
        return tmp;
    }
}
shared a = new_array 4;
shared p = new Point;
thread {
    i = 0;
    while (i < 4) {
        a[i] = (i + 1) * 2 - (3 - i);
        i = i + 1;
    }
    try { p.move(1); if (i == 2) { throw; } } catch { skip; }
    p.ready = 1;
    j <- i;
    check(write a[0..i], read p.x/y, read a[1..3:2]);
}
thread {
    t = fork p.move(2);
    join(t);
    loop { x = p.ready; if (x != 0) { break; } else { acq(p); rel(p); } }
}
";

#[test]
fn print_and_parse_are_inverse() {
    let source = parse(POINT).expect("parses");
    let text = print(&source);
    let again = parse(&text).expect("what is printed parses");
    assert_eq!(text, print(&again));
    let lowered = lower(&source).expect("lowers");
    let text = print(&lowered.source);
    assert_eq!(text, print(&parse(&text).expect("parses")));
}

#[test]
fn errors_say_where_and_what() {
    for (text, error) in [
        (
            "thread { x = ; }",
            "1:14: expected an expression, found `;`",
        ),
        ("thread {\n  acq(; }", "2:7: expected a variable, found `;`"),
        (
            "klass",
            "1:1: expected `class`, `shared` or `thread`, found `klass`",
        ),
        (
            "thread { x = 99999999999999999999; }",
            "1:14: the number 99999999999999999999 does not fit into 64 bits",
        ),
        (
            "thread { if (x < 1) { x = 1; }",
            "1:31: expected a statement or `}`, found the end of the text",
        ),
        (
            "thread { x = 1 @ 2; }",
            "1:16: the character '@' means nothing here",
        ),
    ] {
        assert_eq!(parse(text).expect_err(text).to_string(), error);
    }
    for (text, error) in [
        ("thread { x = y.f; }", "1:10: no class has a field `f`"),
        ("thread { break; }", "1:10: `break` outside of a loop"),
        ("thread { y.m(); }", "1:10: there is no method `m`"),
        (
            "thread { x = new C; }",
            "1:10: there is no class `C`; declare it with `class C { }`",
        ),
    ] {
        let source = parse(text).expect(text);
        assert_eq!(lower(&source).expect_err(text).to_string(), error);
    }
}

#[test]
fn no_nesting_overflows_the_stack() {
    let deep = format!(
        "thread {{ x = {}1{}; }}",
        "(".repeat(50_000),
        ")".repeat(50_000)
    );
    assert!(
        parse(&deep)
            .expect_err("too deep")
            .message
            .contains("nested deeper")
    );
    let long = format!("thread {{ x = 1{}; }}", " + 1".repeat(50_000));
    assert!(
        parse(&long)
            .expect_err("too long")
            .message
            .contains("nested deeper")
    );
    let blocks = "thread { ".to_owned() + &"if (x < 1) { ".repeat(50_000);
    assert!(parse(&blocks).is_err());
}
