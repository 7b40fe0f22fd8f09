//! A few workers for what is not timed.

use std::collections::VecDeque;
use std::sync::{Mutex, mpsc};

/// Does all tasks, `workers` at a time; `done` sees the results on this thread, as they come.
pub(crate) fn run_all<T: Send, R: Send>(
    workers: usize,
    tasks: impl IntoIterator<Item = T>,
    work: impl Fn(usize, T) -> R + Sync,
    mut done: impl FnMut(R),
) {
    let queue: Mutex<VecDeque<T>> = Mutex::new(tasks.into_iter().collect());
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (sender, queue, work) = (sender.clone(), &queue, &work);
            scope.spawn(move || {
                while let Some(task) = queue.lock().ok().and_then(|mut queue| queue.pop_front()) {
                    if sender.send(work(worker, task)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for result in results {
            done(result);
        }
    });
}

/// One worker for each processor.
pub(crate) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_done_once() {
        let mut sum = 0;
        run_all(3, 1..=100, |_, task| task * 2, |result: i32| sum += result);
        assert_eq!(sum, 10_100);
    }
}
