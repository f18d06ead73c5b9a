//! Files that belong to a session: tool outputs beside it, blobs, and its end.

use super::SessionManager;
use crate::artifacts;
use crate::blob::BlobRef;
use crate::error::{Error, Result};
use crate::storage::SessionStorage;
use std::path::{Path, PathBuf};

impl SessionManager {
    /// The directory of the session's artifacts, whether or not it is there; `None` in memory.
    pub fn artifacts_dir(&self) -> Option<PathBuf> {
        self.session_file().map(|file| artifacts::artifacts_dir(&file))
    }

    /// An id and a path for a new artifact, in a directory that is there: `<n>.<toolType>.log`. Ids count up from the
    /// largest there and are given out once. `None` in memory.
    pub fn allocate_artifact_path(&self, tool_type: &str) -> Result<Option<(String, PathBuf)>> {
        let Some(dir) = self.artifacts_dir() else { return Ok(None) };
        self.options.storage.ensure_dir(&dir).map_err(Error::io_at("create", &dir))?;
        let names = self.artifact_names(&dir)?;
        let mut inner = self.lock();
        let id = artifacts::next_id(names.iter().map(String::as_str)).max(inner.next_artifact);
        inner.next_artifact = id + 1;
        Ok(Some((id.to_string(), dir.join(artifacts::file_name(id, tool_type)))))
    }

    /// Saves an artifact and returns its id; `None` in memory.
    pub fn save_artifact(&self, content: &[u8], tool_type: &str) -> Result<Option<String>> {
        let Some((id, path)) = self.allocate_artifact_path(tool_type)? else { return Ok(None) };
        self.options.storage.write_text(&path, content, false).map_err(Error::io_at("write", &path))?;
        Ok(Some(id))
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
