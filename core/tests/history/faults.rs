//! Damage, refusals of the file system, and files that are something else.

use std::fs;

use xcsh_session::Error;

use crate::*;

/// A database with a few hundred prompts, closed.
fn filled() -> Dir {
    let dir = Dir::new();
    let history = dir.open();
    for n in 0..300 {
        history.add(&format!("prompt number {n} {}", "about something ".repeat(n % 7)), None).unwrap();
    }
    history.close().unwrap();
    dir
}

const DAMAGES: [&str; 13] = [
    "DELETE FROM history_fts_data",
    "DELETE FROM history_fts_data WHERE id > 10",
    "UPDATE history_fts_data SET block = zeroblob(length(block))",
    "UPDATE history_fts_data SET block = x'ffffffff' WHERE id > 10",
    "UPDATE history_fts_data SET block = randomblob(100) WHERE id = 10",
    // A length that no memory could hold: SQLite answers "out of memory".
    "UPDATE history_fts_data SET block = x'd7ffe4587744d5eb783e96968f89be828565e07e5f7d784e' WHERE id = 10",
    "DELETE FROM history_fts_idx",
    "DELETE FROM history_fts_docsize WHERE id % 2",
    "UPDATE history_fts_config SET v = 99",
    "DROP TABLE history_fts_data",
    "DROP TABLE history_fts_idx",
    "DROP TABLE history_fts_docsize",
    "DROP TABLE history_fts_config",
];

