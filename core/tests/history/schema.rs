//! The schema, and databases that other versions of the agent made.

use rusqlite::{Connection, params};

use crate::*;

const STRFTIME: &str = "(CAST(strftime('%s','now') AS INTEGER))";
const UNIXEPOCH: &str = "(unixepoch())";
const FTS: &str = "CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id')";
const TRIGGER: &str = "CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN
    INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt); END";

fn table(default: &str) -> String {
    format!(
        "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL,
         created_at INTEGER NOT NULL DEFAULT {default}, cwd TEXT)"
    )
}

/// Without white space, so that layout does not matter.
fn squeeze(sql: &str) -> String {
    sql.split_whitespace().collect()
}

fn assert_schema(conn: &Connection) {
    let sql = |name: &str| squeeze(&text(conn, &format!("SELECT sql FROM sqlite_schema WHERE name = '{name}'")));
    assert_eq!(sql("history"), squeeze(&table(STRFTIME)));
    assert_eq!(
        sql("idx_history_created_at"),
        squeeze("CREATE INDEX idx_history_created_at ON history(created_at DESC)")
    );
    assert_eq!(sql("history_fts"), squeeze(FTS));
    assert_eq!(sql("history_ai"), squeeze(TRIGGER));
    assert_eq!(text(conn, "PRAGMA integrity_check"), "ok");
    conn.execute("INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1)", []).unwrap();
}

fn agent_rows(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> Vec<(i64, String, i64, Option<String>)> {
    conn.prepare(sql)
        .unwrap()
        .query_map(params, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn a_fresh_database_has_the_schema_of_the_document() {
    let dir = Dir::new();
    let history = dir.open();
    add_all(&history, &["one"]);
    let conn = dir.sql();
    assert_schema(&conn);
    assert_eq!(text(&conn, "PRAGMA journal_mode"), "wal");
    let sql =
        "SELECT typeof(created_at) = 'integer' AND abs(created_at - CAST(strftime('%s') AS INTEGER)) < 60 FROM history";
    assert_eq!(text(&conn, sql), "1");
}

#[test]
fn opening_an_up_to_date_database_writes_nothing() {
    let dir = Dir::new();
    drop(dir.open());
    let before = std::fs::read(dir.path()).unwrap();
    drop(dir.open());
    assert!(std::fs::read(dir.path()).unwrap() == before);
}

#[cfg(unix)]
#[test]
fn an_entry_of_another_type_is_shown_as_text() {
    let dir = Dir::new();
    drop(dir.open());
    dir.sql()
        .execute_batch(
            "INSERT INTO history(prompt, created_at, cwd) VALUES (x'ff6f6464', 1, NULL), (CAST(x'c328' AS TEXT), 'x', 7)",
        )
        .unwrap();
    let entries = dir.open().get_recent(10).unwrap();
    let prompts: Vec<_> = entries.iter().map(|entry| entry.prompt.as_str()).collect();
    assert_eq!(prompts, ["\u{fffd}(", "\u{fffd}odd"]);
    assert_eq!(entries[0].cwd.as_deref(), Some("7"));
    assert_eq!(found(&dir.open(), "\u{fffd}od"), ["\u{fffd}odd"]);
}

#[test]
fn databases_of_the_agent_open_in_all_their_forms() {
    // What the FTS side looks like: absent, without trigger and rows, complete, behind by the rows after the trigger went.
    for form in ["absent", "no trigger", "complete", "behind", "no index"] {
        for default in [STRFTIME, UNIXEPOCH] {
            let context = format!("{form} {default}");
            let dir = Dir::new();
            let conn = dir.sql();
            conn.execute_batch(&table(default)).unwrap();
            if form != "no index" {
                conn.execute_batch("CREATE INDEX idx_history_created_at ON history(created_at DESC)").unwrap();
            }
            if form != "absent" {
                conn.execute_batch(FTS).unwrap();
            }
            if form == "complete" || form == "behind" || form == "no index" {
                conn.execute_batch(TRIGGER).unwrap();
            }
            for (id, prompt, at, cwd) in
                [(3, "oldest deploy", 50, Some("/srv")), (4, "newest build", 900, None), (9, "middle deploy", 70, None)]
            {
                conn.execute("INSERT INTO history VALUES (?,?,?,?)", params![id, prompt, at, cwd]).unwrap();
            }
            if form == "behind" {
                conn.execute_batch("DROP TRIGGER history_ai").unwrap();
            }
            conn.execute(AGENT_INSERT, params!["added by default", "/home"]).unwrap();
            if form == "behind" {
                conn.execute_batch(TRIGGER).unwrap();
            }
            // The id 11 was given once: AUTOINCREMENT must not give it again.
            conn.execute_batch("INSERT INTO history(prompt) VALUES ('gone'); DELETE FROM history WHERE id = 11")
                .unwrap();
            let before = agent_rows(&conn, AGENT_RECENT, [100]);
            assert_eq!(before.len(), 4, "{context}");
            drop(conn);

            let history = dir.open();
            let rows: Vec<_> = history
                .get_recent(100)
                .unwrap()
                .into_iter()
                .map(|entry| (entry.id, entry.prompt, entry.created_at, entry.cwd))
                .collect();
            assert_eq!(rows, before, "{context}");
            assert_eq!(found(&history, "DEPL"), ["middle deploy", "oldest deploy"], "{context}");
            assert_eq!(found(&history, "default"), ["added by default"], "{context}");

            let conn = dir.sql();
            assert_schema(&conn);
            conn.execute(AGENT_INSERT, params!["deploy again", None::<String>]).unwrap();
            assert_eq!(conn.last_insert_rowid(), 12, "{context}");
            assert_eq!(agent_rows(&conn, AGENT_RECENT, [1])[0].1, "deploy again", "{context}");
            let ids: Vec<_> =
                agent_rows(&conn, AGENT_SEARCH, params!["\"depl\"*", 10]).iter().map(|row| row.0).collect();
            assert_eq!(ids, [12, 9, 3], "{context}");
            assert_eq!(found(&history, "deploy").len(), 3, "{context}");
        }
    }
}

#[test]
fn an_old_table_with_more_columns_keeps_them() {
    let dir = Dir::new();
    let conn = dir.sql();
    let sql = table(UNIXEPOCH).replace("cwd TEXT", "cwd TEXT, model TEXT");
    conn.execute_batch(&sql).unwrap();
    conn.execute_batch("INSERT INTO history(prompt, model) VALUES ('with model', 'm1')").unwrap();
    let history = dir.open();
    add_all(&history, &["later"]);
    assert_eq!(recent(&history), ["later", "with model"]);
    assert_eq!(found(&history, "model"), ["with model"]);
    assert_eq!(text(&conn, "SELECT model FROM history WHERE prompt = 'with model'"), "m1");
}

#[test]
fn the_agent_and_the_library_share_an_open_database() {
    let dir = Dir::new();
    let history = dir.open();
    let agent = dir.sql();
    add_all(&history, &["from the library"]);
    agent.execute(AGENT_INSERT, params!["from the agent", "/a"]).unwrap();
    // Equal to what the agent wrote last, which this handle has not seen.
    add_all(&history, &["from the agent", "from the library"]);
    assert_eq!(recent(&history), ["from the library", "from the agent", "from the library"]);
    let ids: Vec<_> = agent_rows(&agent, AGENT_SEARCH, params!["\"library\"*", 10]).iter().map(|row| row.0).collect();
    assert_eq!(ids, [3, 1]);
}
