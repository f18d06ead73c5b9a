//! Every call to the disk fails under a session manager that works (SPEC section 14): a script of operations runs
//! once for each call that it makes, with that call failing, and with everything from that call on failing.

mod support;

#[path = "support/book.rs"]
mod book;
#[path = "support/script.rs"]
mod script;

use script::{Player, Step, TORN, long_steps, set_up, steps};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{Fault, FaultyDisk};
use xcsh_session::storage::{Disk, DiskSessionStorage, Kind, MemoryDisk, is_temporary};
use xcsh_session::{ReadOptions, Session};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// One call fails.
    Once,
    /// One call and all after it fail.
    All,
    /// Those that change something fail, from one call on: a full disk.
    Writes,
}

/// What brings the file up to date once the disk is well again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cure {
    Append,
    Flush,
    Recover,
    /// The script goes on.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    call: u64,
    fault: Fault,
    mode: Mode,
    /// The disk is well again after this many operations that met a fault.
    patience: usize,
    cure: Cure,
}

struct Run {
    plan: Plan,
    disk: FaultyDisk<MemoryDisk>,
    raw: MemoryDisk,
    player: Player,
    step: &'static str,
}

/// Says which run it was that failed.
impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let failed = self.disk.failures();
            let calls = &failed[..failed.len().min(3)];
            eprintln!("{:?}\nstep: {}\nfailed: {calls:?}", self.plan, self.step);
        }
    }
}

impl Run {
    fn new(plan: Plan) -> Run {
        let raw = MemoryDisk::new();
        set_up(raw.clone());
        let disk = FaultyDisk::new(raw.clone());
        let player = Player::new(Arc::new(DiskSessionStorage::on(disk.clone())), raw.clone());
        disk.forget();
        match plan.mode {
            Mode::Once => disk.fail_once(plan.call, plan.fault),
            Mode::All => disk.fail_from(plan.call, plan.fault),
            Mode::Writes => disk.fail_writes_from(plan.call, plan.fault),
        }
        Run { plan, disk, raw, player, step: "" }
    }

    /// Plays the script; whether the fault was met.
    fn play(&mut self, steps: &[Step]) -> bool {
        let mut met = 0;
        let mut well = false;
        for step in steps {
            self.step = step.name;
            let failures = self.disk.failures().len();
            let result = self.player.play(step);
            if self.disk.failures().len() == failures {
                result.unwrap_or_else(|error| panic!("an error without a fault: {error}"));
                continue;
            }
            met += 1;
            self.player.book.check_memory(&self.player.manager);
            let visible = result.is_err() || self.player.manager.persist_error().is_some();
            if !visible {
                self.check_files();
            }
            if self.plan.mode == Mode::Once || met == self.plan.patience || self.player.stuck {
                well = true;
                self.cure((result.is_err() && (step.again || self.player.stuck)).then_some(step));
            }
        }
        if met > 0 && !well {
            self.cure(steps.last());
        }
        if met > 0 || self.plan.call == 0 {
            self.check_end();
        }
        met > 0
    }

    /// The disk is well again.
    fn cure(&mut self, again: Option<&Step>) {
        self.disk.heal();
        if let Some(step) = again {
            self.player.play(step).unwrap_or_else(|error| panic!("again: {error}"));
        }
        if self.player.manager.persist_error().is_some() {
            match self.plan.cure {
                Cure::Append => self.player.append_user("cure").expect("append"),
                Cure::Flush => self.player.manager.flush().expect("flush"),
                Cure::Recover => self.player.manager.recover().expect("recover"),
                Cure::Nothing => return,
            }
        }
        assert_eq!(self.player.manager.persist_error(), None);
        self.player.book.check_memory(&self.player.manager);
        self.check_files();
    }

    /// Every file holds its session; of a write that could not be taken back something may be left.
    fn check_files(&self) {
        let beside = &*self.player.beside;
        for book in self.player.books() {
            let may_be_torn = |line: &[u8]| {
                let ours = self.plan.mode != Mode::Once && self.plan.fault == Fault::ShortWrite;
                line == TORN.as_bytes() || ours && line.starts_with(b"{\"type\":\"")
            };
            book.check_file(beside, self.player.blobs(), &may_be_torn);
            book.check_artifacts(beside);
        }
    }

