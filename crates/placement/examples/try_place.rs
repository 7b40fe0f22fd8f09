use placement::{Mode, Options, place_program, text};
fn main() {
    for file in std::env::args().skip(1) {
        let t = std::fs::read_to_string(&file).unwrap();
        let l = text::lower(&text::parse(&t).unwrap()).unwrap();
        let o = Options {
            contexts: std::env::var("CTX").is_ok(),
            mode: if std::env::var("RED").is_ok() {
                Mode::RedCard
            } else {
                Mode::BigFoot
            },
            ..Options::default()
        };
        let (_, p) = place_program(&l.program, o);
        println!("{}", text::annotate(&l, &p, o.contexts));
    }
}
