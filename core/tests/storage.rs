//! One suite for every disk: what the session manager relies on (SPEC sections 8 and 10).

mod support;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use support::FaultyDisk;
use xcsh_session::storage::{
    Access, Disk, DiskFile, DiskSessionStorage, MemoryDisk, RealDisk, SessionStorage, SessionStorageWriter,
    is_temporary,
};

/// One attempt to get the lock.
const AT_ONCE: Duration = Duration::ZERO;
/// Longer than anything here takes: a lock that is not had by then is a deadlock.
const PATIENT: Duration = Duration::from_secs(60);

/// What tests do to a disk behind the storage's back.
trait TestDisk: Disk + Clone {
    fn link(&self, target: &Path, path: &Path);
    fn chmod(&self, path: &Path, mode: u32);
}

impl TestDisk for MemoryDisk {
    fn link(&self, target: &Path, path: &Path) {
        MemoryDisk::symlink(self, target, path).unwrap();
    }

    fn chmod(&self, path: &Path, mode: u32) {
        self.set_mode(path, mode).unwrap();
    }
}

#[cfg(unix)]
impl TestDisk for RealDisk {
    fn link(&self, target: &Path, path: &Path) {
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    fn chmod(&self, path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
}

/// Runs each test on the real disk and on the one in memory.
macro_rules! on_both_disks {
    ($($test:ident)*) => {
        #[cfg(unix)]
        mod real {
            $(#[test] fn $test() {
                let dir = tempfile::tempdir().unwrap();
                super::$test(&xcsh_session::storage::RealDisk, dir.path());
            })*
        }
        mod memory {
            $(#[test] fn $test() {
                let disk = xcsh_session::storage::MemoryDisk::new();
                let dir = std::path::Path::new("/dir");
                xcsh_session::storage::Disk::create_dir(&disk, dir).unwrap();
                super::$test(&disk, dir);
            })*
        }
    };
}

on_both_disks! {
    appends_land_where_they_say
    a_replacement_is_seen_and_the_old_content_stays_readable
    a_removed_content_is_seen_and_made_anew
    a_content_that_was_moved_away_is_seen
    a_replacement_never_hits_a_content_it_has_not_seen
    only_one_of_two_creates
    a_replacement_makes_a_missing_content
    nobody_waits_for_a_content_that_is_gone
    a_waiting_writer_gets_the_lock
    closing_and_dropping_release_the_lock_although_a_reader_lives
    writers_exclude_each_other
    calls_out_of_order_are_errors
    a_link_stays_and_its_target_is_replaced
    a_link_to_nothing_is_created_at_its_target
    modes_are_kept_and_new_files_are_private
    looking_changes_nothing
    listings_follow_links_and_miss_nothing
    removing_a_tree_leaves_what_links_point_to
    whole_texts_replace_whole_texts
    renames_move_files_and_directories
    abandoned_temporary_files_go_with_the_next_replacement
    a_sync_job_runs_beside_appends
    things_that_are_no_files_are_refused
}

fn storage<D: TestDisk>(disk: &D) -> DiskSessionStorage<D> {
    DiskSessionStorage::on(disk.clone())
}

fn kind<T>(result: io::Result<T>) -> ErrorKind {
    result.err().expect("an error was expected").kind()
}

fn put<D: Disk>(disk: &D, path: &Path, bytes: &[u8]) {
    disk.create_new(path).unwrap().append(bytes).unwrap();
}

fn names(storage: &dyn SessionStorage, dir: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = storage.list_files(dir).unwrap().into_iter().map(|file| file.path).collect();
    names.sort();
    names
}

/// A copy of the content that the writer sees, with something after it.
fn copy_with(writer: &mut dyn SessionStorageWriter, more: &[u8]) {
    let reader = writer.reader().unwrap();
    let mut bytes = vec![0; reader.stat().unwrap().len as usize];
    reader.read_exact_at(&mut bytes, 0).unwrap();
    bytes.extend_from_slice(more);
    writer.replace(&mut |out| out.write_all(&bytes)).unwrap().synced.unwrap();
}

