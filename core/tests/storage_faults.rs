//! Every step of every storage operation fails once, and then for good; and the power fails at every sync
//! (SPEC sections 8 and 14).

mod support;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::{Fault, FaultyDisk, PowerLossDisk, Survives};
use xcsh_session::storage::{
    Access, Disk, DiskFile, DiskSessionStorage, MemoryDisk, MemorySessionStorage, SessionStorage, is_temporary,
};

const AT_ONCE: Duration = Duration::ZERO;
const PATH: &str = "/dir/s.jsonl";
const OLD: &[u8] = b"{\"old\":1}\n{\"old\":2}\n";
const NEW: &[u8] = b"{\"new\":1}\n{\"new\":2}\n{\"new\":3}\n";
const LINE: &[u8] = b"{\"line\":\"0123456789\"}\n";

type Faulty = FaultyDisk<MemoryDisk>;

fn path() -> &'static Path {
    Path::new(PATH)
}

/// A disk with the directory and, if wanted, the file.
fn faulty(content: Option<&[u8]>) -> Faulty {
    let memory = MemoryDisk::new();
    memory.create_dir(Path::new("/dir")).unwrap();
    if let Some(content) = content {
        memory.create_new(path()).unwrap().append(content).unwrap();
    }
    FaultyDisk::new(memory)
}

/// The content at the path, whatever the faults.
fn content(disk: &Faulty) -> Option<Vec<u8>> {
    match MemorySessionStorage::on(disk.inner().clone()).read_text(path()) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        content => Some(content.unwrap()),
    }
}

fn files(disk: &MemoryDisk) -> Vec<PathBuf> {
    let files = MemorySessionStorage::on(disk.clone()).list_files(Path::new("/dir")).unwrap();
    files.into_iter().map(|file| file.path).collect()
}

/// Runs `operation` on a fresh disk for every step that it has and every fault, with this step failing once and with
/// all from it on failing. `check` gets the healed disk, the storage and what came out. Returns how many steps an
/// undisturbed run has.
fn each_failure<T>(
    before: Option<&[u8]>,
    operation: impl Fn(&DiskSessionStorage<Faulty>) -> io::Result<T>,
    check: impl Fn(&Faulty, &DiskSessionStorage<Faulty>, io::Result<T>, bool),
) -> u64 {
    let run = |plan: &dyn Fn(&Faulty), for_good: bool| {
        let disk = faulty(before);
        let storage = DiskSessionStorage::on(disk.clone());
        plan(&disk);
        let result = operation(&storage);
        disk.heal();
        let calls = disk.calls();
        let failed = result.is_err();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(&disk, &storage, result, for_good);
        }));
        assert!(outcome.is_ok(), "after {calls:#?}, failed: {failed}, for good: {for_good}");
        calls.len() as u64
    };
    let steps = run(&|_| {}, false);
    for fault in Fault::ALL {
        for step in 1..=steps {
            run(&|disk| disk.fail_once(step, fault), false);
            run(&|disk| disk.fail_from(step, fault), true);
        }
    }
    steps
}

#[test]
fn a_failed_append_leaves_nothing() {
    let append = |storage: &DiskSessionStorage<Faulty>| {
        let mut writer = storage.open_writer(path())?;
        writer.begin(AT_ONCE)?.ok_or(ErrorKind::NotFound)?;
        writer.write_line(LINE)
    };
    let steps = each_failure(Some(OLD), append, |disk, storage, result, for_good| {
        let after = content(disk).unwrap();
        let whole = [OLD, LINE].concat();
        match result {
            Ok(offset) => assert_eq!((offset, after), (OLD.len() as u64, whole)),
            // With nothing working any more the torn part stays; never more than that.
            Err(_) if for_good => assert!(after == OLD || after == [OLD, &LINE[..LINE.len() / 2]].concat()),
            Err(_) => assert_eq!(after, OLD),
        }
        let mut writer = storage.open_writer(path()).unwrap();
        assert_eq!(writer.begin(AT_ONCE).unwrap().unwrap().len, content(disk).unwrap().len() as u64);
    });
    assert_eq!(steps, 5, "open, lock, look, append, where it went");
}

#[test]
fn a_torn_line_that_stays_is_seen() {
    let disk = faulty(Some(OLD));
    let storage = DiskSessionStorage::on(disk.clone());
    let mut writer = storage.open_writer(path()).unwrap();
    writer.begin(AT_ONCE).unwrap();
    disk.fail_from(disk.count() + 1, Fault::ShortWrite);
    assert_eq!(writer.write_line(LINE).unwrap_err().kind(), ErrorKind::StorageFull);
    disk.heal();
    let torn = (OLD.len() + LINE.len() / 2) as u64;
    // Within the same lock, and in the next.
    assert_eq!(writer.write_line(b"\n").unwrap(), torn);
    writer.end();
    assert_eq!(writer.begin(AT_ONCE).unwrap().unwrap().len, torn + 1);
}