fn damage(dir: &Dir, sql: &str) {
    let conn = dir.sql();
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    conn.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn assert_sound(dir: &Dir, context: &str) {
    let conn = dir.sql();
    conn.execute("INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1)", [])
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(text(&conn, "PRAGMA integrity_check"), "ok", "{context}");
}

#[test]
fn a_damaged_index_is_rebuilt_at_open() {
    for sql in DAMAGES {
        let dir = filled();
        damage(&dir, sql);
        let history = dir.open();
        assert_sound(&dir, sql);
        assert_eq!(found(&history, "number 299").len(), 1, "{sql}");
        assert_eq!(found(&history, "number").len(), 300, "{sql}");
        add_all(&history, &["written afterwards"]);
        assert_eq!(found(&history, "afterw"), ["written afterwards"], "{sql}");
    }
}

#[test]
fn an_index_damaged_while_open_is_rebuilt_by_search_and_by_adding() {
    for sql in DAMAGES {
        for search_first in [true, false] {
            let context = format!("{sql} {search_first}");
            let dir = filled();
            let history = dir.open();
            assert_eq!(found(&history, "number").len(), 300);
            damage(&dir, sql);
            if search_first {
                // An error is what must not come; what is missing without an error, the next opening repairs.
                history.search("number", 1000).unwrap();
            }
            add_all(&history, &["written afterwards"]);
            history.search("number", 1000).unwrap();
            drop(history);
            let history = dir.open();
            assert_sound(&dir, &context);
            assert_eq!(found(&history, "number").len(), 300, "{context}");
            assert_eq!(found(&history, "afterw"), ["written afterwards"], "{context}");
        }
    }
}

#[test]
fn a_page_of_the_index_full_of_garbage_costs_no_prompt() {
    let dir = filled();
    let page: u64 =
        text(&dir.sql(), "SELECT rootpage FROM sqlite_schema WHERE name = 'history_fts_data'").parse().unwrap();
    let size: u64 = text(&dir.sql(), "PRAGMA page_size").parse().unwrap();
    let mut bytes = fs::read(dir.path()).unwrap();
    bytes[((page - 1) * size) as usize..(page * size) as usize].fill(0xa5);
    fs::write(dir.path(), bytes).unwrap();
    let history = dir.open();
    assert_eq!(found(&history, "number").len(), 300);
    assert_eq!(found(&history, "number 299").len(), 1);
    history.add("written afterwards", None).unwrap();
    history.flush().unwrap();
    assert_eq!(found(&history, "afterw"), ["written afterwards"]);
    assert_eq!(recent(&history).len(), 301);
    drop(history);
    let sql = "INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1)";
    dir.sql().execute(sql, []).unwrap();
}

#[test]
fn a_file_that_is_something_else_is_left_as_it_is() {
    let header_only = b"SQLite format 3\0".to_vec();
    let garbage: Vec<u8> = (0..20_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut broken_header = header_only.clone();
    broken_header.extend([0xee; 8176]);
    for content in [b"# notes\n".to_vec(), b"x".to_vec(), vec![b'\n'; 5000], garbage, broken_header] {
        let dir = Dir::new();
        fs::write(dir.path(), &content).unwrap();
        #[cfg(unix)]
        fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let error = HistoryStorage::open(dir.path()).unwrap_err();
        assert_eq!(error.code(), "History");
        assert!(error.to_string().contains("not an SQLite database"), "{error}");
        assert!(error.to_string().contains(dir.path().to_str().unwrap()), "{error}");
        assert!(fs::read(dir.path()).unwrap() == content);
        #[cfg(unix)]
        assert_eq!(mode(&dir.path()), 0o644);
        assert_eq!(fs::read_dir(dir.0.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_path_that_cannot_be_a_history_is_an_error() {
    let dir = Dir::new();
    assert!(matches!(HistoryStorage::open(""), Err(Error::InvalidArgument(_))));
    assert_eq!(HistoryStorage::open(dir.0.path()).unwrap_err().code(), "History");
    fs::write(dir.0.path().join("file"), "x").unwrap();
    let error = HistoryStorage::open(dir.0.path().join("file").join("history.db")).unwrap_err();
    assert_eq!((error.code(), error.path().is_some()), ("Io", true), "{error}");
}

#[test]
fn paths_are_never_taken_for_a_uri_or_for_memory() {
    let dir = Dir::new();
    for name in [":memory:", "file:x?mode=memory", "a b%20#c?d"] {
        let path = dir.0.path().join(name);
        add_all(&HistoryStorage::open(&path).unwrap(), &["kept"]);
        assert!(fs::metadata(&path).unwrap().len() > 0, "{name}");
        assert_eq!(recent(&HistoryStorage::open(&path).unwrap()), ["kept"]);
    }
}

#[test]
fn another_programs_database_is_left_as_it_is() {
    for sql in ["CREATE TABLE history(url TEXT, visited INTEGER)", "CREATE VIEW history AS SELECT 1 AS id"] {
        let dir = Dir::new();
        dir.sql().execute_batch(sql).unwrap();
        let before = fs::read(dir.path()).unwrap();
        let error = HistoryStorage::open(dir.path()).unwrap_err();
        assert!(error.to_string().contains("`history`"), "{error}");
        assert_eq!(text(&dir.sql(), "SELECT count(*) FROM sqlite_schema"), "1");
        assert!(fs::read(dir.path()).unwrap() == before);
    }
}

#[cfg(unix)]
#[test]
fn where_a_log_is_refused_the_rollback_journal_serves() {
    for (existing, symlink) in [(false, true), (true, true), (false, false)] {
        let dir = if existing { filled() } else { Dir::new() };
        if existing {
            assert_eq!(fs::read(dir.path()).unwrap()[18..20], [2, 2], "in WAL mode");
        }
        // What cannot be the shared memory of a log: SQLite follows no link there, and can only read a directory.
        let shm = side(&dir.path(), "-shm");
        if symlink {
            std::os::unix::fs::symlink("elsewhere", &shm).unwrap();
        } else {
            fs::create_dir(&shm).unwrap();
        }
        let history = dir.open();
        add_all(&history, &["first", "second"]);
        assert_eq!(recent(&history)[..2], ["second", "first"]);
        assert_eq!(found(&history, "sec"), ["second"]);
        assert_eq!(text(&dir.sql(), "PRAGMA journal_mode"), "delete");
        add_all(&dir.open(), &["third"]);
        assert_eq!(recent(&history).len(), if existing { 303 } else { 3 });
        drop(history);

        if symlink {
            fs::remove_file(&shm).unwrap();
        } else {
            fs::remove_dir(&shm).unwrap();
        }
        let history = dir.open();
        assert_eq!(text(&dir.sql(), "PRAGMA journal_mode"), "wal");
        assert_eq!(recent(&history)[0], "third");
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    const NOBODY: u32 = 65534;

    fn is_root() -> bool {
        use std::os::unix::fs::MetadataExt;
        fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
    }

    fn names(dir: &Path) -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    }

    /// In a process without privileges: `database` and its directory are read-only.
    pub(crate) fn as_unprivileged(database: &Path) {
        let history = HistoryStorage::open(database).unwrap();
        for _ in 0..2 {
            assert_eq!(recent(&history).len(), 300);
            assert_eq!(found(&history, "number 299").len(), 1);
            assert_eq!(found(&history, "umb").len(), 0);
            assert_eq!(found(&history, "99").len(), 3);
            history.add("cannot be kept", None).unwrap();
            let error = history.flush().unwrap_err();
            assert_eq!(error.code(), "History");
            assert!(error.to_string().contains("writable"), "{error}");
        }
        history.close().unwrap_err();
        let missing = database.with_file_name("missing.db");
        let error = HistoryStorage::open(missing).unwrap_err();
        assert_eq!((error.code(), error.path().is_some()), ("Io", true), "{error}");
    }

    #[test]
    fn a_read_only_directory_can_be_read() {
        // Whether the database was left in WAL mode, in rollback mode, or without its index.
        for form in ["wal", "delete", "no index", "writable file"] {
            let dir = filled();
            match form {
                "delete" => assert_eq!(text(&dir.sql(), "PRAGMA journal_mode = DELETE"), "delete"),
                "no index" => dir.sql().execute_batch("DROP TRIGGER history_ai; DROP TABLE history_fts").unwrap(),
                _ => {}
            }
            let file_mode = if form == "writable file" { 0o666 } else { 0o444 };
            fs::set_permissions(dir.path(), Permissions::from_mode(file_mode)).unwrap();
            fs::set_permissions(dir.0.path(), Permissions::from_mode(0o555)).unwrap();
            let before = names(dir.0.path());
            let mut command = processes::part("unprivileged", &dir.path());
            if is_root() {
                command.uid(NOBODY).gid(NOBODY);
            }
            let output = command.output().unwrap();
            assert!(output.status.success(), "{form}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(names(dir.0.path()) == before, "{form}");
            fs::set_permissions(dir.0.path(), Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn a_read_only_file_in_a_writable_directory_can_be_read() {
        if !is_root() {
            eprintln!("skipped: needs root to become another user");
            return;
        }
        let dir = filled();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o444)).unwrap();
        fs::set_permissions(dir.0.path(), Permissions::from_mode(0o755)).unwrap();
        let before = fs::read(dir.path()).unwrap();
        // A directory of its own for the missing file to be refused in: only the database's is another's.
        let mut command = processes::part("unprivileged", &dir.path());
        command.uid(NOBODY).gid(NOBODY);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        chown(dir.0.path(), Some(0), Some(0)).unwrap();
        assert!(fs::read(dir.path()).unwrap() == before);
    }

    /// A small file system of its own, gone with the value.
    struct Mount(Dir);

    impl Mount {
        fn new(options: &str) -> Option<Mount> {
            let dir = Dir::new();
            let mut command = Command::new("mount");
            command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(dir.0.path());
            if is_root() && command.status().is_ok_and(|status| status.success()) {
                return Some(Mount(dir));
            }
            eprintln!("skipped: cannot mount a tmpfs");
            None
        }

        fn remount(&self, options: &str) {
            let mut command = Command::new("mount");
            command.args(["-o", &format!("remount,{options}")]).arg(self.0.0.path());
            assert!(command.status().unwrap().success());
        }

        fn fill(&self) -> PathBuf {
            use std::io::Write;
            let path = self.0.0.path().join("filler");
            let mut file = fs::File::create(&path).unwrap();
            for size in [4096, 1] {
                while file.write_all(&vec![7; size]).is_ok() {}
            }
            path
        }
    }

    impl Drop for Mount {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(self.0.0.path()).status();
        }
    }

    #[test]
    fn a_full_disk_loses_nothing_while_the_process_lives() {
        capture_log();
        let Some(mount) = Mount::new("size=2m") else {
            return;
        };
        let history = mount.0.open();
        add_all(&history, &["before"]);
        let filler = mount.fill();
        for round in 0..2 {
            for n in 0..100 {
                history.add(&format!("prompt {round} {n} {}", "text ".repeat(500)), None).unwrap();
            }
            let error = history.flush().unwrap_err();
            assert!(error.to_string().contains("full"), "{error}");
            assert_eq!(recent(&history), ["before"]);
            assert_eq!(found(&history, "befo"), ["before"]);
        }
        history.close().unwrap_err();
        assert_eq!(logged(&mount.0.path(), "prompts are kept"), 1);
        fs::remove_file(filler).unwrap();
        history.flush().unwrap();
        assert_eq!(recent(&history).len(), 201);
        assert_eq!(found(&history, "prompt text").len(), 200);
        history.close().unwrap();
        assert_sound(&mount.0, "after a full disk");
    }

    #[test]
    fn a_database_on_a_full_disk_opens_for_reading_and_heals() {
        let Some(mount) = Mount::new("size=2m") else {
            return;
        };
        add_all(&mount.0.open(), &["before"]);
        let filler = mount.fill();
        let history = mount.0.open();
        assert_eq!(recent(&history), ["before"]);
        assert_eq!(found(&history, "befo"), ["before"]);
        history.add(&"after ".repeat(10_000), None).unwrap();
        let error = history.flush().unwrap_err();
        assert_eq!(error.code(), "History");
        fs::remove_file(filler).unwrap();
        history.flush().unwrap();
        assert_eq!(recent(&history).len(), 2);
        assert_eq!(found(&history, "after").len(), 1);

        let fresh = mount.0.0.path().join("fresh").join("history.db");
        let _filler = mount.fill();
        let error = HistoryStorage::open(&fresh).unwrap_err();
        assert!(matches!(error.code(), "History" | "Io"), "{error}");
    }

    #[test]
    fn a_read_only_file_system_can_be_read_and_heals() {
        let Some(mount) = Mount::new("size=4m") else {
            return;
        };
        add_all(&mount.0.open(), &["before"]);
        mount.remount("ro");
        let before = names(mount.0.0.path());
        let history = mount.0.open();
        assert_eq!(recent(&history), ["before"]);
        assert_eq!(found(&history, "befo"), ["before"]);
        history.add("after", None).unwrap();
        let error = history.flush().unwrap_err();
        assert_eq!(error.code(), "History");
        assert!(names(mount.0.0.path()) == before);
        mount.remount("rw");
        history.flush().unwrap();
        assert_eq!(recent(&history), ["after", "before"]);
    }
}

#[cfg(unix)]
pub(crate) use unix::as_unprivileged;