fn appends_land_where_they_say<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    let mut writer = storage.open_writer(&path).unwrap();
    assert!(writer.begin(AT_ONCE).unwrap().is_none());
    assert!(writer.reader().is_none() && writer.fsync().is_none());
    assert_eq!(writer.create(b"one\n").unwrap().len, 4);
    assert_eq!(writer.write_line(b"two\n").unwrap(), 4);
    assert_eq!(writer.write_line(b"three\n").unwrap(), 8);
    writer.end();
    let seen = writer.begin(AT_ONCE).unwrap().unwrap();
    assert_eq!((seen.id, seen.len), storage.stat(&path).map(|stat| (stat.id, stat.len)).unwrap());
    assert_eq!(writer.write_line(b"four\n").unwrap(), 14);
    writer.end();
    writer.fsync().unwrap()().unwrap();
    assert_eq!(storage.read_text(&path).unwrap(), b"one\ntwo\nthree\nfour\n");
    assert_eq!(storage.read_text_prefix(&path, 5).unwrap(), b"one\nt");
    assert_eq!(storage.read_text_prefix(&path, 500).unwrap(), b"one\ntwo\nthree\nfour\n");

    // What another writer added is in the length that `begin` shows.
    let mut other = storage.open_writer(&path).unwrap();
    other.begin(PATIENT).unwrap();
    other.write_line(b"five\n").unwrap();
    other.end();
    assert_eq!(writer.begin(PATIENT).unwrap().unwrap().len, 24);
    assert_eq!(writer.write_line(b"six\n").unwrap(), 24);
}

fn a_replacement_is_seen_and_the_old_content_stays_readable<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    storage.write_text(&path, b"old\n", true).unwrap();
    let (mut a, mut b) = (storage.open_writer(&path).unwrap(), storage.open_writer(&path).unwrap());
    let old = b.begin(AT_ONCE).unwrap().unwrap();
    let reader = b.reader().unwrap();
    assert_eq!(kind(a.begin(AT_ONCE)), ErrorKind::TimedOut);
    b.end();
    assert_eq!(a.begin(AT_ONCE).unwrap().unwrap().id, old.id);
    let replaced = a.replace(&mut |out| out.write_all(b"new content\n")).unwrap();
    replaced.synced.unwrap();
    assert_ne!(replaced.stat.id, old.id);
    assert_eq!(kind(b.begin(AT_ONCE)), ErrorKind::TimedOut);
    assert_eq!(a.write_line(b"more\n").unwrap(), 12);
    a.end();
    let seen = b.begin(AT_ONCE).unwrap().unwrap();
    assert_eq!((seen.id, seen.len), (replaced.stat.id, 17));
    let mut buf = [0; 4];
    reader.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"old\n");
    assert_eq!(reader.stat().unwrap().id, old.id);
    assert_eq!(names(&storage, dir), [path]);
}

fn a_removed_content_is_seen_and_made_anew<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    put(disk, &path, b"old\n");
    let mut writer = storage.open_writer(&path).unwrap();
    let old = writer.begin(AT_ONCE).unwrap().unwrap();
    writer.end();
    storage.unlink(&path).unwrap();
    assert!(!storage.exists(&path).unwrap());
    assert!(writer.begin(AT_ONCE).unwrap().is_none());
    assert_ne!(writer.create(b"new\n").unwrap(), old);
    writer.end();

    // Removed and made anew by somebody else.
    writer.begin(AT_ONCE).unwrap();
    writer.end();
    let mine = writer.reader().unwrap().stat().unwrap();
    storage.unlink(&path).unwrap();
    put(disk, &path, b"foreign\n");
    let seen = writer.begin(AT_ONCE).unwrap().unwrap();
    assert_eq!((seen.len, seen), (8, storage.stat(&path).unwrap()));
    assert_ne!(seen.modified_ns, mine.modified_ns);
}

fn a_content_that_was_moved_away_is_seen<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    put(disk, &path, b"old\n");
    let mut writer = storage.open_writer(&path).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.end();
    storage.rename(&path, &dir.join("away")).unwrap().unwrap();
    put(disk, &path, b"new\n");
    let new = storage.stat(&path).unwrap();
    // The path is believed for a while.
    let start = Instant::now();
    while writer.begin(AT_ONCE).unwrap() != Some(new) {
        assert!(start.elapsed() < PATIENT, "never seen");
        writer.end();
        std::thread::yield_now();
    }
    writer.write_line(b"more\n").unwrap();
    assert_eq!(storage.read_text(&path).unwrap(), b"new\nmore\n");
    assert_eq!(storage.read_text(&dir.join("away")).unwrap(), b"old\n");
}

