//! What a listing of a directory says of names that cannot be looked at.

use std::io;
use std::path::Path;
use xcsh_session::storage::{DirItemKind, Disk, DiskSessionStorage, MemoryDisk, RealDisk, SessionStorage};

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
