//! The schema that the library shares with the agent (SPEC section 12), older forms of it, and the health of the
//! full-text index.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::fault::Fault;
use super::query;

const TABLE: &str = "CREATE TABLE history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt TEXT NOT NULL,
    created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)),
    cwd TEXT
)";
const INDEX: &str = "CREATE INDEX IF NOT EXISTS idx_history_created_at ON history(created_at DESC)";
const FTS: &str = "CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id')";
const TRIGGER: &str = "CREATE TRIGGER IF NOT EXISTS history_ai AFTER INSERT ON history BEGIN
    INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);
END";
const REBUILD: &str = "INSERT INTO history_fts(history_fts) VALUES('rebuild')";
/// The tables behind an FTS5 table, as SQLite declares them. Dropping the index needs all of them to be there.
const FTS_TABLES: &str = "
    CREATE TABLE IF NOT EXISTS history_fts_data(id INTEGER PRIMARY KEY, block BLOB);
    CREATE TABLE IF NOT EXISTS history_fts_idx(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS history_fts_docsize(id INTEGER PRIMARY KEY, sz BLOB);
    CREATE TABLE IF NOT EXISTS history_fts_config(k PRIMARY KEY, v) WITHOUT ROWID;
    INSERT OR REPLACE INTO history_fts_config VALUES('version', 4);
    DROP TABLE history_fts;";
/// Takes the index out of the schema without touching its pages, which stay allocated. The schema is read anew by the
/// last line here, and by other connections because what follows changes the schema regularly.
const FORGET_FTS: &str = "
    PRAGMA writable_schema = ON;
    DELETE FROM sqlite_schema WHERE tbl_name IN
        ('history_fts', 'history_fts_data', 'history_fts_idx', 'history_fts_docsize', 'history_fts_config');
    PRAGMA writable_schema = RESET;";
const COLUMNS: [&str; 4] = ["id", "prompt", "created_at", "cwd"];

/// What is there under the names of the schema.
#[derive(Default)]
struct Survey {
    /// The statement that made the table.
    table: Option<String>,
    index: bool,
    /// Whether the name is taken, and if so, whether by a virtual table.
    fts: Option<bool>,
    trigger: bool,
}

impl Survey {
    fn of(conn: &Connection) -> Result<Survey, Fault> {
        let mut survey = Survey::default();
        let mut statement = conn.prepare(
            "SELECT type, name, coalesce(sql, '') FROM sqlite_schema
             WHERE name IN ('history', 'idx_history_created_at', 'history_fts', 'history_ai')",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (kind, name, sql): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            match (name.as_str(), kind.as_str()) {
                ("history", "table") => survey.table = Some(sql),
                ("history", _) => {
                    return Err(Fault::Foreign(format!("`history` is a {kind} here, not a table")));
                }
                ("history_fts", _) => survey.fts = Some(is_virtual(&sql)),
                ("idx_history_created_at", _) => survey.index = true,
                _ => survey.trigger = true,
            }
        }
        if survey.table.is_some() {
            let found = columns(conn)?;
            if let Some(missing) = COLUMNS.iter().find(|name| !found.iter().any(|column| column == *name)) {
                return Err(Fault::Foreign(format!(
                    "the table `history` has no column `{missing}`: this is another program's database; name another path"
                )));
            }
        }
        Ok(survey)
    }

    fn has_old_default(&self) -> bool {
        self.table.as_ref().is_some_and(|sql| sql.to_ascii_lowercase().contains("unixepoch"))
    }

    fn is_complete(&self) -> bool {
        self.table.is_some() && self.index && self.fts == Some(true) && self.trigger && !self.has_old_default()
    }
}

fn is_virtual(sql: &str) -> bool {
    sql.trim_start().to_ascii_uppercase().starts_with("CREATE VIRTUAL")
}

fn columns(conn: &Connection) -> Result<Vec<String>, Fault> {
    let mut statement = conn.prepare("SELECT lower(name) FROM pragma_table_info('history')")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn begin(conn: &Connection) -> Result<Transaction<'_>, Fault> {
    Ok(Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?)
}

/// Refuses a database in which `history` is something else. Changes nothing.
pub(super) fn recognise(conn: &Connection) -> Result<(), Fault> {
    Survey::of(conn).map(|_| ())
}

/// Makes the schema whole. Answers whether the full-text index can be searched.
pub(super) fn ensure(conn: &Connection) -> Result<bool, Fault> {
    if !Survey::of(conn)?.is_complete() {
        complete(conn)?;
    }
    if Survey::of(conn)?.fts != Some(true) {
        return Ok(false);
    }
    match probe(conn)? {
        None => Ok(true),
        Some(damage) => {
            log::warn!("prompt history: rebuilding the full-text index: {damage}");
            repair(conn)
        }
    }
}

/// Answers whether the full-text index of a database that cannot be changed can be searched.
pub(super) fn inspect(conn: &Connection) -> Result<bool, Fault> {
    let survey = Survey::of(conn)?;
    if survey.table.is_none() {
        return Err(Fault::Foreign("there is no table `history` in this database".into()));
    }
    Ok(survey.fts == Some(true) && probe(conn)?.is_none())
}