fn a_replacement_never_hits_a_content_it_has_not_seen<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    put(disk, &path, b"old\n");
    let mut writer = storage.open_writer(&path).unwrap();
    let put_another = || {
        let _ = storage.unlink(&dir.join("away"));
        storage.rename(&path, &dir.join("away")).unwrap().unwrap();
        put(disk, &path, b"another\n");
    };
    // Before the replacement begins, and while it is written.
    writer.begin(AT_ONCE).unwrap();
    put_another();
    assert_eq!(kind(writer.replace(&mut |_| panic!("known before it is written"))), ErrorKind::StaleNetworkFileHandle);
    assert_eq!(kind(writer.write_line(b"x")), ErrorKind::InvalidInput);
    writer.begin(AT_ONCE).unwrap();
    let result = writer.replace(&mut |out| {
        put_another();
        out.write_all(b"mine\n")
    });
    assert_eq!(kind(result), ErrorKind::StaleNetworkFileHandle);
    assert_eq!(storage.read_text(&path).unwrap(), b"another\n");
    assert_eq!(writer.begin(AT_ONCE).unwrap(), Some(storage.stat(&path).unwrap()));
    writer.replace(&mut |out| out.write_all(b"mine\n")).unwrap().synced.unwrap();
    assert_eq!(storage.read_text(&path).unwrap(), b"mine\n");
    assert_eq!(names(&storage, dir), [dir.join("away"), path.clone()]);
}

fn only_one_of_two_creates<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    let (mut a, mut b) = (storage.open_writer(&path).unwrap(), storage.open_writer(&path).unwrap());
    assert!(a.begin(AT_ONCE).unwrap().is_none() && b.begin(AT_ONCE).unwrap().is_none());
    a.create(b"a\n").unwrap();
    assert_eq!(kind(b.create(b"b\n")), ErrorKind::AlreadyExists);
    assert_eq!(kind(b.begin(AT_ONCE)), ErrorKind::TimedOut);
    a.end();
    assert_eq!(b.begin(AT_ONCE).unwrap().unwrap().len, 2);
    b.close();

    storage.unlink(&path).unwrap();
    assert!(a.begin(AT_ONCE).unwrap().is_none() && b.begin(AT_ONCE).unwrap().is_none());
    a.replace(&mut |out| out.write_all(b"a\n")).unwrap().synced.unwrap();
    assert_eq!(kind(b.replace(&mut |out| out.write_all(b"b\n"))), ErrorKind::AlreadyExists);
    assert_eq!(storage.read_text(&path).unwrap(), b"a\n");
}

fn a_replacement_makes_a_missing_content<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    let mut writer = storage.open_writer(&path).unwrap();
    assert!(writer.begin(AT_ONCE).unwrap().is_none());
    assert_eq!(kind(writer.replace(&mut |_| Err(ErrorKind::Other.into()))), ErrorKind::Other);
    assert!(names(&storage, dir).is_empty());
    assert!(writer.begin(AT_ONCE).unwrap().is_none());
    writer.replace(&mut |out| out.write_all(b"whole\n")).unwrap().synced.unwrap();
    assert_eq!(kind(storage.open_writer(&path).unwrap().begin(AT_ONCE)), ErrorKind::TimedOut);
    assert_eq!(writer.write_line(b"more\n").unwrap(), 6);
    assert_eq!(storage.read_text(&path).unwrap(), b"whole\nmore\n");
    assert_eq!(disk.metadata(&path).unwrap().mode, 0o600);
}

fn nobody_waits_for_a_content_that_is_gone<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    put(disk, &path, b"old\n");
    let (mut stuck, mut other) = (storage.open_writer(&path).unwrap(), storage.open_writer(&path).unwrap());
    other.begin(AT_ONCE).unwrap();
    other.end();
    stuck.begin(AT_ONCE).unwrap();
    assert_eq!(kind(other.begin(AT_ONCE)), ErrorKind::TimedOut);
    storage.unlink(&path).unwrap();
    assert!(other.begin(AT_ONCE).unwrap().is_none());
    other.create(b"new\n").unwrap();
}

