//! Signals that ask `footrace run` to end are meant for the program.
//!
//! A supervisor (a shell script, a test harness, `timeout`) knows our process id only. If we ended, the program would go on
//! without anybody to show its races. So `SIGTERM` and `SIGHUP` are passed on, and we end when the program does. A
//! terminal sends `SIGINT` and `SIGQUIT` to the program, too: there we only have to stay.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// What arrived and was not passed on yet.
pub(crate) struct Signals {
    terminate: Arc<AtomicBool>,
    hang_up: Arc<AtomicBool>,
}

impl Signals {
    /// From here on the four signals no longer end this process.
    pub(crate) fn hold() -> Result<Signals, String> {
        let held = |signals: &[i32]| -> Result<Arc<AtomicBool>, String> {
            let arrived = Arc::new(AtomicBool::new(false));
            for &signal in signals {
                signal_hook::flag::register(signal, Arc::clone(&arrived))
                    .map_err(|error| format!("cannot hold signal {signal}: {error}"))?;
            }
            Ok(arrived)
        };
        held(&[SIGINT, SIGQUIT])?;
        Ok(Signals {
            terminate: held(&[SIGTERM])?,
            hang_up: held(&[SIGHUP])?,
        })
    }

    /// Passes on what arrived. The child must not have been waited for: its id is its own until then.
    pub(crate) fn pass_on(&self, child: &Child) {
        let child = Pid::from_child(child);
        for (arrived, signal) in [
            (&self.terminate, Signal::TERM),
            (&self.hang_up, Signal::HUP),
        ] {
            if arrived.swap(false, Ordering::Relaxed) {
                // It may have ended meanwhile; that is what was asked for.
                let _ = kill_process(child, signal);
            }
        }
    }
}
