//! The session files of directories: found and put in order.

use std::cmp::Ordering;
use std::path::Path;

use super::Unreadable;
use crate::dirs::is_session_file_name;
use crate::storage::{DirItemKind, FileInfo, SessionStorage};
use crate::{Error, Result};

/// The session files of a directory, in no particular order. Names of session files that cannot be looked at go to
/// the report. Error: the directory cannot be listed.
pub(super) fn session_files(
    storage: &dyn SessionStorage,
    dir: &Path,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Vec<FileInfo>> {
    let items = storage.list_dir(dir).map_err(Error::io_at("list", dir))?;
    let mut files = Vec::with_capacity(items.len());
    for item in items {
        if !item.path.file_name().is_some_and(|name| is_session_file_name(&name.to_string_lossy())) {
            continue;
        }
        match item.kind {
            Ok(DirItemKind::File { len, modified_ns }) => files.push(FileInfo { path: item.path, len, modified_ns }),
            Ok(DirItemKind::Dir | DirItemKind::Other) => {}
            Err(error) => {
                let error = Error::io_at("look at", &item.path)(error);
                unreadable.push(Unreadable::new(item.path, &error));
            }
        }
    }
    Ok(files)
}

/// Newest first; of two with the same time the one with the later name first, so that the order is always the same.
pub(super) fn newest_first(a: &FileInfo, b: &FileInfo) -> Ordering {
    // Finding the name in a path takes longer than looking at the file did.
    let by_name = || (b.path.file_name(), &b.path).cmp(&(a.path.file_name(), &a.path));
    b.modified_ns.cmp(&a.modified_ns).then_with(by_name)
}