fn a_waiting_writer_gets_the_lock<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    put(disk, &path, b"old\n");
    let (mut a, mut b) = (storage.open_writer(&path).unwrap(), storage.open_writer(&path).unwrap());
    b.begin(AT_ONCE).unwrap();
    b.end();
    a.begin(AT_ONCE).unwrap();
    assert_eq!(kind(b.begin(Duration::from_millis(3))), ErrorKind::TimedOut);
    std::thread::scope(|scope| {
        let (waits, ready) = std::sync::mpsc::channel();
        let waiting = scope.spawn(move || {
            waits.send(()).unwrap();
            b.begin(PATIENT).unwrap().unwrap()
        });
        ready.recv().unwrap();
        // The other may be waiting for the old content by now, or not yet: it must end up with the new one.
        a.replace(&mut |out| out.write_all(b"replaced\n")).unwrap().synced.unwrap();
        a.end();
        assert_eq!(waiting.join().unwrap(), storage.stat(&path).unwrap());
    });
}

fn closing_and_dropping_release_the_lock_although_a_reader_lives<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    put(disk, &path, b"old\n");
    let (mut a, mut b) = (storage.open_writer(&path).unwrap(), storage.open_writer(&path).unwrap());
    a.begin(AT_ONCE).unwrap();
    let (_reader, _job) = (a.reader().unwrap(), a.fsync().unwrap());
    a.close();
    b.begin(AT_ONCE).unwrap();
    let _reader = b.reader().unwrap();
    drop(b);
    assert_eq!(a.begin(AT_ONCE).unwrap().unwrap().len, 4);
}

fn writers_exclude_each_other<D: TestDisk>(disk: &D, dir: &Path) {
    const WRITERS: usize = 4;
    const LINES: usize = 150;
    let path = dir.join("s.jsonl");
    std::thread::scope(|scope| {
        for id in 0..WRITERS {
            let (storage, path) = (storage(disk), path.clone());
            scope.spawn(move || {
                let mut writer = storage.open_writer(&path).unwrap();
                for line in 0..LINES {
                    let line_text = format!("{id} {line}\n");
                    loop {
                        match writer.begin(PATIENT).unwrap() {
                            Some(seen) if line % 40 == 39 => {
                                copy_with(&mut *writer, line_text.as_bytes());
                                let now = writer.reader().unwrap().stat().unwrap();
                                assert_eq!(now.len, seen.len + line_text.len() as u64);
                                break;
                            }
                            Some(seen) => {
                                assert_eq!(writer.write_line(line_text.as_bytes()).unwrap(), seen.len);
                                break;
                            }
                            None => match writer.create(line_text.as_bytes()) {
                                Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists),
                                Ok(_) => break,
                            },
                        }
                    }
                    writer.end();
                }
            });
        }
    });
    let text = String::from_utf8(storage(disk).read_text(&path).unwrap()).unwrap();
    let mut next = [0; WRITERS];
    for line in text.lines() {
        let (id, number) = line.split_once(' ').unwrap();
        let next = &mut next[id.parse::<usize>().unwrap()];
        assert_eq!(number.parse(), Ok(*next), "in order, none missing");
        *next += 1;
    }
    assert_eq!(next, [LINES; WRITERS]);
    assert_eq!(names(&storage(disk), dir), [path]);
}

fn calls_out_of_order_are_errors<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    let mut writer = storage.open_writer(&path).unwrap();
    assert_eq!(kind(writer.create(b"x")), ErrorKind::InvalidInput);
    assert_eq!(kind(writer.write_line(b"x")), ErrorKind::InvalidInput);
    assert_eq!(kind(writer.replace(&mut |_| Ok(()))), ErrorKind::InvalidInput);
    writer.begin(AT_ONCE).unwrap();
    assert_eq!(kind(writer.write_line(b"x")), ErrorKind::InvalidInput);
    writer.create(b"x").unwrap();
    assert_eq!(kind(writer.create(b"x")), ErrorKind::InvalidInput);
    writer.end();
    writer.end();
    writer.close();
    writer.close();
    assert_eq!(writer.begin(AT_ONCE).unwrap().unwrap().len, 1);
    assert_eq!(writer.begin(AT_ONCE).unwrap().unwrap().len, 1);
    // A directory that is not there.
    let mut lost = storage.open_writer(&dir.join("none/s.jsonl")).unwrap();
    assert!(lost.begin(AT_ONCE).unwrap().is_none());
    assert_eq!(kind(lost.create(b"x")), ErrorKind::NotFound);
}

