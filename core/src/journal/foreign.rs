//! What other writers did to the file since it was last looked at (P6).

use super::{Done, Journal, Memory};
use crate::blob::BlobRef;
use crate::content::{Content, Loaded};
use crate::error::{Error, Result};
use crate::header::Version;
use crate::index::EntryNo;
use crate::json::{ObjectEdit, quoted};
use crate::limits;
use crate::storage::{FileId, FileStat, SessionStorage};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

impl Journal {
    /// Takes in the content that `stat` describes; the lock is held.
    pub(super) fn take_in(&mut self, memory: &mut Memory<'_>, stat: FileStat) -> Result<Done> {
        let reader = self.writer().reader();
        let Some(reader) = reader else { return Ok(Done::Disturbed) };
        let same_content = self.known == Some(stat.id);
        if same_content && memory.content.goes_on_in(&*reader, stat.len)? {
            memory.content.add_tail(reader, stat.len)?;
            self.forget_written(memory.content);
            return Ok(Done::Yes);
        }
        let path = memory.content.path.clone();
        let loaded = Content::load(&path, reader, stat.len)?;
        let refused = match loaded {
            Loaded::Session(new) if new.header.version() == Version::Unsupported => {
                Err(Error::UnsupportedVersion { path, version: new.header.version_text() })
            }
            Loaded::Session(new) if new.header.id() != memory.content.header.id() => {
                Err(Error::Replaced { path, found: new.header.id() })
            }
            Loaded::Session(new) => {
                self.merge(memory, *new, same_content)?;
                self.known = Some(stat.id);
                return Ok(Done::Yes);
            }
            Loaded::Blank => {
                self.rewrite = true;
                Ok(Done::Yes)
            }
            Loaded::NotASession { .. } => Ok(Done::Disturbed),
        };
        if same_content {
            self.detach(memory)?;
        }
        if let Ok(Done::Disturbed) = refused {
            move_aside(&*self.storage, &memory.content.path, stat.id)?;
        }
        if !matches!(refused, Ok(Done::Yes)) {
            // It may go away at any time: the next attempt looks at the path.
            self.writer().close();
        }
        refused
    }

    /// The bytes of the known content are gone, and nothing of the session came in their place. What is in memory, and
    /// what is where it was all the same, is kept, all of it to be written.
    fn detach(&mut self, memory: &mut Memory<'_>) -> Result<()> {
        let mut empty = Content::new(memory.content.path.clone(), memory.content.header.clone());
        empty.titles = memory.content.titles.clone();
        self.merge(memory, empty, true)?;
        self.known = None;
        self.rewrite = true;
        Ok(())
    }