/// One transaction, which looks again: of several processes that found the schema incomplete, one completes it.
fn complete(conn: &Connection) -> Result<(), Fault> {
    let tx = begin(conn)?;
    let survey = Survey::of(&tx)?;
    match &survey.table {
        None => tx.execute_batch(TABLE)?,
        // More columns than ours would be lost by the rebuild; the old default works in this SQLite.
        Some(_) if survey.has_old_default() && columns(&tx)?.len() == COLUMNS.len() => replace_table(&tx)?,
        Some(_) => {}
    }
    tx.execute_batch(INDEX)?;
    if survey.fts.is_none() {
        tx.execute_batch(FTS)?;
        tx.execute_batch(REBUILD)?;
    }
    // A plain table of this name is somebody's data. It stays, and prompts are not copied into it.
    if survey.fts != Some(false) {
        tx.execute_batch(TRIGGER)?;
    }
    tx.commit()?;
    Ok(())
}

/// Copies the table into one with today's default: ids stay, and an id that was ever given is not given again.
fn replace_table(tx: &Transaction<'_>) -> Result<(), Fault> {
    let last_id: Option<i64> = tx
        .query_row("SELECT max(seq) FROM sqlite_sequence WHERE name = 'history'", [], |row| row.get(0))
        .or_else(|error| match error.sqlite_error_code() {
            // Without AUTOINCREMENT there is no such table.
            Some(rusqlite::ErrorCode::Unknown) => Ok(None),
            _ => Err(error),
        })?;
    tx.execute_batch(
        "DROP TRIGGER IF EXISTS history_ai;
         DROP INDEX IF EXISTS idx_history_created_at;
         ALTER TABLE history RENAME TO history_before_rebuild;",
    )?;
    tx.execute_batch(TABLE)?;
    tx.execute_batch(
        "INSERT INTO history(id, prompt, created_at, cwd)
             SELECT id, prompt, created_at, cwd FROM history_before_rebuild ORDER BY id;
         DROP TABLE history_before_rebuild;",
    )?;
    if let Some(last_id) = last_id {
        let changed = tx.execute("UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'history'", [last_id])?;
        if changed == 0 {
            tx.execute("INSERT INTO sqlite_sequence(name, seq) VALUES ('history', ?1)", [last_id])?;
        }
    }
    Ok(())
}

/// Looks for what makes searches fail or miss prompts: answers the damage, or `None`.
///
/// Two checks. The index must cover the rows of the table (rows that were added while there was no trigger are not
/// in it), and the search statement itself must find the newest prompt by a word of its own.
pub(super) fn probe(conn: &Connection) -> Result<Option<String>, Fault> {
    match try_probe(conn) {
        Err(fault) if fault.is_damage() => Ok(Some(fault.reason())),
        outcome => outcome,
    }
}

fn try_probe(conn: &Connection) -> Result<Option<String>, Fault> {
    // One snapshot for all statements, also where the caller has no transaction.
    let _snapshot = if conn.is_autocommit() { Some(conn.unchecked_transaction()?) } else { None };
    let ids = |table: &str| {
        conn.query_row(&format!("SELECT count(*), coalesce(max(id), 0), total(id) FROM {table}"), [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, f64>(2)?))
        })
    };
    let (rows, indexed) = (ids("history")?, ids("history_fts_docsize")?);
    if rows != indexed {
        return Ok(Some(format!("it covers {} of {} prompts", indexed.0, rows.0)));
    }
    let newest = conn
        .query_row("SELECT id, CAST(prompt AS BLOB) FROM history ORDER BY id DESC LIMIT 1", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
        })
        .optional()?;
    let (id, prompt) = newest.unwrap_or_default();
    let prompt = String::from_utf8_lossy(&prompt);
    // The longest word is the one that the fewest prompts share.
    let word = prompt
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| (3..64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .max_by_key(|word| word.len());
    let found = query::finds(conn, word.unwrap_or("probe"), id)?;
    Ok((word.is_some() && !found).then(|| format!("prompt {id} is not found by its own words")))
}

/// Builds the full-text index anew from the table; where its own tables are beyond that, drops and creates it, and where
/// their pages are beyond that too, leaves the pages behind. Answers whether the index can be searched now.
pub(super) fn repair(conn: &Connection) -> Result<bool, Fault> {
    let ways: [&[&str]; 3] = [&[REBUILD], &[FTS_TABLES, FTS, REBUILD], &[FORGET_FTS, FTS, REBUILD]];
    for statements in ways {
        let tx = begin(conn)?;
        let outcome =
            statements.iter().try_for_each(|sql| tx.execute_batch(sql)).map_err(Fault::from).and_then(|()| probe(&tx));
        // A way that failed half way may have left the schema open to writing.
        conn.execute_batch("PRAGMA writable_schema = OFF")?;
        match outcome {
            Ok(None) => {
                tx.commit()?;
                return Ok(true);
            }
            Ok(Some(damage)) => log::debug!("prompt history: index still damaged: {damage}"),
            Err(fault) if fault.is_damage() => log::debug!("prompt history: {}", fault.reason()),
            Err(fault) => return Err(fault),
        }
    }
    log::warn!("prompt history: the full-text index cannot be rebuilt; searches scan the table");
    Ok(false)
}