fn a_link_stays_and_its_target_is_replaced<D: TestDisk>(disk: &D, dir: &Path) {
    let storage = storage(disk);
    let (path, target) = (dir.join("s.jsonl"), dir.join("other/target"));
    storage.ensure_dir(&dir.join("other")).unwrap();
    put(disk, &target, b"old\n");
    disk.link(Path::new("other/hop"), &path);
    disk.link(Path::new("target"), &dir.join("other/hop"));
    let mut writer = storage.open_writer(&path).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.replace(&mut |out| out.write_all(b"new\n")).unwrap().synced.unwrap();
    writer.write_line(b"more\n").unwrap();
    writer.end();
    writer.fsync().unwrap()().unwrap();
    assert_eq!(storage.read_text(&target).unwrap(), b"new\nmore\n");
    storage.write_text(&path, b"text\n", true).unwrap();
    storage.sync(&path).unwrap();
    assert_eq!(storage.read_text(&target).unwrap(), b"text\n");
    assert_eq!(disk.read_link(&path).unwrap().unwrap(), Path::new("other/hop"));
    assert_eq!(names(&storage, dir), std::slice::from_ref(&path));
    assert_eq!(writer.begin(AT_ONCE).unwrap().unwrap(), storage.stat(&target).unwrap());
}

fn a_link_to_nothing_is_created_at_its_target<D: TestDisk>(disk: &D, dir: &Path) {
    let storage = storage(disk);
    let path = dir.join("s.jsonl");
    disk.link(Path::new("target"), &path);
    disk.link(Path::new("loop"), &dir.join("loop"));
    assert!(!storage.exists(&path).unwrap());
    let mut writer = storage.open_writer(&path).unwrap();
    assert!(writer.begin(AT_ONCE).unwrap().is_none());
    writer.create(b"new\n").unwrap();
    assert_eq!(storage.read_text(&dir.join("target")).unwrap(), b"new\n");
    assert!(storage.write_text(&dir.join("loop"), b"x", false).is_err());
}

fn modes_are_kept_and_new_files_are_private<D: TestDisk>(disk: &D, dir: &Path) {
    let storage = storage(disk);
    let mode = |path: &Path| disk.metadata(path).unwrap().mode;
    let (deep, path) = (dir.join("a/b/c"), dir.join("a/b/c/s.jsonl"));
    storage.ensure_dir(&deep).unwrap();
    storage.ensure_dir(&deep).unwrap();
    assert_eq!([mode(&dir.join("a")), mode(&dir.join("a/b")), mode(&deep)], [0o700; 3]);
    let mut writer = storage.open_writer(&path).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.create(b"x\n").unwrap();
    writer.end();
    storage.write_text(&deep.join("text"), b"x", false).unwrap();
    assert_eq!([mode(&path), mode(&deep.join("text"))], [0o600; 2]);
    for wanted in [0o640, 0o604, 0o600] {
        disk.chmod(&path, wanted);
        writer.begin(AT_ONCE).unwrap();
        writer.replace(&mut |out| out.write_all(b"y\n")).unwrap().synced.unwrap();
        writer.end();
        assert_eq!(mode(&path), wanted);
        storage.write_text(&path, b"z\n", false).unwrap();
        assert_eq!(mode(&path), wanted);
    }
    disk.chmod(&deep, 0o750);
    storage.ensure_dir(&deep).unwrap();
    assert_eq!(mode(&deep), 0o750);
    assert_eq!(kind(storage.ensure_dir(&path)), ErrorKind::NotADirectory);
}

fn looking_changes_nothing<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    put(disk, &path, b"text\n");
    let (file, directory) = (disk.metadata(&path).unwrap(), disk.metadata(dir).unwrap());
    let mut writer = storage.open_writer(&path).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.end();
    writer.fsync().unwrap()().unwrap();
    writer.close();
    storage.read_text(&path).unwrap();
    storage.list_files(dir).unwrap();
    storage.open_reader(&path).unwrap().stat().unwrap();
    storage.ensure_dir(dir).unwrap();
    assert_eq!((disk.metadata(&path).unwrap(), disk.metadata(dir).unwrap()), (file, directory));
}

