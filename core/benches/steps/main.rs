//! What the library costs against the plain way of doing the same, one step at a time, each in a process of its own.
//! `tests/bench` runs them all and makes the table; by hand:
//!
//! ```sh
//! cargo bench -p xcsh-session --bench steps -- --list
//! cargo bench -p xcsh-session --bench steps -- open-10k DATA [--peak ours|plain]
//! ```
//!
//! DATA is what `make-bench-data` of tests/data fills. A step prints one line of JSON; with `--repeat TIMES` it does
//! nothing but ours, so many times, for a profiler to look at.

mod append;
mod case;
mod data;
mod discovery;
#[cfg(feature = "history")]
mod history;
mod images;
mod memory;
mod reading;
mod rewrite;

use case::{Case, Side};
use data::Data;
use std::process::ExitCode;

/// Makes the case for one of the sizes.
type Make = fn(&Data, &str) -> Case;

/// Step `family-size` for each of the sizes.
const FAMILIES: &[(&str, &[&str], Make)] = &[
    ("open", &["1k", "10k", "100k", "400k", "1m"], reading::open),
    ("floor", &["10k", "100k"], reading::floor),
    ("context", &["1k", "10k", "100k", "1m"], reading::context),
    ("children", &["1k", "10k", "100k", "1m"], reading::children),
    ("tree", &["1k", "10k", "100k", "1m"], reading::tree),
    ("branch", &["1k", "10k", "100k", "1m"], reading::branch),
    ("entry", &["1k", "10k", "100k", "1m"], reading::entry),
    ("iterate", &["10k"], reading::iterate),
    ("append", &["2k", "look"], append::fresh),
    ("appendto", &["1k", "10k", "100k", "1m"], append::to_existing),
    ("rename", &["10k"], rewrite::rename),
    ("migrate", &["10k"], rewrite::migrate),
    ("list", &["2000", "texts", "10000"], discovery::list),
    ("recent", &["2000", "10000"], discovery::recent),
    ("images", &["append", "again", "read"], images::images),
    #[cfg(feature = "history")]
    ("history", &["add", "search"], history::history),
];

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => {
            for (family, sizes, _) in FAMILIES {
                sizes.iter().for_each(|size| println!("{family}-{size}"));
            }
        }
        [step, dir] => return with(step, dir, |case| println!("{}", case.measure())),
        [step, dir, "--peak", side @ ("ours" | "plain")] => {
            let side = if side == "ours" { Side::Ours } else { Side::Plain };
            return with(step, dir, |case| println!("{}", case.peak(side)));
        }
        [step, dir, "--repeat", times] => {
            let Ok(times) = times.parse() else { return usage() };
            return with(step, dir, |case| case.repeat(times));
        }
        // `cargo test --benches` and `cargo bench` come without arguments.
        [] | ["--test"] => println!("--list names the steps; STEP DATA runs one; tests/bench runs all"),
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: --list | STEP DATA [--peak ours|plain | --repeat TIMES]");
    ExitCode::FAILURE
}

fn with(step: &str, dir: &str, run: impl FnOnce(Case)) -> ExitCode {
    let found = FAMILIES.iter().find_map(|(family, sizes, make)| {
        let size = step.strip_prefix(family)?.strip_prefix('-')?;
        sizes.contains(&size).then_some((size, make))
    });
    let Some((size, make)) = found else {
        eprintln!("no step {step:?}: --list names them");
        return ExitCode::FAILURE;
    };
    let data = Data::new(dir);
    match data.missing(step) {
        Some(name) => println!("{}", serde_json::json!({"skipped": format!("{name} was not generated")})),
        None => run(make(&data, size)),
    }
    ExitCode::SUCCESS
}
