//! What is wrong is said, with its place; nothing panics.

use event::Event;
use oracle::r#gen::random;
use proptest::prelude::*;
use trace::{Error, Format, Names, Place, Reader, Writer};

fn read(bytes: &[u8]) -> (Vec<Event>, Result<(), Error>) {
    let mut events = Vec::new();
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(e) => return (events, Err(e)),
    };
    loop {
        match reader.next_event() {
            Ok(Some(event)) => events.push(event),
            Ok(None) => return (events, Ok(())),
            Err(e) => {
                // Whoever goes on after an error gets an end, not nonsense.
                if matches!(reader, Reader::Binary(_)) {
                    assert!(matches!(reader.next_event(), Ok(None)));
                }
                return (events, Err(e));
            }
        }
    }
}

/// Line, column, width, message.
fn error(text: &str) -> (u64, usize, usize, String) {
    match read(text.as_bytes()).1 {
        Err(Error::Bad {
            place:
                Place::Text {
                    line,
                    column,
                    width,
                    ..
                },
            what,
            expected,
        }) => (line, column, width, format!("{what}; expected {expected}")),
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn messages_name_the_place() {
    let cases = [
        ("T0|w(x\n", (1, 7, 1, "the line ends here; expected `)`")),
        ("T0 w(x)", (1, 4, 1, "found `w`; expected `|`")),
        (
            "\n\nT0|w(x)5",
            (
                3,
                8,
                1,
                "found `5`; expected `|` and a site, or the end of the line",
            ),
        ),
        (
            "T0|w(a[0])",
            (
                1,
                6,
                1,
                "there is no array `a`; expected a `new(a,…)` before this line",
            ),
        ),
        (
            "T0|new(a,4)\nT0|r(a[4])",
            (2, 8, 1, "out of bounds; expected `a` has 4 elements"),
        ),
        (
            "T0|new(a,4)\nT0|r(a[1..12:2])",
            (2, 11, 2, "out of bounds; expected `a` has 4 elements"),
        ),
        (
            "T0|new(a,4)\nT0|r(a[3..2])",
            (
                2,
                11,
                1,
                "the range ends before it begins; expected 3 or more",
            ),
        ),
        (
            "T0|new(a,4)\nT0|r(a[0..2:0])",
            (2, 13, 1, "a stride of 0; expected at least 1"),
        ),
        (
            "T0|new(a,4)\nT0|r(a)",
            (
                2,
                6,
                1,
                "`a` is an array; expected an element, `a[0]`, or a range, `a[0..4]`",
            ),
        ),
        (
            "T0|new(a,4)\nT0|new(a,4)",
            (2, 8, 1, "`a` is there already; expected `free(a)` before"),
        ),
        (
            "T0|w(a)\nT0|new(a,4)",
            (
                2,
                8,
                1,
                "`a` is a variable already; expected a name of its own for the array",
            ),
        ),
        (
            "T0|ld(x,rel)",
            (
                1,
                9,
                3,
                "`rel` is no order for this; expected a memory order: rlx acq sc",
            ),
        ),
        (
            "T0|new(a,99999999999)",
            (
                1,
                10,
                11,
                "the array is too long; expected at most 268435456 elements, and less than 2^45 bytes in all",
            ),
        ),
        (
            "T0|new(ü,4)\nT0|r(ü[99999999999999999999999])",
            (
                2,
                8,
                23,
                "the number is too large; expected the number of an element",
            ),
        ),
        (
            "|w(x)",
            (1, 1, 1, "found `|`; expected the name of a thread"),
        ),
        (
            "T0|r(@1:4)",
            (
                1,
                6,
                1,
                "this is no address; expected an address and a size in bytes, such as `@0x1000:4`",
            ),
        ),
        (
            "T0|r(@0xffffffffffffffff:4)",
            (
                1,
                26,
                1,
                "this cannot be a size here; expected 1 or more bytes below 2^47",
            ),
        ),
    ];
    for (text, (line, column, width, message)) in cases {
        assert_eq!(
            error(text),
            (line, column, width, message.to_string()),
            "{text}"
        );
    }
    assert!(
        error("T0|frob(x)")
            .3
            .starts_with("there is no operation `frob`; expected one of r w")
    );
}

#[test]
fn events_before_an_error_are_read() {
    let (events, result) = read(b"T0|w(x)\nT0|r(x)\nT0|nonsense\n");
    assert_eq!(events.len(), 2);
    assert!(result.is_err());
}

#[test]
fn text_that_is_no_text() {
    assert_eq!(
        error_of(b"T0|w(\xff)\n"),
        "1:6: not UTF-8 text; expected a text or binary trace"
    );
    let long = vec![b'x'; 1 << 20];
    assert_eq!(
        error_of(&long),
        "1:1: the line is too long; expected lines of at most 64 KiB"
    );
}

fn error_of(bytes: &[u8]) -> String {
    read(bytes).1.unwrap_err().to_string()
}

fn binary(events: &[Event]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Format::Binary).unwrap();
    for event in events {
        writer.write(event, &Names::new()).unwrap();
    }
    writer.finish().unwrap();
    out
}

#[test]
fn a_file_cut_anywhere_gives_its_beginning() {
    for seed in [1, 2, 3] {
        let bytes = binary(&random::arbitrary(seed, 300));
        let whole = read(&bytes).0;
        let mut most = 0;
        for cut in 0..bytes.len() {
            let (events, result) = read(&bytes[..cut]);
            // Nothing at all is an empty text.
            assert!(result.is_err() || cut == 0, "cut at {cut}");
            assert_eq!(events, whole[..events.len()], "cut at {cut}");
            assert!(events.len() >= most, "no less than with a shorter file");
            most = events.len();
        }
        assert_eq!(most, whole.len(), "only the end is missing");
    }
}

#[test]
fn a_flipped_bit_is_noticed() {
    let bytes = binary(&random::arbitrary(5, 300));
    let whole = read(&bytes).0;
    for at in 1..bytes.len() {
        // Reserved bytes of the header mean nothing.
        if (10..16).contains(&at) {
            continue;
        }
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let (events, result) = read(&damaged);
        assert!(result.is_err(), "byte {at}");
        assert_eq!(events, whole[..events.len()], "byte {at}");
    }
}

/// A block with a right checksum, whatever is in it.
fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut file = trace::binary::MAGIC.to_vec();
    file.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    let mut header = (payload.len() as u32).to_le_bytes().to_vec();
    header.extend(1_u32.to_le_bytes());
    header.extend(crc32fast::hash(payload).to_le_bytes());
    header.extend(crc32fast::hash(&header).to_le_bytes());
    file.extend(header);
    file.extend(payload);
    file
}

