// A child process echoes; its output is collected by threads of std.
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::process::Command;
use std::thread;

fn main() {
    let workers: Vec<_> = (0..3)
        .map(|i| {
            thread::spawn(move || {
                let output = Command::new("/bin/echo")
                    .arg(format!("line {i}"))
                    .output()
                    .unwrap();
                String::from_utf8(output.stdout).unwrap()
            })
        })
        .collect();
    for (i, worker) in workers.into_iter().enumerate() {
        assert_eq!(worker.join().unwrap(), format!("line {i}\n"));
    }
}
