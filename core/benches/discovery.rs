//! Lists and recent sessions over 2,000 files of 78 KB, compared with reading these files in the same run (SPEC
//! section 15). `cargo bench --bench discovery [-- <files>]`; prints medians and ratios.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use xcsh_session::dirs::{AgentDirs, Environment, Layout};
use xcsh_session::discovery::{ListOptions, find_most_recent_session, get_recent_sessions, list, list_all};
use xcsh_session::storage::FileSessionStorage;

const CWD: &str = "/srv/pi";
const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(2000);
    let root = tempfile::tempdir()?;
    let dirs = AgentDirs::at_in(root.path(), &Environment::default());
    let dir = dirs.session_dir(Path::new(CWD), Layout::Document);
    let made = xcsh_session_testdata::directory(&dir, count, CWD, 1)?;
    println!("{count} files, {:.1} MB", made.bytes as f64 / 1e6);
    let storage = FileSessionStorage::new();

    let before = peak_memory();
    let listing = list(&storage, &dirs, Path::new(CWD), None, &ListOptions::default())?;
    assert_eq!((listing.sessions.len(), listing.unreadable.len()), (count, 0));
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        println!("peak memory: {before} KB before the first list, {after} KB after it");
    }
    drop(listing);
    let large = dirs.session_dir(Path::new("/srv/large"), Layout::Document);
    std::fs::create_dir_all(&large)?;
    let spec = xcsh_session_testdata::SessionSpec { entries: 20_000, ..Default::default() };
    let mut file = BufWriter::new(File::create(large.join(spec.file_name()))?);
    let bytes = xcsh_session_testdata::session(&spec, &mut file)?.bytes;
    drop(file);
    let before = peak_memory();
    let messages = list(&storage, &dirs, Path::new("/srv/large"), Some(&large), &ListOptions::default())?.sessions[0]
        .message_count;
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        println!(
            "one file of {:.0} MB, {messages} messages: {before} KB before, {after} KB after it",
            bytes as f64 / 1e6
        );
    }
    std::fs::remove_dir_all(&large)?;

    // Taken in turns, so that a slow moment of the machine meets all of them.
    let mut times = [const { Vec::new() }; 7];
    let mut ticks = [0; 7];
    for _ in 0..ROUNDS {
        let mut number = 0;
        let mut timed = |work: &mut dyn FnMut() -> Result<usize, Box<dyn Error>>| -> Result<(), Box<dyn Error>> {
            let (start, before) = (Instant::now(), cpu_ticks());
            let seen = work()?;
            times[number].push(start.elapsed());
            ticks[number] += cpu_ticks() - before;
            assert!(seen > 0);
            number += 1;
            Ok(())
        };
        timed(&mut || read_all(&made.files))?;
        timed(&mut || read_on_two_threads(&made.files))?;
        timed(&mut || Ok(list(&storage, &dirs, Path::new(CWD), None, &ListOptions::default())?.sessions.len()))?;
        timed(&mut || Ok(list_all(&storage, &dirs, &ListOptions { with_texts: true })?.sessions.len()))?;
        timed(&mut || Ok(get_recent_sessions(&storage, &dir, 10)?.sessions.len()))?;
        timed(&mut || Ok(get_recent_sessions(&storage, &dir, count)?.sessions.len()))?;
        timed(&mut || Ok(find_most_recent_session(&storage, &dir)?.map_or(0, |_| 1)))?;
    }
    let reading = median(&mut times[0]);
    let names = [
        "read all files, one thread",
        "read all files, two threads",
        "list",
        "list_all with texts",
        "recent, 10",
        "recent, all",
        "most recent",
    ];
    println!("{:28} {:>10} {:>10} {:>12}", "", "median", "x reading", "CPU x reading");
    for (number, (name, times)) in names.into_iter().zip(&mut times).enumerate() {
        let time = median(times).as_secs_f64();
        let ratio = time / reading.as_secs_f64();
        let cpu = ticks[number] as f64 / ticks[0].max(1) as f64;
        println!("{name:28} {:7.1} ms {ratio:10.2} {cpu:12.2}", time * 1e3);
    }
    Ok(())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// As `cat` reads: one file after the other through one buffer.
fn read_all(files: &[PathBuf]) -> Result<usize, Box<dyn Error>> {
    let mut buffer = vec![0; 128 << 10];
    let mut bytes = 0;
    for path in files {
        let mut file = File::open(path)?;
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                count => bytes += count,
            }
        }
    }
    Ok(bytes)
}

fn read_on_two_threads(files: &[PathBuf]) -> Result<usize, Box<dyn Error>> {
    let (a, b) = files.split_at(files.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| read_all(b).unwrap_or(0));
        Ok(read_all(a)? + other.join().unwrap_or(0))
    })
}

/// Processor time of this process so far, in units of 10 ms; tells more than the clock on a busy machine.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// The largest resident size so far, in KB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().trim_end_matches(" kB").parse().ok()
}