fn listings_follow_links_and_miss_nothing<D: TestDisk>(disk: &D, dir: &Path) {
    let storage = storage(disk);
    storage.ensure_dir(&dir.join("sub")).unwrap();
    put(disk, &dir.join("a"), b"12345");
    put(disk, &dir.join("sub/inner"), b"");
    disk.link(Path::new("a"), &dir.join("link-to-file"));
    disk.link(Path::new("sub"), &dir.join("link-to-dir"));
    disk.link(Path::new("nowhere"), &dir.join("link-to-nothing"));
    assert_eq!(names(&storage, dir), [dir.join("a"), dir.join("link-to-file")]);
    for file in storage.list_files(dir).unwrap() {
        let stat = storage.stat(&dir.join("a")).unwrap();
        assert_eq!((file.len, file.modified_ns), (5, stat.modified_ns));
    }
    let mut dirs = storage.list_dirs(dir).unwrap();
    dirs.sort();
    assert_eq!(dirs, [dir.join("link-to-dir"), dir.join("sub")]);
    assert!(storage.list_files(&dir.join("none")).unwrap().is_empty());
    assert!(storage.list_dirs(&dir.join("none")).unwrap().is_empty());
    assert!(storage.list_files(&dir.join("a")).is_err());
}

fn removing_a_tree_leaves_what_links_point_to<D: TestDisk>(disk: &D, dir: &Path) {
    let storage = storage(disk);
    let tree = dir.join("tree");
    storage.ensure_dir(&tree.join("x/y/z")).unwrap();
    storage.ensure_dir(&dir.join("kept")).unwrap();
    for path in ["kept/file", "tree/file", "tree/x/file", "tree/x/y/z/file"] {
        put(disk, &dir.join(path), b"");
    }
    disk.link(&dir.join("kept"), &tree.join("x/link"));
    disk.link(&dir.join("kept"), &dir.join("link"));
    storage.remove_dir_all(&tree).unwrap();
    storage.remove_dir_all(&tree).unwrap();
    storage.remove_dir_all(&dir.join("link")).unwrap();
    assert!(!storage.exists(&tree).unwrap() && !storage.exists(&dir.join("link")).unwrap());
    assert!(storage.exists(&dir.join("kept/file")).unwrap());
}

fn whole_texts_replace_whole_texts<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("text"));
    assert_eq!(kind(storage.read_text(&path)), ErrorKind::NotFound);
    assert_eq!(kind(storage.stat(&path)), ErrorKind::NotFound);
    assert_eq!(kind(storage.sync(&path)), ErrorKind::NotFound);
    let large: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
    storage.write_text(&path, &large, true).unwrap();
    let reader = storage.open_reader(&path).unwrap();
    assert_eq!(storage.read_text(&path).unwrap(), large);
    storage.write_text(&path, b"", false).unwrap();
    assert_eq!(storage.read_text(&path).unwrap(), b"");
    let mut buf = vec![0; large.len()];
    reader.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(buf, large);
    assert_eq!(kind(reader.read_exact_at(&mut buf, 1)), ErrorKind::UnexpectedEof);
    assert_eq!(reader.read_at(&mut buf, u64::from(u32::MAX)).unwrap(), 0);
    assert_eq!(names(&storage, dir), [path]);
}

fn renames_move_files_and_directories<D: TestDisk>(disk: &D, dir: &Path) {
    let storage = storage(disk);
    storage.ensure_dir(&dir.join("from/artifacts")).unwrap();
    storage.ensure_dir(&dir.join("to")).unwrap();
    put(disk, &dir.join("from/file"), b"1");
    put(disk, &dir.join("from/artifacts/0.log"), b"2");
    put(disk, &dir.join("to/file"), b"gone");
    storage.rename(&dir.join("from/file"), &dir.join("to/file")).unwrap().unwrap();
    storage.rename(&dir.join("from/artifacts"), &dir.join("to/artifacts")).unwrap().unwrap();
    assert_eq!(storage.read_text(&dir.join("to/file")).unwrap(), b"1");
    assert_eq!(storage.read_text(&dir.join("to/artifacts/0.log")).unwrap(), b"2");
    assert_eq!(kind(storage.rename(&dir.join("from/file"), &dir.join("x"))), ErrorKind::NotFound);
    assert!(storage.rename(&dir.join("to/artifacts"), &dir.join("to/artifacts/inside")).is_err());
    assert!(storage.list_dirs(&dir.join("from")).unwrap().is_empty());
}