proptest! {
    #[test]
    fn no_payload_panics(payload in prop::collection::vec(any::<u8>(), 1..200)) {
        let (events, _) = read(&sealed(&payload));
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, Format::Text).unwrap();
        for event in &events {
            writer.write(event, &Names::new()).unwrap();
        }
    }

    #[test]
    fn no_mutated_binary_panics(
        seed in 0_u64..1000,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        // Past the checksum: the payload is changed, then sealed again.
        let mut payload = binary(&random::arbitrary(seed, 100))[32..].to_vec();
        payload.truncate(payload.len().saturating_sub(24).max(1));
        for (at, byte) in changes {
            let i = at.index(payload.len());
            payload[i] = byte;
        }
        let mut out = Vec::new();
        let file = sealed(&payload);
        let reader = Reader::new(&file[..]).unwrap();
        let _ = trace::copy(reader, Writer::new(&mut out, Format::Text).unwrap());
        let _ = read(&out);
    }

    #[test]
    fn no_text_panics(text in "(T[0-2]\\|(r|w|ld|new|free|fork|acq|@0x)?\\(?[a-b@:,.\\[\\]0-9x]{0,8}\\)?\\|?[ -~]{0,3}\n){0,20}") {
        let _ = read(text.as_bytes());
    }

    #[test]
    fn no_mutated_text_panics(
        seed in 0_u64..1000,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
    ) {
        let mut text = Vec::new();
        let mut writer = Writer::new(&mut text, Format::Text).unwrap();
        for event in &random::arbitrary(seed, 100) {
            writer.write(event, &Names::new()).unwrap();
        }
        writer.finish().unwrap();
        for (at, byte) in changes {
            let i = at.index(text.len());
            text[i] = byte;
        }
        let _ = read(&text);
    }
}
