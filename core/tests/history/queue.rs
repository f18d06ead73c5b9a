//! Adding: what is kept, what is dropped, and what becomes of prompts that cannot be written at once.

use std::fs;

use xcsh_session::Error;
use xcsh_session::history::MAX_QUEUED_BYTES;

use crate::*;

fn assert_shareable<T: Send + Sync>(_: &T) {}

#[test]
fn prompts_are_trimmed_and_empty_ones_ignored() {
    let dir = Dir::new();
    let history = dir.open();
    assert_shareable(&history);
    history.add("  two\nlines \u{feff}\n", Some("/w d")).unwrap();
    add_all(&history, &["", " \t\r\n", "\u{feff}", "\u{3000}x"]);
    let entries = history.get_recent(10).unwrap();
    assert_eq!(recent(&history), ["x", "two\nlines"]);
    assert_eq!((entries[1].id, entries[1].cwd.as_deref()), (1, Some("/w d")));
    assert_eq!(entries[0].cwd, None);
}

#[test]
fn only_consecutive_duplicates_are_dropped() {
    let dir = Dir::new();
    let history = dir.open();
    add_all(&history, &["a", "a", " a ", "b", "a"]);
    add_all(&history, &["a"]);
    assert_eq!(recent(&history), ["a", "b", "a"]);
    drop(history);
    let history = dir.open();
    let other = dir.open();
    add_all(&history, &["a", "c"]);
    add_all(&other, &["c", "d"]);
    add_all(&history, &["c", "A"]);
    assert_eq!(recent(&other), ["A", "c", "d", "c", "a", "b", "a"]);
}

#[test]
fn dropping_and_closing_write_what_is_queued() {
    let dir = Dir::new();
    for round in 0..20 {
        let history = dir.open();
        for n in 0..50 {
            history.add(&format!("{round} {n}"), None).unwrap();
        }
        if round % 2 == 0 {
            history.close().unwrap();
        }
        drop(history);
        assert_eq!(dir.sql().query_row("SELECT count(*) FROM history", [], |row| row.get(0)), Ok(50 * (round + 1)));
    }
    assert!(!side(&dir.path(), "-wal").exists(), "the last connection has put the log away");
}

#[test]
fn threads_share_one_handle() {
    let dir = Dir::new();
    let history = dir.open();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let history = &history;
            scope.spawn(move || {
                for n in 0..100 {
                    history.add(&format!("{thread} {n}"), None).unwrap();
                    if n % 20 == 0 {
                        history.flush().unwrap();
                        assert_eq!(found(history, &format!("{thread} {n}")).len().min(1), 1);
                    }
                }
            });
        }
    });
    history.flush().unwrap();
    let all = recent(&history);
    assert_eq!(all.len(), 800);
    for thread in 0..8 {
        let mine: Vec<_> =
            all.iter().rev().filter(|prompt| prompt.starts_with(&format!("{thread} "))).cloned().collect();
        assert_eq!(mine, (0..100).map(|n| format!("{thread} {n}")).collect::<Vec<_>>());
    }
}

#[test]
fn a_reader_sees_a_consistent_list_during_a_write_transaction() {
    let dir = Dir::new();
    let history = dir.open();
    add_all(&history, &["before"]);
    let mut writer = dir.sql();
    let tx = writer.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    for n in 0..1000 {
        tx.execute(AGENT_INSERT, rusqlite::params![format!("during {n}"), None::<String>]).unwrap();
        if n % 250 == 0 {
            assert_eq!(recent(&history), ["before"]);
            assert_eq!(found(&history, "during"), [""; 0]);
        }
    }
    tx.commit().unwrap();
    assert_eq!(recent(&history).len(), 1000);
    assert_eq!(found(&history, "during").len(), 1000);
}

#[test]
fn prompts_wait_for_a_lock_and_are_bounded() {
    capture_log();
    let dir = Dir::new();
    let history = dir.open();
    add_all(&history, &["before"]);
    let lock = dir.sql();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    // All of this returns although the database is locked.
    history.add("while locked", Some("/w")).unwrap();
    let huge = "h".repeat(1 << 20);
    let mut accepted = 2;
    let refused = loop {
        match history.add(&format!("{accepted} {huge}"), None) {
            Ok(()) => accepted += 1,
            Err(error) => break error,
        }
        assert!(accepted <= (MAX_QUEUED_BYTES >> 20) + 2, "no bound");
    };
    assert!(accepted > MAX_QUEUED_BYTES >> 21);
    assert!(matches!(&refused, Error::History { reason, .. } if reason.contains("was not kept")), "{refused}");
    let error = history.flush().unwrap_err();
    assert!(error.to_string().contains("kept and tried again") && error.to_string().contains("lock"), "{error}");
    assert_eq!(logged(&dir.path(), "prompts are kept"), 1);
    assert_eq!(recent(&history), ["before"]);
    // Closing fails likewise, and leaves the handle open.
    history.close().unwrap_err();
    assert_eq!(logged(&dir.path(), "prompts are kept"), 1, "logged once");
    assert_eq!(recent(&history), ["before"]);

    lock.execute_batch("COMMIT").unwrap();
    history.flush().unwrap();
    assert_eq!(recent(&history).len(), accepted);
    history.add("room again", None).unwrap();
    history.close().unwrap();
    assert_eq!(dir.open().get_recent(1).unwrap()[0].prompt, "room again");
}

#[test]
fn a_prompt_beyond_the_bound_is_refused_and_hurts_no_other() {
    let dir = Dir::new();
    let history = dir.open();
    history.add("small", None).unwrap();
    let error = history.add(&"x".repeat(MAX_QUEUED_BYTES), None).unwrap_err();
    assert_eq!(error.code(), "History");
    history.add("small too", None).unwrap();
    history.close().unwrap();
    assert_eq!(recent(&dir.open()), ["small too", "small"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_was_removed_or_replaced_is_not_written_to() {
    let dir = Dir::new();
    let history = dir.open();
    add_all(&history, &["in the first file"]);
    assert_eq!(recent(&history).len(), 1);
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(side(&dir.path(), suffix)).unwrap();
    }
    assert_eq!(recent(&history), [""; 0]);
    add_all(&history, &["in the second file"]);
    assert_eq!(recent(&history), ["in the second file"]);

    // Another history, open in another handle, with its newest prompts in its log.
    let elsewhere = Dir::new();
    let other = elsewhere.open();
    add_all(&other, &["of the other"]);
    for suffix in ["", "-wal", "-shm"] {
        fs::rename(side(&elsewhere.path(), suffix), side(&dir.path(), suffix)).unwrap();
    }
    add_all(&history, &["added after"]);
    assert_eq!(recent(&history), ["added after", "of the other"]);
    drop(history);
    assert_eq!(recent(&dir.open()), ["added after", "of the other"]);
}
