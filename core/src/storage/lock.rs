//! Waiting for a lock, within a bound.

use std::thread;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Growing pauses until a point in time. The clock is not read before the first pause, so an attempt that succeeds
/// at once costs nothing.
pub(super) struct Patience {
    wait: Duration,
    deadline: Option<Instant>,
    pause: Duration,
}

impl Patience {
    pub(super) fn new(wait: Duration) -> Self {
        Patience { wait, deadline: None, pause: FIRST_PAUSE }
    }

    /// Sleeps a little longer than the last time. `false`, without sleeping, once the time is over.
    pub(super) fn pause(&mut self) -> bool {
        let now = Instant::now();
        // A wait too long for the clock is as good as none at all: one day.
        let wait = self.wait.min(Duration::from_secs(86_400));
        let deadline = *self.deadline.get_or_insert(now + wait);
        let left = deadline.saturating_duration_since(now);
        if left.is_zero() {
            return false;
        }
        thread::sleep(self.pause.min(left));
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}