#[test]
fn cutting_back_spares_foreign_bytes() {
    let disk = faulty(Some(OLD));
    let storage = DiskSessionStorage::on(disk.clone());
    let mut writer = storage.open_writer(path()).unwrap();
    writer.begin(AT_ONCE).unwrap();
    // Somebody who takes no lock.
    disk.inner().open(path(), Access::Append).unwrap().append(b"foreign\n").unwrap();
    disk.fail_once(disk.count() + 1, Fault::ShortWrite);
    writer.write_line(LINE).unwrap_err();
    assert_eq!(content(&disk).unwrap(), [OLD, b"foreign\n", &LINE[..LINE.len() / 2]].concat());
}

#[test]
fn what_is_cut_back_is_compared_whole() {
    let disk = faulty(Some(OLD));
    let storage = DiskSessionStorage::on(disk.clone());
    let long: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
    let mut writer = storage.open_writer(path()).unwrap();
    writer.begin(AT_ONCE).unwrap();
    disk.fail_once(disk.count() + 1, Fault::ShortWrite);
    writer.write_line(&long).unwrap_err();
    assert_eq!(content(&disk).unwrap(), OLD);
    assert_eq!(writer.write_line(&long).unwrap(), OLD.len() as u64);
}

#[test]
fn a_failed_creation_leaves_nothing() {
    let create = |storage: &DiskSessionStorage<Faulty>| {
        let mut writer = storage.open_writer(path())?;
        assert!(writer.begin(AT_ONCE)?.is_none());
        writer.create(NEW)
    };
    let steps = each_failure(None, create, |disk, storage, result, for_good| {
        let after = content(disk);
        match result {
            Ok(stat) => assert_eq!((stat.len, after.as_deref()), (NEW.len() as u64, Some(NEW))),
            // What cannot be removed again is empty or a part of the content.
            Err(_) if for_good => assert!(NEW.starts_with(&after.unwrap_or_default())),
            // An empty file may be another writer's already, where the lock could not be had.
            Err(_) => assert!(after.is_none_or(|after| after.is_empty())),
        }
        let mut writer = storage.open_writer(path()).unwrap();
        assert_eq!(writer.begin(AT_ONCE).unwrap().map(|stat| stat.len), content(disk).map(|now| now.len() as u64));
    });
    assert!(steps >= 5);
}

#[test]
fn a_creation_that_cannot_be_removed_is_emptied() {
    let disk = faulty(None);
    let storage = DiskSessionStorage::on(disk.clone());
    let mut writer = storage.open_writer(path()).unwrap();
    writer.begin(AT_ONCE).unwrap();
    disk.fail_op("append", Fault::ShortWrite);
    disk.fail_op("remove_file", Fault::Io);
    assert_eq!(writer.create(NEW).unwrap_err().kind(), ErrorKind::StorageFull);
    disk.heal();
    assert_eq!(content(&disk).unwrap(), b"");
    assert_eq!(writer.begin(AT_ONCE).unwrap().unwrap().len, 0);
}

/// Between the creation of a file and its lock another writer may find it, write to it, or remove it.
#[test]
fn a_creation_yields_to_whoever_locked_first() {
    let interferences: [fn(&Faulty); 3] = [
        |disk| {
            let storage = MemorySessionStorage::on(disk.inner().clone());
            let mut other = storage.open_writer(path()).unwrap();
            assert_eq!(other.begin(AT_ONCE).unwrap().unwrap().len, 0);
            other.write_line(LINE).unwrap();
        },
        |disk| disk.inner().remove_file(path()).unwrap(),
        |disk| {
            let file = disk.inner().open(path(), Access::Append).unwrap();
            assert!(file.try_lock().unwrap());
            std::mem::forget(file);
        },
    ];
    for interfere in interferences {
        for replace in [false, true] {
            let disk = faulty(None);
            let storage = DiskSessionStorage::on(disk.clone());
            let mut writer = storage.open_writer(path()).unwrap();
            writer.begin(AT_ONCE).unwrap();
            let shared = disk.clone();
            disk.before("try_lock", move || interfere(&shared));
            let error = match replace {
                true => writer.replace(&mut |_| panic!("not its own")).unwrap_err(),
                false => writer.create(NEW).unwrap_err(),
            };
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
            assert!(content(&disk).is_none_or(|now| now == LINE || now.is_empty()));
        }
    }
}

