//! What other writers did to the file since it was last looked at (P6).

use super::{Done, Form, Journal, Memory, Pending};
use crate::content::{Content, Loaded};
use crate::error::{Error, Result};
use crate::index::{EntryNo, Place};
use crate::storage::FileStat;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Journal {
    /// Takes in the content that `stat` describes; the lock is held.
    pub(super) fn take_in(&mut self, memory: &mut Memory<'_>, stat: FileStat) -> Result<Done> {
        let reader = self.writer().reader();
        let Some(reader) = reader else { return Ok(Done::Disturbed) };
        let same_content = self.known == Some(stat.id);
        if same_content && stat.len >= memory.content.end {
            memory.content.add_tail(reader, stat.len)?;
            self.pending.retain(|pending| memory.content.index.slot(pending.entry).line == 0);
            return Ok(Done::Yes);
        }
        match Content::load(&memory.content.path, Arc::clone(&reader), stat.len)? {
            Loaded::Session(new) => {
                let (found, own) = (new.header.id(), memory.content.header.id());
                if found != own {
                    return Err(Error::Replaced { path: new.path.clone(), found });
                }
                self.merge(memory, *new, same_content)?;
            }
            Loaded::Blank => {
                self.rewrite = true;
                if !same_content {
                    // The known content can still be read, so it stays the known one until it is written again.
                    return Ok(Done::Yes);
                }
                let mut new = Content::new(memory.content.path.clone(), memory.content.header.clone());
                new.titles = memory.content.titles.clone();
                new.set_source(Some(reader));
                new.end = stat.len;
                self.merge(memory, new, true)?;
            }
            Loaded::NotASession { .. } => {
                move_aside(&*self.storage, &memory.content.path)?;
                self.writer().close();
                return Ok(Done::Disturbed);
            }
        }
        self.known = Some(stat.id);
        Ok(Done::Yes)
    }

    /// Another content of the same session took the place of the known one. Its entries come first; what this
    /// manager has and it has not is added behind them and will be written again. `lost` says that the bytes of the
    /// known content are gone.
    fn merge(&mut self, memory: &mut Memory<'_>, mut new: Content, lost: bool) -> Result<()> {
        let old = &mut *memory.content;
        let mut missing: Vec<EntryNo> = Vec::new();
        for entry in old.index.entries() {
            let known = old.index.id(entry).and_then(|id| new.index.by_id(id));
            match (known, old.index.slot(entry).place) {
                (Some(known), Place::Memory(_)) => {
                    let line = old.in_memory(entry).unwrap_or_default().to_vec();
                    new.replace_line(known, line);
                }
                (None, Place::File { .. }) if lost => {
                    let line = old.index.slot(entry).line;
                    log::warn!("{}:{line}: another program cut this entry off", old.path.display());
                }
                (None, Place::File { .. }) if old.index.id(entry).is_none() => {}
                (None, _) => missing.push(entry),
                (Some(_), Place::File { .. }) => {}
            }
        }
        let mut pending = VecDeque::new();
        let mut lines = old.lines(64 << 10);
        for entry in missing {
            let line = lines.get(entry)?.into_owned();
            pending.push_back(Pending { entry: new.push_line(line)?, form: Form::Unknown });
        }
        self.pending = pending;
        for edit in &self.header_edits {
            edit.apply(&mut new);
        }
        self.rewrite |= new.is_migrating();
        *memory.leaf = memory.leaf.and_then(|leaf| {
            let path = old.index.path(leaf);
            path.into_iter().find_map(|entry| new.index.by_id(old.index.id(entry)?))
        });
        *old = new;
        *memory.renumbered += 1;
        Ok(())
    }
}

/// Moves a file that is no session out of the way, complete, to `<file>.invalid-<timestamp>` beside it.
pub(crate) fn move_aside(storage: &dyn crate::storage::SessionStorage, path: &Path) -> Result<PathBuf> {
    let stamp = crate::time::format(crate::time::now()).replace([':', '.'], "-");
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".invalid-{stamp}"));
    let mut aside = PathBuf::from(&name);
    let mut count = 1;
    while storage.exists(&aside).map_err(Error::io_at("look for", &aside))? {
        count += 1;
        let mut next = name.clone();
        next.push(format!("-{count}"));
        aside = next.into();
    }
    storage.rename(path, &aside).and_then(|synced| synced).map_err(Error::io_at("move aside", path))?;
    log::warn!("{} is no session; its bytes are now in {}", path.display(), aside.display());
    Ok(aside)
}
