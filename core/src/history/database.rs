//! One connection: opening it in the strongest mode that the file system grants, and knowing when it no longer
//! belongs to the file at its path.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use super::{query, schema};

/// How long SQLite waits for a lock inside one statement (SPEC section 12).
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long opening is tried again where SQLite answers "busy" without waiting, as it does for a change of the
/// journal mode.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two tries of opening.
const OPEN_PAUSE: Duration = Duration::from_millis(10);
/// Every database of more than no bytes begins with a header of this length.
const HEADER_LEN: usize = 100;

/// Which file a connection has open, as opposed to which file its path names now. `None` where the platform
/// does not tell.
type FileId = Option<(u64, u64)>;

/// A connection to the history and what it may rely on.
pub(super) struct Database {
    /// The connection, with [`query::MATCH_FUNCTION`] registered.
    pub(super) conn: Connection,
    /// Whether the full-text index can be searched; if not, searches scan the table.
    pub(super) indexed: bool,
    /// Opened as immutable: SQLite takes no locks and notices no change, so it must serve one query only.
    pub(super) single_use: bool,
    path: PathBuf,
    file: FileId,
}

impl Database {
    /// Opens for reading and writing; makes directory, file and schema where they are missing, brings older schemas
    /// up and repairs the full-text index.
    pub(super) fn open_writable(path: &Path) -> Result<Database, Fault> {
        let deadline = Instant::now() + OPEN_PATIENCE;
        loop {
            match Self::try_open_writable(path) {
                Err(fault) if fault.is_contention() && Instant::now() < deadline => thread::sleep(OPEN_PAUSE),
                outcome => return outcome,
            }
        }
    }

    fn try_open_writable(path: &Path) -> Result<Database, Fault> {
        create_private(path)?;
        let file = file_id(path);
        let conn = match connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
            Err(fault) if fault.is_wal_refusal() && header_says_wal(path) => leave_wal(path, fault)?,
            Err(fault) => return Err(fault),
            Ok(conn) => {
                // Before the first change: another program's database keeps its journal mode, too.
                schema::recognise(&conn)?;
                enter_wal(path, conn)?
            }
        };
        conn.pragma_update(None, "synchronous", "NORMAL")?;
        let indexed = schema::ensure(&conn)?;
        make_private(path);
        Ok(Database { conn, indexed, single_use: false, path: path.into(), file })
    }

    /// Opens for queries; never creates anything. Falls back to read-only access, and where a read-only directory
    /// has no room for the shared memory of a write-ahead log, to immutable access.
    pub(super) fn open_for_queries(path: &Path) -> Result<Database, Fault> {
        let file = file_id(path);
        let first = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .or_else(|_| connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY));
        let (conn, single_use) = match first {
            Ok(conn) => (conn, false),
            // An immutable connection does not look at the log, so it is right only where there is none.
            Err(fault) if fault.is_wal_refusal() && !has_log(path) => (connect_immutable(path)?, true),
            Err(fault) => return Err(fault),
        };
        let indexed = schema::inspect(&conn)?;
        Ok(Database { conn, indexed, single_use, path: path.into(), file })
    }

    /// Whether the path still names the file that this connection has open. Closing one that is not current is safe:
    /// SQLite then leaves the log at the path alone, which belongs to another file.
    pub(super) fn is_current(&self) -> bool {
        self.file == file_id(&self.path)
    }
}

/// Opens and reads once, so that a file that is no database, and a log that cannot be opened, show here.
fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Fault> {
    prepare(Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?)
}

fn connect_immutable(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(byte.into()),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    prepare(Connection::open_with_flags(uri, flags)?)
}

fn prepare(conn: Connection) -> Result<Connection, Fault> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    first_read(&conn)?;
    query::register(&conn)?;
    Ok(conn)
}

fn first_read(conn: &Connection) -> Result<i64, Fault> {
    Ok(conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?)
}