#[test]
fn a_failed_replacement_leaves_the_old_content_and_no_debris() {
    for before in [Some(OLD), None] {
        let replace = |storage: &DiskSessionStorage<Faulty>| {
            let mut writer = storage.open_writer(path())?;
            assert_eq!(writer.begin(AT_ONCE)?.is_some(), before.is_some());
            let replaced = writer.replace(&mut |out| out.write_all(NEW))?;
            Ok((replaced, writer))
        };
        let steps = each_failure(before, replace, |disk, storage, result, for_good| {
            let after = content(disk);
            match result {
                Ok((replaced, mut writer)) => {
                    assert_eq!(after.as_deref(), Some(NEW));
                    assert_eq!(replaced.stat.len, NEW.len() as u64);
                    // The lock is on the new content.
                    let mut other = storage.open_writer(path()).unwrap();
                    assert_eq!(other.begin(AT_ONCE).unwrap_err().kind(), ErrorKind::TimedOut);
                    assert_eq!(writer.write_line(LINE).unwrap(), NEW.len() as u64);
                    writer.fsync().unwrap()().unwrap();
                }
                Err(_) if before.is_some() => assert_eq!(after.as_deref(), before),
                Err(_) if for_good => assert!(after.is_none_or(|after| NEW.starts_with(&after))),
                Err(_) => assert!(after.is_none_or(|after| after.is_empty())),
            }
            // What could not be removed at once goes with the next operation.
            let mut next = storage.open_writer(path()).unwrap();
            next.begin(AT_ONCE).unwrap();
            let left = files(disk.inner());
            assert!(!left.iter().any(|file| is_temporary(file)), "{left:?}");
        });
        assert!(steps >= 12, "{steps}");
    }
}

#[test]
fn a_failing_source_leaves_the_old_content() {
    let disk = faulty(Some(OLD));
    let storage = DiskSessionStorage::on(disk.clone());
    let mut writer = storage.open_writer(path()).unwrap();
    writer.begin(AT_ONCE).unwrap();
    disk.forget();
    let error = writer.replace(&mut |out| out.write_all(b"little").and(Err(ErrorKind::Other.into())));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Other);
    assert!(!disk.ops().contains(&"append"), "what is thrown away is not written");
    let error = writer.replace(&mut |out| {
        out.write_all(&vec![b'x'; 1_000_000])?;
        Err(io::Error::new(ErrorKind::InvalidData, "the source"))
    });
    assert_eq!(error.unwrap_err().to_string(), "the source");
    assert_eq!((content(&disk).unwrap(), files(disk.inner()).len()), (OLD.to_vec(), 1));
    // The lock is still held, and the content still good for appends.
    assert_eq!(writer.write_line(LINE).unwrap(), OLD.len() as u64);
}

#[test]
fn a_failed_text_is_the_old_or_the_new_one() {
    for before in [Some(OLD), None] {
        let write = |storage: &DiskSessionStorage<Faulty>| storage.write_text(path(), NEW, true);
        each_failure(before, write, |disk, storage, result, _| {
            let after = content(disk);
            match result {
                Ok(()) => assert_eq!(after.as_deref(), Some(NEW)),
                Err(_) => assert!(after.as_deref() == before || after.as_deref() == Some(NEW)),
            }
            storage.write_text(path(), NEW, true).unwrap();
            assert_eq!((content(disk).unwrap(), files(disk.inner()).len()), (NEW.to_vec(), 1));
        });
    }
}

#[test]
fn a_failed_rename_says_which_name_it_is() {
    let to = Path::new("/dir/to");
    let rename = |storage: &DiskSessionStorage<Faulty>| storage.rename(path(), to);
    let steps = each_failure(Some(OLD), rename, |disk, storage, result, _| {
        let renamed = result.is_ok();
        assert_eq!(content(disk).is_none(), renamed);
        assert_eq!(storage.exists(to).unwrap(), renamed);
    });
    assert_eq!(steps, 2);
}

#[test]
fn errors_while_reading_are_errors() {
    type Read = fn(&DiskSessionStorage<Faulty>) -> io::Result<usize>;
    let reads: [Read; 5] = [
        |storage| Ok(storage.read_text(path())?.len()),
        |storage| Ok(storage.read_text_prefix(path(), 5)?.len()),
        |storage| Ok(storage.list_files(Path::new("/dir"))?.len()),
        |storage| Ok(storage.list_dirs(Path::new("/"))?.len()),
        |storage| Ok(usize::from(storage.exists(path())?)),
    ];
    for read in reads {
        let expected = read(&DiskSessionStorage::on(faulty(Some(OLD)))).unwrap();
        each_failure(Some(OLD), read, |disk, storage, result, _| {
            if let Ok(count) = result {
                assert_eq!(count, expected);
            } else {
                assert!(!disk.failures().is_empty());
            }
            assert_eq!(read(storage).unwrap(), expected);
        });
    }
}

