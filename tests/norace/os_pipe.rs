// std::io::pipe as a hand-off.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::Shared;
use std::io::{self, Read, Write};
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);

fn main() {
    let (mut reader, mut writer) = io::pipe().unwrap();
    let other = thread::spawn(move || {
        unsafe { *SHARED.at() = 1 };
        writer.write_all(b"x").unwrap();
    });
    reader.read_exact(&mut [0]).unwrap();
    unsafe { *SHARED.at() = 2 };
    other.join().unwrap();
}
