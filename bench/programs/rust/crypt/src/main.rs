//! IDEA (Lai and Massey): SIZE bytes are encrypted and decrypted, each thread works on its own range of 8-byte blocks.
//! Default 6,000,000 bytes; large: 20,000,000 (60 MB). Seeded race: the ranges overlap by one block.
use common::{Arguments, Field, Random};
use std::process::ExitCode;
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");

/// Multiplication modulo 65537, where 0 stands for 65536.
fn multiply(a: u16, b: u16) -> u16 {
    if a == 0 {
        return 1_u16.wrapping_sub(b);
    }
    if b == 0 {
        return 1_u16.wrapping_sub(a);
    }
    let product = u32::from(a) * u32::from(b);
    let (low, high) = (product as u16, (product >> 16) as u16);
    low.wrapping_sub(high).wrapping_add(u16::from(low < high))
}

fn inverse(x: u16) -> u16 {
    let (mut result, mut power, mut bits) = (1, x, 65535_u32);
    while bits > 0 {
        if bits & 1 == 1 {
            result = multiply(result, power);
        }
        power = multiply(power, power);
        bits >>= 1;
    }
    result
}

fn keys() -> ([u16; 52], [u16; 52]) {
    let mut random = Random(136_506_717);
    let mut encrypt = [0_u16; 52];
    for key in &mut encrypt[..8] {
        *key = random.next() as u16;
    }
    // Each group of eight is the previous one rotated left by 25 bits.
    for i in 8..52 {
        let group = i / 8 * 8 - 8;
        encrypt[i] = encrypt[group + (i + 1) % 8] << 9 | encrypt[group + (i + 2) % 8] >> 7;
    }
    let mut decrypt = [0_u16; 52];
    for round in 0..=8 {
        let from = (8 - round) * 6;
        let to = round * 6;
        let (second, third) = if round == 0 || round == 8 {
            (1, 2)
        } else {
            (2, 1)
        };
        decrypt[to] = inverse(encrypt[from]);
        decrypt[to + 1] = encrypt[from + second].wrapping_neg();
        decrypt[to + 2] = encrypt[from + third].wrapping_neg();
        decrypt[to + 3] = inverse(encrypt[from + 3]);
        if round < 8 {
            decrypt[to + 4] = encrypt[from - 2];
            decrypt[to + 5] = encrypt[from - 1];
        }
    }
    (encrypt, decrypt)
}

fn code(input: &[u8], output: &mut [u8], key: &[u16; 52]) {
    for (from, to) in input.chunks_exact(8).zip(output.chunks_exact_mut(8)) {
        let mut x = [0_u16; 4];
        for (word, bytes) in x.iter_mut().zip(from.chunks_exact(2)) {
            *word = u16::from_le_bytes([bytes[0], bytes[1]]);
        }
        for k in key[..48].chunks_exact(6) {
            x[0] = multiply(x[0], k[0]);
            x[1] = x[1].wrapping_add(k[1]);
            x[2] = x[2].wrapping_add(k[2]);
            x[3] = multiply(x[3], k[3]);
            let t0 = multiply(k[4], x[0] ^ x[2]);
            let t1 = multiply(k[5], t0.wrapping_add(x[1] ^ x[3]));
            let t0 = t0.wrapping_add(t1);
            x[0] ^= t1;
            x[3] ^= t0;
            let middle = x[1] ^ t0;
            x[1] = x[2] ^ t1;
            x[2] = middle;
        }
        let last = [
            multiply(x[0], key[48]),
            x[2].wrapping_add(key[49]),
            x[1].wrapping_add(key[50]),
            multiply(x[3], key[51]),
        ];
        for (word, bytes) in last.iter().zip(to.chunks_exact_mut(2)) {
            bytes.copy_from_slice(&word.to_le_bytes()); // RACE
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::read(6_000_000);
    arguments.size = arguments.size / 8 * 8;
    let mut random = Random(1);
    let plain: Vec<u8> = (0..arguments.size).map(|_| random.next() as u8).collect();
    let (encrypt, decrypt) = keys();
    let secret = Field::new(vec![0_u8; arguments.size]);
    let again = Field::new(vec![0_u8; arguments.size]);
    let blocks = arguments.size / 8;
    let range = |thread| {
        let range = arguments.slice(thread, blocks);
        let extra = usize::from(SEEDED && range.start > 0);
        (range.start - extra) * 8..range.end * 8
    };
    thread::scope(|scope| {
        for t in 0..arguments.threads {
            let (range, plain, secret, encrypt) = (range(t), &plain, &secret, &encrypt);
            // SAFETY: ranges are disjoint unless a race is seeded.
            scope.spawn(move || {
                code(
                    &plain[range.clone()],
                    unsafe { secret.part(range) },
                    encrypt,
                )
            });
        }
    });
    thread::scope(|scope| {
        for t in 0..arguments.threads {
            let (range, secret, again, decrypt) = (range(t), &secret, &again, &decrypt);
            // SAFETY: as above; `secret` is only read now.
            scope.spawn(move || {
                code(
                    unsafe { secret.part(range.clone()) },
                    unsafe { again.part(range) },
                    decrypt,
                )
            });
        }
    });
    let mut sum = 0_u64;
    let (mut right, mut changed) = (true, false);
    for (i, byte) in plain.iter().enumerate() {
        sum = sum.wrapping_mul(31).wrapping_add(secret.get(i).into());
        right &= again.get(i) == *byte;
        changed |= secret.get(i) != *byte;
    }
    arguments.end(
        "crypt",
        (sum % 1_000_000_007) as f64,
        right && changed,
        SEEDED,
    )
}