    /// Another content of the same session took the place of the known one. Its entries come first; what this
    /// manager has and it has not is added behind them and will be written again. `lost` says that the bytes of the
    /// known content may be others by now.
    fn merge(&mut self, memory: &mut Memory<'_>, mut new: Content, lost: bool) -> Result<()> {
        let old = &mut *memory.content;
        let ours: HashSet<EntryNo> = self.changed.iter().copied().collect();
        let mut nameless = nameless_lines(&new)?;
        let (mut missing, mut changed, mut gone) = (Vec::new(), Vec::new(), HashSet::new());
        let mut replaced = BTreeMap::new();
        let mut lines = old.lines(64 << 10);
        for entry in old.index.entries() {
            let slot = old.index.slot(entry);
            let known = old.index.id(entry).and_then(|id| new.index.by_id(id));
            match (known, old.in_memory(entry)) {
                (Some(known), Some(line)) if ours.contains(&entry) => {
                    replaced.insert(known, line.to_vec());
                    changed.push(known);
                }
                (Some(known), Some(line)) => {
                    let written = new.line(known)?;
                    let short = limits::persist_form(line, &mut |bytes| Ok(BlobRef::of(bytes).hex()))?;
                    if short.is_some_and(|short| short == written) {
                        new.replace_line(known, line.to_vec());
                    } else if slot.line == 0 && line != written {
                        missing.push((entry, line.to_vec()));
                    }
                }
                (Some(_), None) => {}
                (None, None) if lost && old.is_piece(entry) => {}
                (None, None) if lost && !old.is_intact(entry)? => {
                    log::warn!("{}:{}: another program took this entry away", old.path.display(), slot.line);
                    gone.insert(entry);
                }
                (None, _) => {
                    let line = lines.get(entry)?.into_owned();
                    let twin = nameless.get_mut(&line).filter(|count| **count > 0 && slot.line > 0);
                    match twin.filter(|_| old.index.id(entry).is_none()) {
                        Some(count) => *count -= 1,
                        None => missing.push((entry, line)),
                    }
                }
            }
        }
        new.change(&replaced)?;
        let mut added = Vec::with_capacity(missing.len());
        for (entry, mut line) in missing {
            let (mut parent, mut passed) = (old.index.parent(entry), 0);
            while let Some(absent) = parent.filter(|parent| passed < gone.len() && gone.contains(parent)) {
                (parent, passed) = (old.index.parent(absent), passed + 1);
            }
            if passed > 0 {
                // What follows an entry that is gone follows what that one followed, so that the path stays one.
                let mut edit = ObjectEdit::new(&line);
                let parent = parent.and_then(|parent| old.index.id(parent));
                edit.set("parentId", parent.map_or(b"null".to_vec(), quoted));
                line = edit.apply();
            }
            let number = new.push_line(line)?;
            added.push(number);
            if ours.contains(&entry) {
                changed.push(number);
            }
        }
        self.pending.clear();
        added.into_iter().for_each(|entry| self.add(entry));
        self.changed = changed;
        for edit in &self.header_edits {
            edit.apply(&mut new);
        }
        self.rewrite |= new.is_migrating() || !self.header_edits.is_empty();
        *memory.leaf = memory.leaf.and_then(|leaf| {
            let path = old.index.path(leaf);
            path.into_iter().find_map(|entry| new.index.by_id(old.index.id(entry)?))
        });
        *old = new;
        *memory.renumbered += 1;
        Ok(())
    }
}

/// Entries without an id are the same if their lines are: how often each line is there.
fn nameless_lines(content: &Content) -> Result<HashMap<Vec<u8>, usize>> {
    let mut found = HashMap::new();
    let mut lines = content.lines(64 << 10);
    for entry in content.index.entries().filter(|&entry| content.index.id(entry).is_none()) {
        *found.entry(lines.get(entry)?.into_owned()).or_default() += 1;
    }
    Ok(found)
}

/// Moves a file that is no session out of the way, complete, to `<file>.invalid-<timestamp>` beside it; of a link its
/// target. The lock on the content `seen` is held. `None`: another content is at the path by now.
pub(crate) fn move_aside(storage: &dyn SessionStorage, path: &Path, seen: FileId) -> Result<Option<PathBuf>> {
    match storage.stat(path) {
        Ok(stat) if stat.id == seen => {}
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::io_at("look for", path)(error));
        }
        _ => return Ok(None),
    }
    let target = storage.resolve(path).map_err(Error::io_at("look for", path))?;
    let stamp = crate::time::format(crate::time::now()).replace([':', '.'], "-");
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".invalid-{stamp}"));
    let mut aside = PathBuf::from(&name);
    let mut count = 1;
    while storage.exists(&aside).map_err(Error::io_at("look for", &aside))? {
        count += 1;
        let mut next = name.clone();
        next.push(format!("-{count}"));
        aside = next.into();
    }
    storage.rename(&target, &aside).and_then(|synced| synced).map_err(Error::io_at("move aside", path))?;
    log::warn!("{} is no session; its bytes are now in {}", path.display(), aside.display());
    Ok(Some(aside))
}
