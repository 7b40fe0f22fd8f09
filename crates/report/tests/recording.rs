//! A log is read back as it was written, and ends where it was cut.

use event::{
    AccessKind, Addr, Elements, Event, FenceOrder, LoadOrder, Op, RmwOrder, Site, StoreOrder,
    SyncId, Tid,
};
use report::recording::{self, Decoder, Encoder, Item, Told, facts, forgotten, named, site};
use report::{Block, Stack};

fn operations() -> Vec<Op> {
    let addr = Addr(0x7f12_3456_7890);
    let id = SyncId(0x5555_0000_1230);
    let elements = Elements {
        base: addr,
        elem: 4,
        lo: 3,
        hi: 1 << 40,
        stride: 7,
    };
    let mut all = vec![
        Op::Alloc {
            addr,
            elem: 8,
            len: 1 << 33,
        },
        Op::Acquire(id),
        Op::Release(id),
        Op::ReadAcquire(id),
        Op::ReadRelease(id),
        Op::VolatileRead(id),
        Op::VolatileWrite(id),
        Op::Send(id),
        Op::Receive(id),
        Op::Arrive(id),
        Op::Depart(id),
        Op::Fork(Tid(77)),
        Op::Join(Tid(77)),
        Op::Begin,
        Op::End,
    ];
    for kind in [AccessKind::Read, AccessKind::Write] {
        all.push(Op::Range { kind, elements });
        for (addr, size) in [(addr, 1), (Addr(3), 16), (Addr(u64::MAX), 4)] {
            all.push(Op::Access { kind, addr, size });
        }
    }
    for order in [LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst] {
        all.push(Op::Load {
            addr,
            size: 8,
            order,
        });
    }
    for order in [StoreOrder::Relaxed, StoreOrder::Release, StoreOrder::SeqCst] {
        all.push(Op::Store {
            addr,
            size: 1,
            order,
        });
    }
    for order in [
        RmwOrder::Relaxed,
        RmwOrder::Acquire,
        RmwOrder::Release,
        RmwOrder::AcqRel,
        RmwOrder::SeqCst,
    ] {
        all.push(Op::Rmw {
            addr,
            size: 4,
            order,
        });
    }
    for order in [
        FenceOrder::Acquire,
        FenceOrder::Release,
        FenceOrder::AcqRel,
        FenceOrder::SeqCst,
    ] {
        all.push(Op::Fence(order));
    }
    all
}

/// Items and their bytes, each by itself.
fn log() -> Vec<(Item, Vec<u8>)> {
    let mut encoder = Encoder::new();
    let mut log = Vec::new();
    let mut add = |item: Item, encode: &mut dyn FnMut(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        log.push((item, bytes));
    };
    let end = Block::End { code: 3 };
    add(Item::Facts(end.clone()), &mut |out| facts(out, &end));
    let stack = Stack(vec![0x40_0000, u64::MAX]);
    add(Item::Site(Site(9), stack.clone()), &mut |out| {
        site(out, Site(9), &stack.0);
    });
    add(Item::Named(Tid(2), "worker \u{e9}".into()), &mut |out| {
        named(out, Tid(2), "worker \u{e9}");
    });
    for told in [Told::Both, Told::Access, Told::Check] {
        add(Item::Told(told), &mut |out| recording::told(out, told));
    }
    add(Item::Forgotten(SyncId(5)), &mut |out| {
        forgotten(out, SyncId(5))
    });
    for (at, op) in operations().into_iter().enumerate() {
        let event = Event {
            thread: Tid(at as u32 % 3),
            op,
            site: Site((at * 1000 % 7) as u32),
        };
        add(Item::Event(event), &mut |out| encoder.event(out, &event));
    }
    let freed = Item::Freed {
        thread: Tid(1),
        addr: Addr(64),
        bytes: 1 << 20,
        site: Site(9),
    };
    add(freed, &mut |out| {
        encoder.freed(out, Tid(1), Addr(64), 1 << 20, Site(9));
    });
    log
}

fn read(bytes: &[u8], piece: usize) -> Vec<Item> {
    let mut decoder = Decoder::new();
    let mut items = Vec::new();
    for piece in bytes.chunks(piece) {
        decoder.feed(piece);
        while let Some(item) = decoder.next_item().unwrap() {
            items.push(item);
        }
    }
    items
}

#[test]
fn what_is_written_is_read() {
    let (items, bytes): (Vec<_>, Vec<_>) = log().into_iter().unzip();
    let bytes = bytes.concat();
    for piece in [1, 2, 7, 64, bytes.len()] {
        assert_eq!(read(&bytes, piece), items);
    }
}

#[test]
fn a_cut_log_has_the_items_before_the_cut() {
    let log = log();
    let bytes: Vec<u8> = log.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    let mut whole = Vec::new();
    let mut end = 0;
    for (item, bytes) in &log {
        end += bytes.len();
        whole.push((end, item.clone()));
    }
    for cut in 0..=bytes.len() {
        let before = whole.iter().filter(|(end, _)| *end <= cut);
        let expected: Vec<Item> = before.map(|(_, item)| item.clone()).collect();
        assert_eq!(read(&bytes[..cut], 16), expected, "cut at {cut}");
    }
    // The rest of a piece is zero.
    let (last, _) = &whole[4];
    let mut torn = bytes[..*last].to_vec();
    torn.extend([0; 100]);
    assert_eq!(read(&torn, 4096).len(), 5);
}

#[test]
fn damage_is_told() {
    for bad in [
        &[99u8, 0, 0][..],
        &[1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
        &[12, 0, 0, 4, 9],
        &[4, 2, b'x', b'\n'],
    ] {
        let mut decoder = Decoder::new();
        decoder.feed(bad);
        let error = loop {
            match decoder.next_item() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{bad:?} waits for more"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("byte 0"), "{error}");
    }
}
