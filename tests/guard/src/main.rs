//! Fixed runs for `tests/guard/run`, which counts what happens in `counted`.
//!
//! `xcsh-session-guard --list` names the runs, `--prepare DATA` writes the files they read, `RUN DATA SCRATCH` does one
//! run in an empty directory and prints how many allocations it counted.

mod allocations;
mod clock;
mod runs;

use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--list"] => runs::ALL.iter().for_each(|run| println!("{}", run.0)),
        ["--prepare", data] => runs::prepare(Path::new(data)),
        [name, data, scratch] => match runs::ALL.iter().find(|run| run.0 == name) {
            Some((_, run)) => {
                // At the first `statx` that fails the standard library tries whether there is one at all.
                mark("xcsh-guard-starts");
                run(Path::new(data), Path::new(scratch));
                println!("allocations {}", ALLOCATIONS.get());
            }
            None => return usage(),
        },
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: xcsh-session-guard --list | --prepare DATA | RUN DATA SCRATCH");
    ExitCode::from(2)
}

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn counted<R>(work: impl FnOnce() -> R) -> R {
    let (mut work, mut result) = (Some(work), None);
    mark("xcsh-guard-begins");
    let before = allocations::so_far();
    xcsh_guard_counted(&mut || result = work.take().map(|work| work()));
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations::so_far() - before);
    mark("xcsh-guard-ends");
    result.expect("it was called")
}

/// Seen in a trace of the system calls.
fn mark(name: &str) {
    assert!(!Path::new(name).exists());
}

/// One function of one name, so that valgrind can be told what to count.
#[allow(unsafe_code, reason = "a fixed name; no other symbol has it")]
#[unsafe(no_mangle)]
#[inline(never)]
fn xcsh_guard_counted(work: &mut dyn FnMut()) {
    work();
}
