//! A clock that goes on by [`TICK`] with each look and by nothing else, in place of the C library's.
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

/// Begins at `since_1970`. Only this thread's looks move the clock: those of others come when they like.
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

// SAFETY: the signature and the contract are those of POSIX; nothing but Rust's standard library calls it, since a
// program's symbol takes the place of the C library's only for what is linked into the program.
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(_clock: c_int, time: *mut Timespec) -> c_int {
    let tick = if MOVES.get() { TICK } else { 0 };
    let now = NOW.fetch_add(tick, Ordering::Relaxed);
    let read = Timespec { seconds: (now / 1_000_000_000) as c_long, nanoseconds: (now % 1_000_000_000) as c_long };
    // SAFETY: callers hand a valid pointer over.
    unsafe { time.write(read) };
    0
}
