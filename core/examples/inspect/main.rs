//! Shows a session file to people: header, entries, tree, context, usage, and what is wrong with it.

mod args;
mod context;
mod findings;
mod json;
mod outline;
mod people;
mod report;
mod shape;
mod text;
mod tree;
mod words;

use args::{Args, Input};
use report::Report;
use std::io::{self, Write};
use std::process::ExitCode;
use xcsh_session::{ReadOptions, Result, Session};

const SAMPLE: &[u8] = include_bytes!("sample.jsonl");
const SAMPLE_PATH: &str = "core/examples/inspect/sample.jsonl";

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args_os().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => return print(args::HELP),
        Err(problem) => return fail(&format!("{problem} (--help says what there is)"), 2),
    };
    match inspect(&args) {
        Ok(output) => print(&output),
        Err(error) => fail(&error.to_string(), 1),
    }
}

fn inspect(args: &Args) -> Result<String> {
    let session = match &args.input {
        Input::Sample => Session::parse(SAMPLE, SAMPLE_PATH, ReadOptions::default())?,
        Input::File(path) => Session::read(path)?,
    };
    let report = Report::of(&session)?;
    if args.json { json::of(&session, &report) } else { people::show(&session, &report, &args.input) }
}

/// A reader that stops reading has what it wanted.
fn print(output: &str) -> ExitCode {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(output.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&format!("cannot write: {error}"), 1),
        _ => ExitCode::SUCCESS,
    }
}

fn fail(problem: &str, status: u8) -> ExitCode {
    // Where stderr is closed too, the status is all that can be said.
    let _ = writeln!(io::stderr(), "inspect: {}", text::line(problem, usize::MAX));
    ExitCode::from(status)
}