    fn check_end(&mut self) {
        self.step = "end";
        assert_eq!(self.player.manager.persist_error(), None);
        self.check_files();
        let blobs = Some(book::blob_store(&self.player.beside, self.player.blobs()));
        for book in self.player.books() {
            let options = ReadOptions { blobs: blobs.clone(), ..ReadOptions::default() };
            let session = Session::read_from(&*self.player.beside, &book.file, options).unwrap();
            book.check_reopened(&session, true);
        }
        let files = files(&self.raw, Path::new("/agent"));
        let temporary: Vec<_> = files.iter().filter(|file| is_temporary(file)).collect();
        assert!(temporary.is_empty(), "left over: {temporary:?}");
        let known = |file: &&PathBuf| self.player.books().any(|book| book.file == **file);
        let sessions = files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
        // Where nothing can be removed, an empty file may stay, and what a manager knew that was closed meanwhile;
        // and `fork_from` has no manager that could come back.
        let harmless = |file: &&PathBuf| {
            let empty = self.raw.metadata(file).unwrap().len == 0;
            let nobody_knows = self.plan.patience > 1 || file.to_string_lossy().contains("third");
            self.plan.mode != Mode::Once && (empty || nobody_knows)
        };
        let unknown: Vec<_> = sessions.filter(|file| !known(file) && !harmless(file)).collect();
        assert!(unknown.is_empty(), "left over: {unknown:?}");
        let aside = files.iter().filter(|file| file.to_string_lossy().contains(".invalid-"));
        let aside: Vec<_> = aside.collect();
        assert!(aside.is_empty() || self.plan.mode != Mode::Once, "left over: {aside:?}");
    }
}

fn files(disk: &MemoryDisk, dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in disk.read_dir(dir).unwrap() {
        let path = dir.join(entry.name);
        match entry.kind {
            Kind::Dir => files.extend(self::files(disk, &path)),
            _ => files.push(path),
        }
    }
    files
}

/// One run for each call and fault, until the script is over before the call comes.
fn each_call(steps: &[Step], faults: impl Fn(u64) -> Vec<Fault>, mode: impl Fn(u64) -> Mode) {
    const CURES: [Cure; 4] = [Cure::Append, Cure::Flush, Cure::Recover, Cure::Nothing];
    const PATIENCE: [usize; 3] = [1, 4, usize::MAX];
    for call in 1.. {
        let mut met = false;
        for (turn, fault) in faults(call).into_iter().enumerate() {
            let turn = call as usize + call as usize / 4 + turn;
            let (cure, patience) = (CURES[turn % CURES.len()], PATIENCE[turn % PATIENCE.len()]);
            let plan = Plan { call, fault, mode: mode(call), patience, cure };
            met |= Run::new(plan).play(steps);
        }
        if !met {
            println!("{} calls", call - 1);
            return;
        }
    }
}

fn all(_: u64) -> Vec<Fault> {
    Fault::ALL.to_vec()
}

/// Each kind of fault in turn.
fn in_turn(call: u64) -> Vec<Fault> {
    vec![Fault::ALL[call as usize % Fault::ALL.len()]]
}

#[test]
fn the_script_plays_without_faults() {
    for steps in [steps(), long_steps()] {
        let plan = Plan { call: 0, fault: Fault::Io, mode: Mode::Once, patience: 1, cure: Cure::Nothing };
        let mut run = Run::new(plan);
        assert!(!run.play(&steps));
        println!("{} steps, {} calls", steps.len(), run.disk.count());
    }
}

#[test]
fn any_call_may_fail_once() {
    each_call(&steps(), all, |_| Mode::Once);
}

#[test]
fn everything_may_fail_from_any_call_on() {
    each_call(&steps(), all, |_| Mode::All);
}

#[test]
fn the_disk_may_be_full_from_any_call_on() {
    each_call(&steps(), all, |_| Mode::Writes);
}

#[test]
fn any_call_for_long_strings_may_fail() {
    each_call(&long_steps(), in_turn, |call| if call % 2 == 0 { Mode::Once } else { Mode::All });
    each_call(&long_steps(), in_turn, |call| if call % 2 == 1 { Mode::Once } else { Mode::Writes });
}
