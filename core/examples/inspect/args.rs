//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
Shows a session file: header, entries, tree, context, usage, and what is wrong with it. Changes nothing.

usage: inspect [FILE] [--json]

  FILE     a session file (.jsonl); without it, the sample session that the project ships
  --json   print one JSON object
  --help   print this
  --       what follows is a FILE, also where it begins with -
";

pub(crate) struct Args {
    pub(crate) input: Input,
    pub(crate) json: bool,
}

pub(crate) enum Input {
    Sample,
    File(PathBuf),
}

impl Args {
    /// `None` where help is asked for.
    pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Option<Args>, String> {
        let mut parsed = Args { input: Input::Sample, json: false };
        let mut only_files = false;
        for arg in args {
            match arg.to_str().filter(|arg| !only_files && arg.len() > 1 && arg.starts_with('-')) {
                Some("--json") => parsed.json = true,
                Some("--help" | "-h") => return Ok(None),
                Some("--") => only_files = true,
                Some(unknown) => return Err(format!("unknown option {unknown}")),
                None => match parsed.input {
                    Input::Sample => parsed.input = Input::File(arg.into()),
                    Input::File(_) => return Err(format!("one FILE at a time: {} is too many", arg.display())),
                },
            }
        }
        Ok(Some(parsed))
    }
}
