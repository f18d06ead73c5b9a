//! A child process that appends until it is killed, and says which entries were acknowledged.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::FileSessionStorage;
use xcsh_session::{ManagerOptions, SessionManager};

const ASKED: &str = "XCSH_SESSION_TOUR_APPEND_TO";
const ENOUGH: usize = 500;

/// The session file to append to, if this process is the child.
pub(crate) fn asked_for() -> Option<PathBuf> {
    std::env::var_os(ASKED).map(PathBuf::from)
}

/// What the child does: it never ends by itself.
pub(crate) fn append_until_killed(file: &Path) -> Result<(), Box<dyn Error>> {
    let dir = file.parent().ok_or("the file is in a directory")?;
    let options = ManagerOptions::at(AgentDirs::at(dir), Arc::new(FileSessionStorage::new()));
    let session = SessionManager::open(file, options)?;
    let mut out = std::io::stdout();
    loop {
        let message = format!(r#"{{"role":"user","content":"{}","timestamp":7}}"#, "busy ".repeat(50));
        let id = session.append_message(&message)?;
        writeln!(out, "{id}")?;
    }
}

/// Kills a child in the middle of its appends; returns the ids it had acknowledged by then.
pub(crate) fn kill_a_writer(file: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?).env(ASKED, file).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("a pipe was asked for")?).lines();
    let mut acknowledged = Vec::new();
    while acknowledged.len() < ENOUGH {
        acknowledged.push(lines.next().ok_or("the child ended by itself")??);
    }
    child.kill()?;
    child.wait()?;
    // What it said before the kill is still in the pipe; a last line may be cut off.
    let whole = acknowledged.first().map_or(0, String::len);
    acknowledged.extend(lines.map_while(Result::ok).filter(|id| id.len() == whole));
    Ok(acknowledged)
}
