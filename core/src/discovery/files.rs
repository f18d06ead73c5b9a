//! The session files of directories: found, put in order, and worked on by several threads.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::atomic::{self, AtomicUsize};

use super::Unreadable;
use crate::dirs::is_session_file_name;
use crate::storage::{DirItemKind, FileInfo, SessionStorage};
use crate::{Error, Result};

/// Fewer items than this are not worth a thread.
const WORTH_A_THREAD: usize = 16;

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
    (b.modified_ns, b.path.file_name(), &b.path).cmp(&(a.modified_ns, a.path.file_name(), &a.path))
}

/// `work` on every item, on all cores; the results in the order of the items. Each thread has one `state`.
pub(crate) fn on_all_cores<T: Sync, S, R: Send>(
    items: &[T],
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let threads = cores.min(items.len() / WORTH_A_THREAD).max(1);
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut state = state();
        let mut done = Vec::new();
        while let index = next.fetch_add(1, atomic::Ordering::Relaxed)
            && let Some(item) = items.get(index)
        {
            done.push((index, work(&mut state, item)));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let mut done = worker();
        for other in others {
            match other.join() {
                Ok(results) => done.extend(results),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, WORTH_A_THREAD, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let results = on_all_cores(
                &items,
                || 0,
                |calls, item| {
                    *calls += 1;
                    (*item, *calls)
                },
            );
            assert!(results.iter().map(|(item, _)| *item).eq(0..count));
            assert!(results.iter().all(|(item, calls)| *calls <= item + 1), "a state of its own for each thread");
        }
    }
}