#[test]
fn removing_a_tree_can_be_repeated() {
    let remove = |storage: &DiskSessionStorage<Faulty>| storage.remove_dir_all(Path::new("/dir"));
    each_failure(Some(OLD), remove, |_, storage, _, _| {
        storage.remove_dir_all(Path::new("/dir")).unwrap();
        assert!(!storage.exists(Path::new("/dir")).unwrap());
    });
}

/// A session with content `OLD` that would survive everything.
fn durable_session() -> (PowerLossDisk, DiskSessionStorage<PowerLossDisk>) {
    let disk = PowerLossDisk::new();
    let storage = DiskSessionStorage::on(disk.clone());
    storage.ensure_dir(Path::new("/dir")).unwrap();
    storage.write_text(path(), OLD, true).unwrap();
    (disk, storage)
}

fn survivor(disk: &MemoryDisk) -> Option<Vec<u8>> {
    MemorySessionStorage::on(disk.clone()).read_text(path()).ok()
}

/// What each kind of crash would leave at the path, before and after each sync of `operation`, and after it.
fn crashes(
    disk: &PowerLossDisk,
    operation: impl FnOnce(),
    mut check: impl FnMut(Option<Vec<u8>>, bool, Survives) + Send + 'static,
) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let collected = Arc::clone(&seen);
    disk.on_sync(move |disk, _, _| {
        for survives in Survives::ALL {
            collected.lock().unwrap().push((survivor(&disk.crash_as(survives)), survives));
        }
    });
    operation();
    assert!(!seen.lock().unwrap().is_empty(), "nothing was synced");
    for (content, survives) in seen.lock().unwrap().drain(..) {
        check(content, false, survives);
    }
    for survives in Survives::ALL {
        check(survivor(&disk.crash_as(survives)), true, survives);
    }
}

#[test]
fn a_replacement_survives_a_power_loss_whole() {
    let (disk, storage) = durable_session();
    let mut writer = storage.open_writer(path()).unwrap();
    writer.begin(AT_ONCE).unwrap();
    let replace = || writer.replace(&mut |out| out.write_all(NEW)).unwrap().synced.unwrap();
    crashes(&disk, replace, |content, done, survives| match content.as_deref() {
        Some(NEW) => {}
        Some(OLD) if !done => {}
        other => panic!("{survives:?}, done: {done}: {other:?}"),
    });
}

#[test]
fn a_durable_text_survives_a_power_loss() {
    let (disk, storage) = durable_session();
    let write = || storage.write_text(path(), NEW, true).unwrap();
    crashes(&disk, write, |content, done, survives| match content.as_deref() {
        Some(NEW) => {}
        Some(OLD) if !done => {}
        other => panic!("{survives:?}, done: {done}: {other:?}"),
    });
}

#[test]
fn a_created_session_survives_from_its_first_sync_on() {
    let disk = PowerLossDisk::new();
    let storage = DiskSessionStorage::on(disk.clone());
    storage.ensure_dir(Path::new("/dir")).unwrap();
    let mut writer = storage.open_writer(path()).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.create(OLD).unwrap();
    assert_eq!(survivor(&disk.crash()), None, "the model keeps nothing unsynced");
    writer.write_line(LINE).unwrap();
    let job = writer.fsync().unwrap();
    crashes(
        &disk,
        || job().unwrap(),
        |content, done, survives| {
            let whole = [OLD, LINE].concat();
            match content {
                Some(content) if content == whole => {}
                None if !done => {}
                Some(part) if !done && survives != Survives::Synced && whole.starts_with(&part) => {}
                other => panic!("{survives:?}, done: {done}: {other:?}"),
            }
        },
    );
    // Later ones need no directory sync any more.
    let before = disk.syncs();
    writer.write_line(LINE).unwrap();
    writer.fsync().unwrap()().unwrap();
    assert_eq!(disk.syncs(), before + 1);
    assert_eq!(survivor(&disk.crash()).unwrap(), [OLD, LINE, LINE].concat());
}