fn abandoned_temporary_files_go_with_the_next_replacement<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    put(disk, &path, b"old\n");
    for name in
        ["s.jsonl.1-2.tmp", "s.jsonl.99999-0.tmp", "t.jsonl.1-2.tmp", "s.jsonl.tmp", "s.jsonl.a-1.tmp", "s.1-2.tmp"]
    {
        put(disk, &dir.join(name), b"torn");
    }
    let alive = dir.join("s.jsonl.77-7.tmp");
    put(disk, &alive, b"being written");
    let owner = disk.open(&alive, Access::Append).unwrap();
    assert!(owner.try_lock().unwrap());
    let mut writer = storage.open_writer(&path).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.replace(&mut |out| out.write_all(b"new\n")).unwrap().synced.unwrap();
    let left = ["s.1-2.tmp", "s.jsonl", "s.jsonl.77-7.tmp", "s.jsonl.a-1.tmp", "s.jsonl.tmp", "t.jsonl.1-2.tmp"];
    assert_eq!(names(&storage, dir), left.map(|name| dir.join(name)));
    drop(owner);
    writer.replace(&mut |out| out.write_all(b"new\n")).unwrap().synced.unwrap();
    assert!(!storage.exists(&alive).unwrap());
}

fn a_sync_job_runs_beside_appends<D: TestDisk>(disk: &D, dir: &Path) {
    let (storage, path) = (storage(disk), dir.join("s.jsonl"));
    let mut writer = storage.open_writer(&path).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.create(b"x\n").unwrap();
    let job = writer.fsync().unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(job);
        for _ in 0..50 {
            writer.write_line(b"y\n").unwrap();
        }
        running.join().unwrap().unwrap();
    });
    let job = writer.fsync().unwrap();
    writer.replace(&mut |out| out.write_all(b"z\n")).unwrap().synced.unwrap();
    // The content that it is about is gone; it has still one to sync.
    drop(writer);
    job().unwrap();
}

fn things_that_are_no_files_are_refused<D: TestDisk>(disk: &D, dir: &Path) {
    let storage = storage(disk);
    storage.ensure_dir(&dir.join("sub")).unwrap();
    assert_eq!(kind(storage.open_writer(&dir.join("sub")).unwrap().begin(AT_ONCE)), ErrorKind::IsADirectory);
    assert_eq!(kind(storage.read_text(&dir.join("sub"))), ErrorKind::IsADirectory);
    assert!(storage.write_text(&dir.join("sub"), b"", false).is_err());
    assert!(storage.list_files(dir).unwrap().is_empty());
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no mkfifo here");
        return;
    }
    let storage = storage(&RealDisk);
    assert_eq!(kind(storage.open_writer(&pipe).unwrap().begin(AT_ONCE)), ErrorKind::InvalidInput);
    assert_eq!(kind(storage.read_text(&pipe)), ErrorKind::InvalidInput);
    assert!(storage.list_files(dir.path()).unwrap().is_empty());
}

/// Runs itself again under `umask 0`, where nothing but the library's own modes protects a file.
#[cfg(unix)]
#[test]
fn umask_zero_opens_nothing() {
    const NAME: &str = "umask_zero_opens_nothing";
    const CHILD: &str = "XCSH_SESSION_TEST_UMASK";
    if std::env::var_os(CHILD).is_some() {
        let dir = tempfile::tempdir().unwrap();
        modes_are_kept_and_new_files_are_private(&RealDisk, dir.path());
        let path = dir.path().join("s.jsonl");
        a_replacement_makes_a_missing_content(&RealDisk, dir.path());
        assert_eq!(RealDisk.metadata(&path).unwrap().mode, 0o600);
        return;
    }
    let test = std::env::current_exe().unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", "umask 0 && exec \"$0\" \"$@\""])
        .arg(test)
        .args(["--exact", NAME])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn what_may_only_be_read_cannot_be_begun() {
    let disk = MemoryDisk::new();
    let path = Path::new("/s.jsonl");
    put(&disk, path, b"text\n");
    disk.chmod(path, 0o400);
    let storage = storage(&disk);
    let mut writer = storage.open_writer(path).unwrap();
    assert_eq!(kind(writer.begin(AT_ONCE)), ErrorKind::PermissionDenied);
    assert_eq!(storage.read_text(path).unwrap(), b"text\n");
    disk.chmod(path, 0o600);
    writer.begin(AT_ONCE).unwrap().unwrap();
    // A directory where no names may change.
    disk.chmod(Path::new("/"), 0o500);
    assert_eq!(kind(writer.replace(&mut |_| Ok(()))), ErrorKind::PermissionDenied);
    writer.write_line(b"more\n").unwrap();
    assert_eq!(kind(storage.write_text(Path::new("/t"), b"", false)), ErrorKind::PermissionDenied);
}

