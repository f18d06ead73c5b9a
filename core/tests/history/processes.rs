//! Several processes. The test binary runs itself with one test selected and a variable that gives it its part.

use std::process::{Command, Stdio};

use crate::*;

const PART: &str = "HISTORY_TEST_PART";
const DATABASE: &str = "HISTORY_TEST_DATABASE";

/// A command that runs one part, in this binary.
pub(crate) fn part(name: &str, database: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::child", "--nocapture", "--test-threads=1"]);
    command.env(PART, name).env(DATABASE, database).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Not a test of its own: the body of the other processes.
#[test]
fn child() {
    let (Ok(name), Some(database)) = (std::env::var(PART), std::env::var_os(DATABASE)) else {
        return;
    };
    let database = PathBuf::from(database);
    match name.split_once(' ').unwrap_or((&name, "")) {
        ("add", who) => {
            let history = HistoryStorage::open(&database).unwrap();
            for n in 0..200 {
                history.add(&format!("process {who} prompt {n}"), Some(who)).unwrap();
                if n % 50 == 0 {
                    history.flush().unwrap();
                    history.search("process", 10).unwrap();
                }
            }
            history.close().unwrap();
        }
        ("die", _) => {
            let history = HistoryStorage::open(&database).unwrap();
            for n in 0..1000 {
                history.add(&format!("prompt {n}"), None).unwrap();
            }
            history.flush().unwrap();
            std::process::abort();
        }
        #[cfg(unix)]
        ("modes", _) => {
            let history = HistoryStorage::open(&database).unwrap();
            add_all(&history, &["private"]);
            for suffix in ["", "-wal", "-shm"] {
                assert_eq!(mode(&side(&database, suffix)), 0o600, "{suffix}");
            }
        }
        #[cfg(unix)]
        ("unprivileged", _) => faults::as_unprivileged(&database),
        (other, _) => panic!("no part {other}"),
    }
}

fn expect_success(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn eight_processes_share_a_fresh_database() {
    let dir = Dir::new();
    // The directory is missing too.
    let path = dir.0.path().join("agent").join("history.db");
    let children: Vec<_> = (0..8).map(|n| part(&format!("add {n}"), &path).spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let conn = Connection::open(&path).unwrap();
    assert_eq!(text(&conn, "SELECT count(DISTINCT prompt) FROM history"), "1600");
    assert_eq!(text(&conn, "SELECT count(*) FROM history"), "1600");
    assert_eq!(text(&conn, "PRAGMA integrity_check"), "ok");
    let history = HistoryStorage::open(&path).unwrap();
    for n in 0..8 {
        let mine = history.search(&format!("process prompt {n}99 {n}"), 1000).unwrap();
        assert!(mine.iter().all(|entry| entry.cwd.is_some()));
        let in_order: Vec<String> = conn
            .prepare("SELECT prompt FROM history WHERE cwd = ? ORDER BY id")
            .unwrap()
            .query_map([n.to_string()], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(in_order, (0..200).map(|i| format!("process {n} prompt {i}")).collect::<Vec<_>>());
    }
}

#[test]
fn what_was_flushed_survives_the_death_of_the_process() {
    let dir = Dir::new();
    let output = part("die", &dir.path()).output().unwrap();
    assert!(!output.status.success());
    assert_eq!(recent(&dir.open()).len(), 1000);
}

#[cfg(unix)]
#[test]
fn files_are_private_whatever_the_umask() {
    let dir = Dir::new();
    let path = dir.0.path().join("agent").join("deep").join("history.db");
    let inner = part("modes", &path);
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    command.env(PART, "modes").env(DATABASE, &path);
    expect_success(&mut command);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(path.parent().unwrap().parent().unwrap()), 0o700);
    assert_eq!(mode(&path), 0o600);
}

#[cfg(unix)]
#[test]
fn a_readable_database_of_the_agent_becomes_private() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    let agent = dir.sql();
    agent.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE other(x)").unwrap();
    for suffix in ["", "-wal", "-shm"] {
        std::fs::set_permissions(side(&dir.path(), suffix), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let _history = dir.open();
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(&side(&dir.path(), suffix)), 0o600, "{suffix}");
    }
}