#[test]
fn a_session_made_by_replacement_survives() {
    let disk = PowerLossDisk::new();
    let storage = DiskSessionStorage::on(disk.clone());
    storage.ensure_dir(Path::new("/dir")).unwrap();
    let mut writer = storage.open_writer(path()).unwrap();
    writer.begin(AT_ONCE).unwrap();
    let replace = || writer.replace(&mut |out| out.write_all(NEW)).unwrap().synced.unwrap();
    crashes(&disk, replace, |content, done, survives| match content.as_deref() {
        Some(NEW) => {}
        None | Some(b"") if !done => {}
        other => panic!("{survives:?}, done: {done}: {other:?}"),
    });
}

/// A directory that was made and not synced is synced with the first session in it, although its maker gave up.
#[test]
fn owed_directory_syncs_are_done_by_the_next_sync() {
    let disk = FaultyDisk::new(PowerLossDisk::new());
    let storage = DiskSessionStorage::on(disk.clone());
    let deep = Path::new("/a/b/dir");
    let steps = {
        let probe = FaultyDisk::new(MemoryDisk::new());
        DiskSessionStorage::on(probe.clone()).ensure_dir(deep).unwrap();
        probe.calls()
    };
    let first_sync = steps.iter().position(|call| call.op == "sync_dir").unwrap() as u64 + 1;
    disk.fail_from(first_sync, Fault::Io);
    storage.ensure_dir(deep).unwrap_err();
    let session = deep.join("s.jsonl");
    disk.heal();
    let mut writer = storage.open_writer(&session).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.create(OLD).unwrap();
    // The job fails as long as the syncs do, and nothing is forgotten.
    disk.fail_from(1, Fault::Io);
    writer.fsync().unwrap()().unwrap_err();
    disk.heal();
    disk.fail_once(disk.count() + 2, Fault::Io);
    writer.fsync().unwrap()().unwrap_err();
    disk.heal();
    writer.fsync().unwrap()().unwrap();
    let after = MemorySessionStorage::on(disk.inner().crash());
    assert_eq!(after.read_text(&session).unwrap(), OLD);
}

#[test]
fn made_directories_and_renames_survive() {
    let (disk, storage) = durable_session();
    storage.ensure_dir(Path::new("/x/y/z")).unwrap();
    storage.rename(path(), Path::new("/x/y/z/moved")).unwrap().unwrap();
    let after = MemorySessionStorage::on(disk.crash());
    assert_eq!(after.read_text(Path::new("/x/y/z/moved")).unwrap(), OLD);
    assert!(!after.exists(path()).unwrap());
    assert_eq!(after.disk().metadata(Path::new("/x/y")).unwrap().mode, 0o700);
    assert_eq!(after.disk().metadata(Path::new("/x/y/z/moved")).unwrap().mode, 0o600);

    // At each sync of the rename the file has a name.
    storage.ensure_dir(Path::new("/to")).unwrap();
    disk.on_sync(|disk, _, _| {
        let after = MemorySessionStorage::on(disk.crash());
        let names = ["/x/y/z/moved", "/to/moved"].map(|name| after.exists(Path::new(name)).unwrap());
        assert!(names.contains(&true));
    });
    storage.rename(Path::new("/x/y/z/moved"), Path::new("/to/moved")).unwrap().unwrap();
}

#[test]
fn a_removed_file_does_not_come_back() {
    let (disk, storage) = durable_session();
    storage.unlink(path()).unwrap();
    storage.sync_dir(path().parent().unwrap()).unwrap();
    assert_eq!(survivor(&disk.crash()), None);
}

/// The model itself: what is not synced is lost, and a machine that stopped does nothing any more.
#[test]
fn the_model_loses_what_it_should() {
    let (disk, storage) = durable_session();
    let mut writer = storage.open_writer(path()).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.write_line(LINE).unwrap();
    assert_eq!(survivor(&disk.crash()).unwrap(), OLD);
    assert_eq!(survivor(&disk.crash_as(Survives::Halves)).unwrap(), [OLD, &LINE[..LINE.len() / 2]].concat());
    storage.write_text(Path::new("/dir/quick"), b"text", false).unwrap();
    assert!(!MemorySessionStorage::on(disk.crash()).exists(Path::new("/dir/quick")).unwrap());
    let named = MemorySessionStorage::on(disk.crash_as(Survives::Names));
    assert_eq!(named.read_text(Path::new("/dir/quick")).unwrap(), b"");
    disk.remove_file(path()).unwrap();
    assert_eq!(survivor(&disk.crash()).unwrap(), OLD);
    disk.stop_after(disk.syncs() + 1);
    storage.write_text(path(), NEW, true).unwrap_err();
    assert!(disk.stopped() && storage.exists(path()).is_err());
    assert_eq!(survivor(&disk.crash()).unwrap(), OLD);
}
