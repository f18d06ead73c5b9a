//! Lists of sessions, against reading the files.

use crate::case::{Case, Goal, timed};
use crate::data::{Data, options};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use xcsh_session::discovery::{self, ListOptions};
use xcsh_session::storage::FileSessionStorage;

const CWD: &str = "/srv/pi";

fn files(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).expect("it was generated").flatten().map(|entry| entry.path()).collect()
}

/// `texts`: with the text of all messages, over 2,000 files.
pub(crate) fn list(data: &Data, count: &str) -> Case {
    let (with_texts, count) = if count == "texts" { (true, "2000") } else { (false, count) };
    let (dir, dirs) = (data.sessions(count), options(data.scratch.path()).dirs);
    let from = dir.clone();
    let wanted = ListOptions { with_texts };
    let ours = move || {
        let list = || discovery::list(&FileSessionStorage::new(), &dirs, Path::new(CWD), Some(&from), &wanted);
        timed(|| list().expect("the directory can be read"))
    };
    let texts = if with_texts { " with all texts" } else { "" };
    let case = Case::new(format!("list, {count} files{texts}"), Box::new(ours))
        .plain("all files read, one thread", Box::new(move || timed(|| read_all(&files(&dir), usize::MAX))))
        .peak_at_most(64 << 20);
    match (count, with_texts) {
        ("2000", true) => case.goal(Goal::Millis(70.0)),
        ("2000", false) => case.goal(Goal::Millis(70.0)).goal(Goal::TimesPlain(1.5)),
        _ => case,
    }
}

pub(crate) fn recent(data: &Data, count: &str) -> Case {
    let dir = data.sessions(count);
    let from = dir.clone();
    let ours = move || {
        let recent = || discovery::get_recent_sessions(&FileSessionStorage::new(), &from, 10);
        timed(|| recent().expect("the directory can be read"))
    };
    Case::new(format!("recent sessions, {count} files"), Box::new(ours))
        .plain("4 KB of every file", Box::new(move || timed(|| read_all(&files(&dir), 4096))))
        .rounds(15)
        .goal(Goal::Millis(if count == "2000" { 10.0 } else { 60.0 }))
}

/// As `cat` reads: one file after the other through one buffer, at most `each` bytes of each.
fn read_all(files: &[PathBuf], each: usize) -> usize {
    let mut buffer = vec![0; each.min(128 << 10)];
    let mut bytes = 0;
    for path in files {
        let mut file = File::open(path).expect("it was generated");
        let mut left = each;
        while left > 0 {
            match file.read(&mut buffer).expect("it can be read") {
                0 => break,
                count => (bytes, left) = (bytes + count, left.saturating_sub(count)),
            }
        }
    }
    bytes
}
