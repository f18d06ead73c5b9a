//! The power goes at every sync of a session manager that works (SPEC section 14), before and after it, and at every
//! return of a flush: what a flush has promised is there, and whatever else is there is whole up to torn ends.

mod support;

#[path = "support/book.rs"]
mod book;
#[path = "support/script.rs"]
mod script;

use book::{Book, Records, check_blobs};
use script::{Player, Promise, Step, TORN, long_steps, set_up, steps};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use support::{PowerLossDisk, Survives};
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::{Disk, DiskSessionStorage, Kind, MemoryDisk, SessionStorage};
use xcsh_session::{ManagerOptions, SessionManager};

/// What is on a disk after the power came back.
struct After {
    disk: MemoryDisk,
    storage: Arc<dyn SessionStorage>,
    blobs: PathBuf,
}

impl After {
    fn new(disk: MemoryDisk, blobs: &Path) -> After {
        After { storage: Arc::new(DiskSessionStorage::on(disk.clone())), disk, blobs: blobs.to_owned() }
    }

    fn sessions(&self) -> Vec<PathBuf> {
        let mut dirs = vec![PathBuf::from("/")];
        let mut files = Vec::new();
        while let Some(dir) = dirs.pop() {
            for entry in self.disk.read_dir(&dir).unwrap() {
                let path = dir.join(entry.name);
                match entry.kind {
                    Kind::Dir => dirs.push(path),
                    _ if path.extension().is_some_and(|extension| extension == "jsonl") => files.push(path),
                    _ => {}
                }
            }
        }
        files
    }

    fn is_empty(&self, file: &Path) -> bool {
        self.disk.metadata(file).is_ok_and(|stat| stat.len == 0)
    }

    /// No file is damaged but for the end of its last line, and the blobs that it names are there.
    fn check_all(&self) {
        for file in self.sessions().into_iter().filter(|file| !self.is_empty(file)) {
            let records = Records::read(&*self.storage, &file);
            let torn = records.torn.iter().filter(|line| *line != TORN.as_bytes()).count();
            assert!(torn <= usize::from(!records.ends_with_newline), "{}: {torn} torn lines", file.display());
            check_blobs(&*self.storage, &self.blobs, &file);
        }
    }

    /// A session that was flushed is there, in one of its places, and nowhere only in part.
    fn check_promise(&self, promise: &Promise) -> PathBuf {
        let there = |place: &&PathBuf| self.storage.exists(place).unwrap() && !self.is_empty(place);
        let places: Vec<&PathBuf> = promise.places.iter().filter(there).collect();
        for place in &places {
            promise.book.check_records(&Records::read(&*self.storage, place));
        }
        places.last().unwrap_or_else(|| panic!("gone: {:?}", promise.places)).to_path_buf()
    }

    /// An agent goes on with the session.
    fn go_on(&self, file: &Path, book: &Book) {
        let mut options = ManagerOptions::at(AgentDirs::at("/agent"), Arc::clone(&self.storage));
        options.terminal = None;
        let manager = SessionManager::open(file, options).unwrap();
        let id = manager.append_message(r#"{"role":"user","content":"after"}"#).unwrap();
        manager.close().unwrap();
        let records = Records::read(&*self.storage, file);
        book.check_records(&records);
        assert_eq!(records.entries.last().map(|(id, ..)| id), Some(&id));
    }
}

fn play(steps: &[Step]) {
    let disk = PowerLossDisk::new();
    set_up(disk.clone());
    let mut player = Player::new(Arc::new(DiskSessionStorage::on(disk.clone())), disk.live().clone());
    let (promises, blobs) = (Arc::clone(&player.promises), player.blobs().to_owned());
    let step: Arc<Mutex<&'static str>> = Arc::default();
    let now = Arc::clone(&step);
    let crashes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&crashes);
    disk.on_sync(move |disk, number, done| {
        let telling = Telling(format!("{} sync {number} in {:?}", if done { "after" } else { "before" }, now.lock()));
        for survives in Survives::ALL {
            let after = After::new(disk.crash_as(survives), &blobs);
            after.check_all();
            for promise in &*promises.lock().unwrap() {
                let place = after.check_promise(promise);
                after.go_on(&place, &promise.book);
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
        drop(telling);
    });
    for next in steps {
        *step.lock().unwrap() = next.name;
        player.play(next).unwrap();
        if matches!(next.name, "flush" | "close" | "move") {
            let _telling = Telling(format!("when {:?} has returned", next.name));
            let after = After::new(disk.crash(), player.blobs());
            after.check_all();
            player.book.check_file(&*after.storage, &after.blobs, &|line| line == TORN.as_bytes());
            let same = |file: &PathBuf| {
                !after.is_empty(file)
                    && Records::read(&*after.storage, file).header["id"].as_str() == Some(&*player.book.session)
            };
            let places: Vec<PathBuf> = after.sessions().into_iter().filter(same).collect();
            assert_eq!(places, [player.book.file.clone()], "the session is in one place");
        }
    }
    println!("{} syncs, {} crashes", disk.syncs(), crashes.load(Ordering::Relaxed));
    assert!(crashes.load(Ordering::Relaxed) > 30);
}

/// Says where it was when something failed.
struct Telling(String);

impl Drop for Telling {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

#[test]
fn what_was_flushed_survives_a_power_loss_at_any_sync() {
    play(&steps());
}

#[test]
fn long_strings_survive_a_power_loss_at_any_sync() {
    play(&long_steps());
}
