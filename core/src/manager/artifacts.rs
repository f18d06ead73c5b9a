//! Files that belong to a session: tool outputs beside it, blobs, and its end.

use super::SessionManager;
use crate::artifacts;
use crate::blob::BlobRef;
use crate::error::{Error, Result};
use crate::storage::SessionStorage;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

impl SessionManager {
    /// The directory of the session's artifacts, whether or not it is there; `None` in memory.
    pub fn artifacts_dir(&self) -> Option<PathBuf> {
        self.session_file().map(|file| artifacts::artifacts_dir(&file))
    }

    /// An id and a path for a new artifact: `<n>.<toolType>.log`, an empty file that is the caller's to fill. Ids count
    /// up from the largest there, and no other manager is given the same path. `None` in memory.
    pub fn allocate_artifact_path(&self, tool_type: &str) -> Result<Option<(String, PathBuf)>> {
        self.make_artifact(b"", tool_type)
    }

    /// Saves an artifact and returns its id; `None` in memory.
    pub fn save_artifact(&self, content: &[u8], tool_type: &str) -> Result<Option<String>> {
        Ok(self.make_artifact(content, tool_type)?.map(|(id, _)| id))
    }

    /// Makes the file of a new artifact, under an id that no other manager has given out.
    fn make_artifact(&self, content: &[u8], tool_type: &str) -> Result<Option<(String, PathBuf)>> {
        let storage = &self.options.storage;
        let Some(dir) = self.artifacts_dir() else { return Ok(None) };
        self.check_writable(&self.lock())?;
        storage.ensure_dir(&dir).map_err(Error::io_at("create", &dir))?;
        loop {
            let names = self.artifact_names(&dir)?;
            let id = {
                let mut inner = self.lock();
                let id = artifacts::next_id(names.iter().map(String::as_str)).max(inner.next_artifact);
                inner.next_artifact = id + 1;
                id
            };
            let path = dir.join(artifacts::file_name(id, tool_type));
            let mut writer = storage.open_writer(&path).map_err(Error::io_at("create", &path))?;
            let made = match writer.begin(Duration::ZERO) {
                Ok(None) => writer.create(content).map(drop),
                Ok(Some(_)) => Err(ErrorKind::AlreadyExists.into()),
                Err(error) => Err(error),
            };
            match made {
                Ok(()) => return Ok(Some((id.to_string(), path))),
                // Another manager was faster, or is filling the file.
                Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::TimedOut) => {}
                Err(error) => return Err(Error::io_at("create", &path)(error)),
            }
        }
    }

    /// The path of an artifact that is there.
    pub fn artifact_path(&self, id: &str) -> Result<Option<PathBuf>> {
        let Some(dir) = self.artifacts_dir() else { return Ok(None) };
        let names = self.artifact_names(&dir)?;
        Ok(artifacts::find(names.iter().map(String::as_str), id).map(|name| dir.join(name)))
    }

    fn artifact_names(&self, dir: &Path) -> Result<Vec<String>> {
        let files = self.options.storage.list_files(dir).map_err(Error::io_at("list", dir))?;
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(files.iter().filter_map(|file| name(&file.path)).collect())
    }

    /// Stores bytes in the blob store, durably.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<BlobRef> {
        if self.options.read_only {
            return Err(Error::ReadOnly { path: self.blobs.dir().to_owned() });
        }
        self.blobs.put(bytes)
    }
}

/// Removes a session's file and its artifacts, durably. A missing file is `NotFound`; artifacts that cannot be removed
/// are an error although the file is gone.
pub fn delete_session_with_artifacts(storage: &dyn SessionStorage, file: impl AsRef<Path>) -> Result<()> {
    let file = file.as_ref();
    storage.unlink(file).map_err(Error::io_at("remove", file))?;
    let dir = artifacts::artifacts_dir(file);
    storage.remove_dir_all(&dir).map_err(|source| Error::Io {
        op: "remove the artifacts (the session file is deleted) in",
        path: dir.clone(),
        source,
    })?;
    let names = dir.parent().unwrap_or(Path::new("."));
    storage.sync_dir(names).map_err(|source| Error::Io {
        op: "make durable that the session is deleted in",
        path: names.to_owned(),
        source,
    })
}
