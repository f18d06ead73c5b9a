//! Files that belong to a session.

use super::{XcshManager, manager};
use crate::error::XcshError;
use crate::input::{handle, items, text};
use crate::options::XcshOptions;
use crate::output::{optional_out, out};
use crate::status::XcshStatus;
use crate::string::XcshString;
use std::ffi::c_char;

/// The directory of the session's artifacts, whether or not it is there; NULL in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_artifacts_dir(
    manager: Option<&XcshManager>,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        let dir = self::manager(manager)?.artifacts_dir();
        path.give_some(dir.map(|dir| XcshString::path(&dir)).transpose()?);
        Ok(())
    })
}

/// An id and a path for a new artifact, in a directory that is there; each is given out once. `artifact_id` and `path` may
/// be NULL; both are set to NULL in memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_allocate_artifact_path(
    manager: Option<&XcshManager>,
    tool_type: *const c_char,
    tool_type_len: usize,
    artifact_id: *mut *mut XcshString,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let (artifact_id, path) = (optional_out(artifact_id), optional_out(path));
        let tool_type = text(tool_type, tool_type_len, "tool_type")?;
        if let Some((id, file)) = self::manager(manager)?.allocate_artifact_path(tool_type)? {
            path.give(XcshString::path(&file)?);
            artifact_id.give(XcshString::new(id));
        }
        Ok(())
    })
}

/// Saves `content_len` bytes as an artifact. `artifact_id` may be NULL; else it is set to the id, or to NULL in memory,
/// where nothing is saved.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_save_artifact(
    manager: Option<&XcshManager>,
    content: *const u8,
    content_len: usize,
    tool_type: *const c_char,
    tool_type_len: usize,
    artifact_id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let artifact_id = optional_out(artifact_id);
        let content = items(content, content_len, "content")?;
        let tool_type = text(tool_type, tool_type_len, "tool_type")?;
        artifact_id.give_some(self::manager(manager)?.save_artifact(content, tool_type)?.map(XcshString::new));
        Ok(())
    })
}

/// The path of an artifact; NULL where there is none with this id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_artifact_path(
    manager: Option<&XcshManager>,
    artifact_id: *const c_char,
    artifact_id_len: usize,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        let artifact_id = text(artifact_id, artifact_id_len, "artifact_id")?;
        let file = self::manager(manager)?.artifact_path(artifact_id)?;
        path.give_some(file.map(|file| XcshString::path(&file)).transpose()?);
        Ok(())
    })
}

/// Stores bytes in the blob store of the manager, durably. `reference` is set to what names them in an entry:
/// "blob:sha256:" and 64 hex digits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_put_blob(
    manager: Option<&XcshManager>,
    content: *const u8,
    content_len: usize,
    reference: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let reference = out(reference, "reference")?;
        let content = items(content, content_len, "content")?;
        reference.give(XcshString::new(self::manager(manager)?.put_blob(content)?.to_string()));
        Ok(())
    })
}

/// Removes a session's file and its artifacts. Errors: XCSH_NOT_FOUND, XCSH_IO.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_delete_session_with_artifacts(
    options: Option<&XcshOptions>,
    path: *const c_char,
    path_len: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = text(path, path_len, "path")?;
        session::delete_session_with_artifacts(&*handle(options, "options")?.get().storage, path)?;
        Ok(())
    })
}
