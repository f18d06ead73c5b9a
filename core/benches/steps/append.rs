//! Appends, each in the kernel when it returns, against a bare loop of `write` calls of the same lines.

use crate::case::{Case, Goal, Run, timed};
use crate::data::{Data, options};
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::rc::Rc;
use std::time::Duration;
use xcsh_session::SessionManager;

const APPENDS: usize = 10_000;

fn message(number: usize) -> String {
    let text = format!("message {number} {}", "lorem ipsum dolor sit amet, consectetur\\n".repeat(49));
    format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"timestamp":1760000000000}}"#)
}

fn append(session: &SessionManager, messages: &[String]) -> Duration {
    timed(|| messages.iter().for_each(|message| drop(session.append_message(message).expect("the disk takes it"))))
}

pub(crate) fn fresh(data: &Data, what: &str) -> Case {
    let messages: Rc<[String]> = (0..APPENDS).map(message).collect();
    let plain = writing(data, &messages, |_| {});
    let case = if what == "look" {
        let look = |file: &File| {
            let wanted = StatxFlags::SIZE | StatxFlags::NLINK;
            statx(file, c"", AtFlags::EMPTY_PATH, wanted).expect("an open file can be looked at");
        };
        Case::new("the floor: a look at length and names before each write", writing(data, &messages, look))
    } else {
        let scratch = Rc::clone(&data.scratch);
        let ours = move || {
            let dir = tempfile::tempdir_in(scratch.path()).expect("DATA can be written to");
            let session = SessionManager::create("/srv/pi", options(dir.path())).expect("a new session");
            session.ensure_on_disk().expect("the disk takes it");
            append(&session, &messages)
        };
        Case::new(format!("{APPENDS} appends of 2 KB"), Box::new(ours)).goal(Goal::ShareOfRate(0.8))
    };
    case.plain("write of the same lines", plain).rounds(11).goal(Goal::Rate { count: APPENDS })
}

/// A loop of writes of the messages' lines, and of what has to be done before each.
fn writing(data: &Data, messages: &[String], before: fn(&File)) -> Run {
    let scratch = Rc::clone(&data.scratch);
    let lines: Vec<String> = messages.iter().map(|message| format!("{}{message}}}\n", "-".repeat(110))).collect();
    Box::new(move || {
        let dir = tempfile::tempdir_in(scratch.path()).expect("DATA can be written to");
        let mut file = OpenOptions::new().append(true).create(true).open(dir.path().join("plain")).expect("a new file");
        timed(|| {
            for line in &lines {
                before(&file);
                file.write_all(line.as_bytes()).expect("the disk takes it");
            }
        })
    })
}

/// What an append costs does not depend on how long the session is.
pub(crate) fn to_existing(data: &Data, size: &str) -> Case {
    let path = data.scratch.path().join("session.jsonl");
    std::fs::copy(data.session(size), &path).expect("there is room for a copy");
    // What the copy still has to write would disturb the appends.
    File::open(&path).and_then(|file| file.sync_all()).expect("the disk takes it");
    let session = SessionManager::open(&path, options(data.scratch.path())).expect("a generated session opens");
    let messages: Vec<String> = (0..APPENDS).map(message).collect();
    let scratch = Rc::clone(&data.scratch);
    let ours = move || {
        let _kept = &scratch;
        append(&session, &messages)
    };
    Case::new(format!("{APPENDS} appends of 2 KB to {size} entries"), Box::new(ours))
        .rounds(5)
        .goal(Goal::Rate { count: APPENDS })
}
