//! Writes one generated session to a file and says what is in it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use xcsh_session_testdata::{SessionSpec, session, v1_session};

const USAGE: &str = "usage: make-session --entries N --out FILE [--v1] [--seed S]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("make-session: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (mut entries, mut out, mut seed, mut v1) = (None, None, 1, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || -> Result<u64, String> {
            let value = args.next().and_then(|value| value.parse().ok());
            value.ok_or_else(|| format!("{arg} needs a number\n{USAGE}"))
        };
        match arg.as_str() {
            "--entries" => entries = Some(number()? as usize),
            "--seed" => seed = number()?,
            "--out" => out = args.next(),
            "--v1" => v1 = true,
            _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
        }
    }
    let (Some(entries), Some(path)) = (entries, out) else {
        return Err(USAGE.to_owned());
    };

    let spec = SessionSpec { entries, seed, ..SessionSpec::default() };
    let write = if v1 { v1_session } else { session };
    let summary = File::create(&path)
        .and_then(|file| {
            let mut file = BufWriter::with_capacity(1 << 20, file);
            let summary = write(&spec, &mut file)?;
            file.flush().map(|()| summary)
        })
        .map_err(|error| format!("{path}: {error}"))?;
    println!("{path}: {summary:?}");
    Ok(())
}