/// Brings the database into WAL mode, or leaves it with a rollback journal where WAL is refused.
fn enter_wal(path: &Path, conn: Connection) -> Result<Connection, Fault> {
    if conn.is_readonly("main")? {
        return Err(Fault::ReadOnly);
    }
    let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode.eq_ignore_ascii_case("wal") {
        return Ok(conn);
    }
    match conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)).map_err(Fault::from) {
        Ok(_) => {}
        Err(fault) if fault.is_contention() => return Err(fault),
        Err(fault) => log::debug!("prompt history {}: no WAL: {}", path.display(), fault.reason()),
    }
    // The pragma only marks the file; its log and shared memory are opened by the next transaction. A write lock
    // needs more of them than a read.
    match conn.execute_batch("BEGIN IMMEDIATE; COMMIT").map_err(Fault::from) {
        Ok(()) => Ok(conn),
        Err(fault) if fault.is_wal_refusal() && header_says_wal(path) => {
            drop(conn);
            leave_wal(path, fault)
        }
        Err(fault) => Err(fault),
    }
}

/// Takes a database out of WAL mode where a log cannot be shared. With exclusive locking SQLite keeps the log's index on
/// the heap, which is the one way to read such a file at all.
fn leave_wal(path: &Path, cause: Fault) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let alone = Connection::open_with_flags(path, flags)?;
    alone.busy_timeout(BUSY_TIMEOUT)?;
    alone.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
    let mode = alone.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0));
    drop(alone);
    match mode.map_err(Fault::from) {
        Ok(mode) if mode.eq_ignore_ascii_case("delete") => {
            log::info!("prompt history {}: WAL is refused here, using a rollback journal", path.display());
            connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        }
        Err(fault) if fault.is_contention() => Err(fault),
        _ => Err(cause),
    }
}

/// Bytes 18 and 19 of the header are 2 in WAL mode (SQLite file format, section 1.3.2).
fn header_says_wal(path: &Path) -> bool {
    let mut header = [0; 20];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok() && header[18..] == [2, 2]
}

fn side_file(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn has_log(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.into());
    ["-wal", "-journal"].iter().any(|suffix| fs::metadata(side_file(&real, suffix)).is_ok_and(|meta| meta.len() > 0))
}

/// Creates the directory (0700) and an empty file (0600) where they are missing. SQLite gives its side files the mode of
/// the database, whatever the umask.
fn create_private(path: &Path) -> Result<(), Fault> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => return refuse_other_content(path, meta.len()),
        Ok(_) => {
            return Err(Fault::Foreign("not a regular file; name another path".into()));
        }
        Err(_) => {}
    }
    if let Some(dir) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(dir).map_err(Fault::io("create the directory of"))?;
    }
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(Fault::io("create"))?;
    Ok(())
}

/// SQLite takes a file of a few bytes for an empty database and would write over it. A file that its journal will
/// restore can begin with anything.
fn refuse_other_content(path: &Path, len: u64) -> Result<(), Fault> {
    if len == 0 || has_log(path) {
        return Ok(());
    }
    let mut header = [0; HEADER_LEN];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut header));
    match read {
        Ok(()) if header.starts_with(b"SQLite format 3\0") => Ok(()),
        Ok(()) => Err(Fault::not_a_database()),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(Fault::not_a_database()),
        Err(error) => Err(Fault::io("read")(error)),
    }
}

/// Takes the access of others away from a database that another program made. Best effort: the file may belong to
/// another user who shares it on purpose.
fn make_private(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let real = path.canonicalize().unwrap_or_else(|_| path.into());
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let file = side_file(&real, suffix);
            if fs::metadata(&file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o077 != 0)
                && let Err(error) = fs::set_permissions(&file, fs::Permissions::from_mode(0o600))
            {
                log::debug!("cannot make {} private: {error}", file.display());
            }
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[cfg(unix)]
fn file_id(path: &Path) -> FileId {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn file_id(_: &Path) -> FileId {
    None
}