#[cfg(unix)]
#[test]
fn what_may_only_be_read_cannot_be_begun_on_a_real_disk() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    put(&RealDisk, &path, b"text\n");
    RealDisk.chmod(&path, 0o400);
    if RealDisk.open(&path, Access::Append).is_ok() {
        eprintln!("skipped: modes do not bind this user");
        return;
    }
    assert_eq!(kind(storage(&RealDisk).open_writer(&path).unwrap().begin(AT_ONCE)), ErrorKind::PermissionDenied);
}

/// An append to an unchanged content is lock, look, write, where it went, unlock (the last is not counted)
/// and nothing else.
#[test]
fn an_append_takes_five_steps() {
    let disk = FaultyDisk::new(MemoryDisk::new());
    let storage = DiskSessionStorage::on(disk.clone());
    let mut writer = storage.open_writer(Path::new("/s.jsonl")).unwrap();
    writer.begin(AT_ONCE).unwrap();
    writer.create(b"x\n").unwrap();
    writer.end();
    // The path is looked at once in a while, so one of a few in a row is without that.
    let steps = (0..1000).find(|_| {
        disk.forget();
        writer.begin(AT_ONCE).unwrap();
        writer.write_line(b"y\n").unwrap();
        writer.end();
        disk.ops() == ["try_lock", "stat", "append", "appended_to"]
    });
    assert!(steps.is_some(), "{:?}", disk.calls());
}

#[test]
fn temporary_names() {
    for name in ["a.jsonl.1-2.tmp", "/x/y/0123abc.77-0.tmp", "a b.c.12-34.tmp"] {
        assert!(is_temporary(Path::new(name)), "{name}");
    }
    for name in
        ["a.jsonl", "a.tmp", "a.1.tmp", "a.1-.tmp", "a.-1.tmp", "a.1-x.tmp", ".1-2.tmp", "1-2.tmp", "a.1-2.tmp.b", "/"]
    {
        assert!(!is_temporary(Path::new(name)), "{name}");
    }
}

/// Paths in memory are resolved as the system does it.
#[test]
fn memory_paths() {
    let disk = MemoryDisk::new();
    let storage = storage(&disk);
    storage.ensure_dir(Path::new("/a/b")).unwrap();
    put(&disk, Path::new("/a/b/f"), b"f");
    disk.link(Path::new("a/b"), Path::new("/l"));
    disk.link(Path::new("../b/f"), Path::new("/a/b/up"));
    disk.link(Path::new("/l"), Path::new("/a/abs"));
    for path in ["/a/b/f", "a/b/f", "/a/./b/../b/f", "/l/f", "/a/b/up", "/l/up", "/a/abs/f", "/../a/b/f"] {
        assert_eq!(storage.read_text(Path::new(path)).unwrap(), b"f", "{path}");
    }
    disk.link(Path::new("/one"), Path::new("/two"));
    disk.link(Path::new("/two"), Path::new("/one"));
    assert!(storage.read_text(Path::new("/one/x")).is_err() && storage.read_text(Path::new("/two")).is_err());
    assert_eq!(kind(storage.read_text(Path::new("/a/b/f/g"))), ErrorKind::NotADirectory);
}

#[test]
fn storages_can_be_shared() {
    fn shared<T: Send + Sync + ?Sized>() {}
    fn sent<T: Send + ?Sized>() {}
    shared::<Arc<dyn SessionStorage>>();
    sent::<Box<dyn SessionStorageWriter>>();
    let memory = xcsh_session::storage::MemorySessionStorage::new();
    memory.write_text(Path::new("/x"), b"x", true).unwrap();
    assert!(xcsh_session::storage::FileSessionStorage::new().exists(Path::new("/")).unwrap());
}
