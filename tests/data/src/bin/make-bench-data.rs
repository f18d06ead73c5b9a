//! Fills a directory with what `tests/bench` measures with. What is there already stays: every file and directory gets
//! its name only when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use xcsh_session_testdata::{SessionSpec, Summary, directory, images, session, v1_session};

const USAGE: &str = "usage: make-bench-data DIR [--quick]";
const SEED: u64 = 1;
const IMAGES: usize = 200;
const IMAGE_BYTES: usize = 200_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (dir, large) = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [dir] if !dir.starts_with('-') => (dir, true),
        [dir, "--quick"] if !dir.starts_with('-') => (dir, false),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    match fill(Path::new(dir), large) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make-bench-data: {dir}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn fill(dir: &Path, large: bool) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, entries) in [("1k", 1_000), ("10k", 10_000), ("100k", 100_000)] {
        file(dir, name, |out| session(&spec(entries), out))?;
    }
    file(dir, "v1-10k", |out| v1_session(&spec(10_000), out))?;
    file(dir, "images", |out| images(IMAGES, IMAGE_BYTES, SEED, out))?;
    sessions(dir, "files", 2_000)?;
    if large {
        file(dir, "400k", |out| session(&SessionSpec { mean_entry_bytes: 5_120, ..spec(400_000) }, out))?;
        file(dir, "1m", |out| session(&spec(1_000_000), out))?;
        sessions(dir, "many", 10_000)?;
    }
    Ok(())
}

fn spec(entries: usize) -> SessionSpec {
    SessionSpec { entries, seed: SEED, ..SessionSpec::default() }
}

fn file(dir: &Path, name: &str, make: impl FnOnce(&mut dyn Write) -> io::Result<Summary>) -> io::Result<()> {
    let path = dir.join(format!("{name}.jsonl"));
    if path.exists() {
        return Ok(());
    }
    let part = path.with_extension("part");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&part)?);
    let bytes = make(&mut out)?.bytes;
    // What still has to go to the disk would disturb the measurements.
    out.into_inner()?.sync_all()?;
    fs::rename(part, &path)?;
    println!("{name}.jsonl: {:.0} MB", bytes as f64 / 1e6);
    Ok(())
}

fn sessions(dir: &Path, name: &str, count: usize) -> io::Result<()> {
    let (path, part) = (dir.join(name), dir.join(format!("{name}.part")));
    if path.exists() {
        return Ok(());
    }
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    let made = directory(&part, count, &SessionSpec::default().cwd, SEED)?;
    fs::rename(part, path)?;
    println!("{name}/: {count} files, {:.0} MB", made.bytes as f64 / 1e6);
    Ok(())
}
