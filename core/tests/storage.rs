//! One suite for every disk: what the manager relies on (SPEC sections 8 and 10).

mod support;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use xcsh_session::storage::{DirItemKind, Disk, DiskSessionStorage, MemoryDisk, RealDisk, SessionStorage};

const NO_WAIT: Duration = Duration::ZERO;

fn kind<T>(result: io::Result<T>) -> io::ErrorKind {
    result.err().expect("an error was expected").kind()
}

fn on_both(test: impl Fn(&dyn SessionStorage, &Path)) {
    let dir = tempfile::tempdir().unwrap();
    test(&DiskSessionStorage::on(RealDisk), dir.path());
    let memory = MemoryDisk::new();
    memory.create_dir(Path::new("/dir")).unwrap();
    test(&DiskSessionStorage::on(memory), Path::new("/dir"));
}

#[test]
fn appends_land_where_they_say() {
    on_both(|storage, dir| {
        let path = dir.join("s.jsonl");
        let mut writer = storage.open_writer(&path).unwrap();
        assert!(writer.begin(NO_WAIT).unwrap().is_none());
        assert!(writer.reader().is_none() && writer.fsync().is_none());
        assert_eq!(writer.create(b"one\n").unwrap().len, 4);
        assert_eq!(writer.write_line(b"two\n").unwrap(), 4);
        assert_eq!(writer.write_line(b"three\n").unwrap(), 8);
        writer.end();
        let seen = writer.begin(NO_WAIT).unwrap().unwrap();
        assert_eq!(seen, storage.stat(&path).unwrap());
        assert_eq!(writer.write_line(b"four\n").unwrap(), 14);
        writer.end();
        writer.fsync().unwrap()().unwrap();
        assert_eq!(storage.read_text(&path).unwrap(), b"one\ntwo\nthree\nfour\n");
        assert_eq!(storage.read_text_prefix(&path, 5).unwrap(), b"one\nt");
        assert_eq!(kind(writer.write_line(b"x")), io::ErrorKind::InvalidInput);
    });
}

#[test]
fn a_replacement_is_seen_and_the_old_content_stays_readable() {
    on_both(|storage, dir| {
        let path = dir.join("s.jsonl");
        storage.write_text(&path, b"old\n", true).unwrap();
        let (mut a, mut b) = (storage.open_writer(&path).unwrap(), storage.open_writer(&path).unwrap());
        let old = b.begin(NO_WAIT).unwrap().unwrap();
        let reader = b.reader().unwrap();
        assert_eq!(kind(a.begin(NO_WAIT)), io::ErrorKind::TimedOut);
        b.end();
        assert_eq!(a.begin(NO_WAIT).unwrap().unwrap().id, old.id);
        let replaced = a.replace(&mut |out| out.write_all(b"new content\n")).unwrap();
        replaced.synced.unwrap();
        assert_ne!(replaced.stat.id, old.id);
        assert_eq!(kind(b.begin(NO_WAIT)), io::ErrorKind::TimedOut);
        assert_eq!(a.write_line(b"more\n").unwrap(), 12);
        a.end();
        let seen = b.begin(NO_WAIT).unwrap().unwrap();
        assert_eq!((seen.id, seen.len), (replaced.stat.id, 17));
        let mut buf = [0; 4];
        reader.read_exact_at(&mut buf, 0).unwrap();
        assert_eq!(&buf, b"old\n");
        let names: Vec<PathBuf> = storage.list_files(dir).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(names, [path]);
    });
}

#[test]
fn a_listing_shows_what_cannot_be_looked_at() {
    fn test(storage: &dyn SessionStorage, dir: &Path, link: impl Fn(&str, &Path)) {
        storage.write_text(&dir.join("file"), b"1234", false).unwrap();
        storage.ensure_dir(&dir.join("sub")).unwrap();
        link("file", &dir.join("to_file"));
        link("sub", &dir.join("to_sub"));
        link("nothing", &dir.join("dangling"));
        link("loop", &dir.join("loop"));
        let mut items = storage.list_dir(dir).unwrap();
        items.sort_by(|a, b| a.path.cmp(&b.path));
        let shown = items.iter().map(|item| match &item.kind {
            Ok(DirItemKind::File { len: 4, .. }) => "file",
            Ok(DirItemKind::Dir) => "dir",
            Ok(_) => "other",
            Err(error) if error.kind() == io::ErrorKind::NotFound => "nothing",
            Err(_) => "error",
        });
        let names = items.iter().map(|item| item.path.file_name().unwrap().to_str().unwrap());
        let expected = [
            ("dangling", "nothing"),
            ("file", "file"),
            ("loop", "error"),
            ("sub", "dir"),
            ("to_file", "file"),
            ("to_sub", "dir"),
        ];
        assert!(names.zip(shown).eq(expected), "{items:?}");
        assert!(storage.list_dir(&dir.join("missing")).unwrap().is_empty());
        assert!(storage.list_dir(&dir.join("file")).is_err());
    }
    let memory = MemoryDisk::new();
    memory.create_dir(Path::new("/dir")).unwrap();
    let link = |target: &str, path: &Path| memory.symlink(Path::new(target), path).unwrap();
    test(&DiskSessionStorage::on(memory.clone()), Path::new("/dir"), link);
    #[cfg(unix)]
    {
        let dir = tempfile::tempdir().unwrap();
        let link = |target: &str, path: &Path| std::os::unix::fs::symlink(target, path).unwrap();
        test(&DiskSessionStorage::on(RealDisk), dir.path(), link);
    }
}
