//! Text and binary hold the same events and names.

use event::{Event, Op};
use oracle::{Oracle, r#gen::random};
use trace::{Format, Names, Reader, Writer, copy};

fn written(events: &[Event], names: &Names, format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, format).unwrap();
    for event in events {
        writer.write(event, names).unwrap();
    }
    writer.finish().unwrap();
    out
}

fn converted(bytes: &[u8], format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    let reader = Reader::new(bytes).unwrap();
    copy(reader, Writer::new(&mut out, format).unwrap())
        .1
        .unwrap();
    out
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let mut reader = Reader::new(bytes).unwrap();
    std::iter::from_fn(|| reader.next_event().unwrap()).collect()
}

#[test]
fn random_events_survive_both_forms() {
    for seed in 0..300 {
        let original = random::arbitrary(seed, 400);
        let text = written(&original, &Names::new(), Format::Text);
        let binary = written(&original, &Names::new(), Format::Binary);
        assert_eq!(
            String::from_utf8(converted(&binary, Format::Text)).unwrap(),
            String::from_utf8(text.clone()).unwrap(),
            "seed {seed}"
        );
        let (from_text, from_binary) = (events(&text), events(&binary));
        assert_eq!(from_text.len(), original.len());
        // Threads, locks and sites may be numbered anew; memory and verdicts stay.
        let racy = Oracle::new(&original).unwrap().racy_bytes();
        assert_eq!(Oracle::new(&from_text).unwrap().racy_bytes(), racy);
        assert_eq!(Oracle::new(&from_binary).unwrap().racy_bytes(), racy);
    }
}

const EVERYTHING: &str = "\
main|begin
main|new(a,100)|setup.c:3:1
main|new(bytes,10,1)
main|w(a[0..100])|setup.c:4:9
main|fork(T1)|main.c:10
T1|begin
T1|r(a[3])|17
T1|w(a[1..99:2])|17
T1|w(x)|a site with spaces and a#hash
main|acq(l)
main|racq(rw)
main|rrel(rw)
main|rel(l)
main|vr(v)
main|vw(v)
T1|ld(x,rlx)
T1|ld(flag,acq)|40
T1|st(flag,rel)|41
T1|rmw(a[4],ar)
T1|fence(sc)
T1|snd(g)
main|rcv(g)
main|arrive(b)
main|depart(b)
main|sbegin
main|enter(f)
main|r(@0x7f0012:2)
main|w(@0x1000:4[2..10:3])
main|ld(@0x1000:4,sc)
main|new(@0x5000,16,4)
main|free(@0x5000)
main|exit(f)
main|send
T1|w(bytes[9])
T1|end
main|join(T1)
main|free(a)
main|new(a,7)
main|w(a[6])
main|free(a)
main|new(a,1000)
main|w(a[999])
";

#[test]
fn text_to_binary_and_back_is_the_same_text() {
    let text = EVERYTHING;
    let binary = converted(text.as_bytes(), Format::Binary);
    let back = String::from_utf8(converted(&binary, Format::Text)).unwrap();
    assert_eq!(back, text);
    assert_eq!(events(&binary), events(text.as_bytes()));
}

#[test]
fn comments_and_spaces_are_dropped() {
    let loose = "# a trace\n\n  T0 | w( x ) | 3   # first\r\nT0|r(x)   #\nT1|w(y)|s#4\n";
    let strict = "T0|w(x)|3\nT0|r(x)\nT1|w(y)|s#4\n";
    let binary = converted(loose.as_bytes(), Format::Binary);
    let back = String::from_utf8(converted(&binary, Format::Text)).unwrap();
    assert_eq!(back, strict);
}

#[test]
fn a_freed_array_is_allocated_where_it_was() {
    let list = events(EVERYTHING.as_bytes());
    let allocs: Vec<_> = list
        .iter()
        .filter_map(|e| match e.op {
            Op::Alloc { addr, len, .. } => Some((addr, len)),
            _ => None,
        })
        .collect();
    let [(first, 100), _, _, (smaller, 7), (larger, 1000)] = allocs[..] else {
        panic!("{allocs:?}");
    };
    assert_eq!(first, smaller);
    assert_ne!(first, larger);
}
