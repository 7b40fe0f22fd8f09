// A byte through a socket pair orders what was written before it.
#[path = "../support/invisible.rs"]
mod invisible;

use invisible::Shared;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

static SHARED: Shared<i32> = Shared::new(0);

fn main() {
    let (mut here, mut there) = UnixStream::pair().unwrap();
    let writer = thread::spawn(move || {
        unsafe { *SHARED.at() = 1 };
        there.write_all(b"x").unwrap();
    });
    here.read_exact(&mut [0]).unwrap();
    unsafe { *SHARED.at() = 2 };
    writer.join().unwrap();
}
