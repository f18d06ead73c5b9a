//! The lock of a file that is written in bursts: kept for a moment after each write, so that the next one need not
//! take it again (taking it and looking at the file costs a third of a small write).
//!
//! Rules that keep this harmless for other writers:
//! - Only a writer that comes back within [`BURST`] keeps the lock, and for at most [`LONGEST`] at a stretch; then it
//!   lets go and stays away for [`REST`], in which a waiting writer's next attempt falls.
//! - A writer that found the lock taken, or the file written by another, keeps nothing for [`SHY`]: where several write,
//!   each lets go after each write.
//! - What a writer keeps and does not use is released after [`IDLE`] by a thread that does nothing else.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

const BURST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(10);
const REST: Duration = Duration::from_micros(200);
const SHY: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_millis(2);

/// An open file with its lock.
#[derive(Debug)]
pub(super) struct Leased {
    pub(super) file: File,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the operating system's lock is held, and whether somebody is between `try_lock` and `unlock`.
    held: bool,
    in_use: bool,
    taken: Option<Instant>,
    released: Option<Instant>,
    busy: Option<Instant>,
    rest_until: Option<Instant>,
    /// The lock was taken soon after it was released: this is a burst.
    burst: bool,
    /// The releasing thread knows of the lock.
    watched: bool,
}

impl Leased {
    pub(super) fn new(file: File) -> Arc<Leased> {
        Arc::new(Leased { file, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on with a lock that was kept: nobody else had it since.
    pub(super) fn resume(&self) -> bool {
        let mut state = self.state();
        state.in_use |= state.held;
        state.held
    }

    /// Somebody else wrote since: as good as having found the lock taken.
    pub(super) fn shared_with_others(&self) {
        self.state().busy = Some(Instant::now());
    }

    pub(super) fn try_lock(&self) -> Result<(), TryLockError> {
        let mut state = self.state();
        if state.held {
            state.in_use = true;
            return Ok(());
        }
        if let Some(rest) = state.rest_until.take() {
            std::thread::sleep(rest.saturating_duration_since(Instant::now()));
        }
        let locked = self.file.try_lock();
        let now = Instant::now();
        match &locked {
            Ok(()) => {
                state.burst = state.released.is_some_and(|released| now.duration_since(released) < BURST);
                (state.held, state.in_use, state.taken) = (true, true, Some(now));
            }
            Err(TryLockError::WouldBlock) => state.busy = Some(now),
            Err(TryLockError::Error(_)) => {}
        }
        locked
    }

    pub(super) fn unlock(self: &Arc<Self>) -> io::Result<()> {
        let mut state = self.state();
        let now = Instant::now();
        let within = |at: Option<Instant>, bound| at.is_some_and(|at| now.duration_since(at) < bound);
        state.in_use = false;
        state.released = Some(now);
        if state.held && state.burst && within(state.taken, LONGEST) && !within(state.busy, SHY) {
            if !state.watched {
                state.watched = watch(self);
            }
            if state.watched {
                return Ok(());
            }
        }
        if state.burst && !within(state.taken, LONGEST) {
            state.rest_until = Some(now + REST);
        }
        state.held = false;
        self.file.unlock()
    }

    /// Releases what nobody uses. Returns whether there is still something to watch.
    fn release_idle(&self) -> bool {
        let mut state = self.state();
        let idle = state.released.is_none_or(|released| released.elapsed() >= IDLE);
        if state.held && !state.in_use && idle {
            state.held = false;
            // Nothing can be done about an error here; closing the file releases the lock as well.
            let _ = self.file.unlock();
        }
        state.watched = state.held;
        state.watched
    }
}

/// The kept locks of this process, and the thread that releases the idle ones.
struct Watch {
    kept: Mutex<Kept>,
    more: Condvar,
}

#[derive(Default)]
struct Kept {
    locks: Vec<Weak<Leased>>,
    /// The process the thread runs in: a forked child has a copy of this, and no thread.
    thread_of: Option<u32>,
}

fn watch(lock: &Arc<Leased>) -> bool {
    static WATCH: OnceLock<Watch> = OnceLock::new();
    let watch = WATCH.get_or_init(|| Watch { kept: Mutex::default(), more: Condvar::new() });
    let mut kept = watch.kept.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.thread_of != Some(std::process::id()) {
        let thread = std::thread::Builder::new().name("xcsh-session-locks".to_owned());
        if thread.spawn(move || release_idle_ones(watch)).is_err() {
            return false;
        }
        kept.thread_of = Some(std::process::id());
    }
    kept.locks.push(Arc::downgrade(lock));
    watch.more.notify_one();
    true
}

fn release_idle_ones(watch: &Watch) {
    let mut kept = watch.kept.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let empty = |kept: &mut Kept| kept.locks.is_empty();
        kept = watch.more.wait_while(kept, empty).unwrap_or_else(PoisonError::into_inner);
        let locks = std::mem::take(&mut kept.locks);
        drop(kept);
        std::thread::sleep(IDLE);
        let held: Vec<_> =
            locks.into_iter().filter(|lock| lock.upgrade().is_some_and(|lock| lock.release_idle())).collect();
        kept = watch.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.locks.extend(held);
    }
}
