//! Which thread goes next: every way (small programs), or random ones.

use crate::interp::Machine;

/// Calls `judge` with the end of every schedule, until it says stop (`false`) or `limit` schedules
/// have been seen. Returns how many were seen, and whether that was all of them. Runs are cut after
/// `max_steps` steps.
pub fn every<'p>(
    start: &Machine<'p>,
    max_steps: usize,
    limit: usize,
    judge: &mut impl FnMut(&Machine<'p>) -> bool,
) -> (usize, bool) {
    let mut seen = 0;
    let mut stack = vec![(start.clone(), 0usize)];
    while let Some((machine, steps)) = stack.pop() {
        let enabled = if steps < max_steps {
            machine.enabled()
        } else {
            Vec::new()
        };
        if enabled.is_empty() {
            seen += 1;
            if !judge(&machine) || seen >= limit {
                return (seen, stack.is_empty());
            }
            continue;
        }
        for &t in &enabled {
            let mut next = machine.clone();
            next.step(t);
            stack.push((next, steps + 1));
        }
    }
    (seen, true)
}

/// Runs to the end, or `max_steps` steps, by the choices of `random`, which is given the number of
/// threads to choose from. Returns whether the end was reached.
pub fn random(
    machine: &mut Machine<'_>,
    max_steps: usize,
    random: &mut impl FnMut(usize) -> usize,
) -> bool {
    let mut current = None;
    for _ in 0..max_steps {
        let enabled = machine.enabled();
        if enabled.is_empty() {
            return true;
        }
        // Stay with a thread now and then, so that long runs of one thread happen too.
        let stay = current.filter(|t| enabled.contains(t) && random(2) == 0);
        let t = stay.unwrap_or_else(|| enabled[random(enabled.len()) % enabled.len()]);
        machine.step(t);
        current = Some(t);
    }
    machine.enabled().is_empty()
}
