//! Writing the whole file, against copying it and fsync.

use crate::case::{Case, Goal, timed};
use crate::data::{Data, options};
use std::fs::File;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use xcsh_session::{SessionManager, TitleSource};

const COPY: &str = "copy and fsync";

fn copied(from: &Path, to: &Path) -> Duration {
    timed(|| {
        let mut out = File::create(to).expect("DATA can be written to");
        std::io::copy(&mut File::open(from).expect("it is there"), &mut out).expect("there is room for a copy");
        out.sync_all().expect("the disk takes it");
    })
}

pub(crate) fn rename(data: &Data, size: &str) -> Case {
    let scratch = Rc::clone(&data.scratch);
    let (original, path, copy) =
        (data.session(size), scratch.path().join("session.jsonl"), scratch.path().join("copy"));
    copied(&original, &path);
    let session = SessionManager::open(&path, options(scratch.path())).expect("a generated session opens");
    let mut number = 0;
    let ours = move || {
        let _kept = &scratch;
        number += 1;
        let title = format!("title {number}");
        timed(|| session.set_session_name(&title, TitleSource::User).expect("the disk takes it"))
    };
    Case::new(format!("rename, {size} entries"), Box::new(ours))
        .plain(COPY, Box::new(move || copied(&original, &copy)))
        .goal(Goal::TimesPlain(2.0))
}

pub(crate) fn migrate(data: &Data, size: &str) -> Case {
    let scratch = Rc::clone(&data.scratch);
    let original = data.session(&format!("v1-{size}"));
    let (path, copy) = (scratch.path().join("session.jsonl"), scratch.path().join("copy"));
    let from = original.clone();
    let ours = move || {
        copied(&from, &path);
        timed(|| SessionManager::open(&path, options(scratch.path())).expect("a generated session opens"))
    };
    Case::new(format!("open of version 1, {size} entries, migrated and rewritten"), Box::new(ours))
        .plain(COPY, Box::new(move || copied(&original, &copy)))
        .goal(Goal::TimesPlain(2.0))
}
