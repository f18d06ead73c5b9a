//! The generated files, and a place for what steps write.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use tempfile::TempDir;
use xcsh_session::ManagerOptions;
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::FileSessionStorage;

pub(crate) struct Data {
    dir: PathBuf,
    /// On the file system of the data; gone with the last step that uses it.
    pub(crate) scratch: Rc<TempDir>,
}

impl Data {
    pub(crate) fn new(dir: &str) -> Data {
        let scratch = tempfile::Builder::new().prefix("scratch-").tempdir_in(dir).expect("DATA can be written to");
        Data { dir: PathBuf::from(dir), scratch: Rc::new(scratch) }
    }

    pub(crate) fn session(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.jsonl"))
    }

    /// The directory of so many session files.
    pub(crate) fn sessions(&self, count: &str) -> PathBuf {
        self.dir.join(if count == "10000" { "many" } else { "files" })
    }

    /// What the step needs and was not generated.
    pub(crate) fn missing(&self, step: &str) -> Option<String> {
        let name = match step.rsplit('-').next()? {
            size @ ("400k" | "1m") => format!("{size}.jsonl"),
            "10000" => "many".to_owned(),
            _ => return None,
        };
        (!self.dir.join(&name).exists()).then_some(name)
    }
}

/// An agent's directories below this one.
pub(crate) fn options(dir: &Path) -> ManagerOptions {
    ManagerOptions::at(AgentDirs::at(dir), Arc::new(FileSessionStorage::new()))
}
