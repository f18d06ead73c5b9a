//! A clock that goes on by [`TICK`] with each look, and by a sleep's length, in place of the C library's.
//!
//! How long a lock is kept and when a path is looked at again depend on the time, and a counted run is some fifty times
//! slower than a plain one, more on a busy machine. With this clock the same run always takes the same time.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// An append looks some three times, and takes some five microseconds.
const TICK: u64 = 2_000;

/// Nanoseconds since 1970; 0 before [`start`].
static NOW: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static MOVES: Cell<bool> = const { Cell::new(false) };
}

/// Begins at `since_1970`. This thread moves the clock and no other: they come when they like.
pub(crate) fn start(since_1970: Duration) {
    NOW.store(since_1970.as_nanos() as u64, Ordering::Relaxed);
    MOVES.set(true);
}

/// Lets so much time pass.
pub(crate) fn pass(time: Duration) {
    NOW.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

// The two functions below take the place of the C library's for what is linked into the program, which is Rust's standard
// library; the C library itself and what it loads do not see them.

// SAFETY: signature and contract are those of POSIX.
#[cfg(target_os = "linux")]
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(_clock: c_int, time: *mut Timespec) -> c_int {
    let tick = if MOVES.get() { TICK } else { 0 };
    let now = NOW.fetch_add(tick, Ordering::Relaxed);
    let read = Timespec { seconds: (now / 1_000_000_000) as c_long, nanoseconds: (now % 1_000_000_000) as c_long };
    // SAFETY: callers hand a valid pointer over.
    unsafe { time.write(read) };
    0
}

/// Where the clock's own thread sleeps, time passes at once. Any other thread that sleeps does so for ever, as long as
/// the process lives: the clock does not move for it, so that waking it would only disturb the count.
// SAFETY: signature and contract are those of POSIX, for sleeps of a length (`flags` 0), which are all that the standard
// library asks for.
#[cfg(target_os = "linux")]
#[unsafe(no_mangle)]
extern "C" fn clock_nanosleep(_clock: c_int, _flags: c_int, time: *const Timespec, _left: *mut Timespec) -> c_int {
    while !MOVES.get() && NOW.load(Ordering::Relaxed) > 0 {
        std::thread::park();
    }
    crate::mark("xcsh-guard-sleeps");
    // SAFETY: callers hand a valid pointer over.
    let Timespec { seconds, nanoseconds } = unsafe { time.read() };
    pass(Duration::new(seconds as u64, nanoseconds as u32));
    0
}
