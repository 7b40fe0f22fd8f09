//! What is written is read back; what is torn or damaged never takes the rest with it.

use event::AccessKind;
use report::{
    Access, Arrays, Block, Elements, Location, Lock, Module, Process, Race, Reader, Stack, Stats,
    Thread,
};

fn blocks() -> Vec<Block> {
    let access = |kind, thread| Access {
        kind,
        atomic: thread == 2,
        thread,
        stack: Stack(vec![0x1234, 0xffff_ffff_ffff_fff0]),
        locks: vec![Lock {
            address: 0x7f00_0000_1000,
            shared: true,
            stack: Stack(vec![1]),
        }],
    };
    vec![
        Block::Process(Process {
            pid: 7,
            parent: 1,
            detector: "fasttrack".into(),
            executable: "/tmp/a program%\n-é".into(),
        }),
        Block::Modules(vec![Module {
            start: 0x1000,
            end: 0x2000,
            bias: 0,
            build_id: String::new(),
            path: "-".into(),
        }]),
        Block::Race(Race {
            number: 1,
            address: 0x10,
            bytes: 4,
            elements: Some(Elements {
                size: 4,
                step: 8,
                count: 3,
            }),
            accesses: [access(AccessKind::Read, 1), access(AccessKind::Write, 2)],
            threads: vec![Thread {
                id: 2,
                parent: Some(1),
                name: "worker 2".into(),
                stack: Stack(vec![]),
            }],
            location: Location::Heap {
                start: 0x10,
                bytes: 40,
                thread: 1,
                stack: Stack(vec![9]),
            },
        }),
        Block::Repeat {
            number: 1,
            times: 3,
        },
        Block::Stats(Stats {
            counts: vec![("COARSE, f=<0:n-1:1> -> COARSE".into(), 3)],
            arrays: vec![Arrays {
                partition: "BLOCK".into(),
                blocks: 2,
                elements: 100,
                locations: 10,
                stack: Stack(vec![5]),
            }],
        }),
        Block::End { code: -1 },
    ]
}

fn read_all(bytes: &[u8]) -> (Vec<Block>, usize, usize) {
    let mut reader = Reader::new();
    reader.feed(bytes);
    let (mut good, mut bad) = (Vec::new(), 0);
    while let Some(block) = reader.next_block() {
        match block {
            Ok(block) => good.push(block),
            Err(_) => bad += 1,
        }
    }
    (good, bad, reader.pending())
}

#[test]
fn round_trip() {
    let bytes: Vec<u8> = blocks().iter().flat_map(Block::to_bytes).collect();
    assert_eq!(read_all(&bytes), (blocks(), 0, 0));
}

#[test]
fn every_truncation_keeps_the_whole_blocks() {
    let all = blocks();
    let bytes: Vec<u8> = all.iter().flat_map(Block::to_bytes).collect();
    for end in 0..bytes.len() {
        let (good, bad, _) = read_all(&bytes[..end]);
        assert_eq!(bad, 0);
        assert_eq!(good, all[..good.len()]);
    }
}

#[test]
fn byte_by_byte_is_the_same() {
    let bytes: Vec<u8> = blocks().iter().flat_map(Block::to_bytes).collect();
    let mut reader = Reader::new();
    let mut good = Vec::new();
    for byte in bytes {
        reader.feed(&[byte]);
        while let Some(block) = reader.next_block() {
            good.push(block.expect("a good block"));
        }
    }
    assert_eq!(good, blocks());
}

#[test]
fn no_damage_panics() {
    let bytes: Vec<u8> = blocks().iter().flat_map(Block::to_bytes).collect();
    for at in 0..bytes.len() {
        for damage in [0u8, b'\n', b'.', b'%', 0xff, b'z'] {
            let mut bytes = bytes.clone();
            bytes[at] = damage;
            let (good, bad, pending) = read_all(&bytes);
            assert!(good.len() + bad >= 3 || pending > 0);
        }
    }
}
