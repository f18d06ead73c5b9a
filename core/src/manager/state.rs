//! Remembering where a manager was, to come back to it.

use super::SessionManager;
use super::open::Opened;
use crate::content::{Content, Loaded};
use crate::error::{Error, Result};
use crate::session::Session;
use std::path::PathBuf;

/// Where a manager was: see [`SessionManager::capture_state`].
#[derive(Clone, Debug)]
pub struct SessionState {
    id: String,
    file: PathBuf,
    leaf: Option<String>,
    cwd: PathBuf,
    session_dir: PathBuf,
    /// The whole session, where it is in no file yet: header and entries.
    text: Option<Vec<u8>>,
}

impl SessionManager {
    /// Which session this is and where its leaf is. A session that is in no file yet is held whole.
    pub fn capture_state(&self) -> Result<SessionState> {
        let inner = self.lock();
        let content = &inner.session.content;
        let in_file = inner.persistent && !inner.deferred;
        Ok(SessionState {
            id: content.header.id(),
            file: content.path.clone(),
            leaf: inner.session.leaf_id(),
            cwd: inner.cwd.clone(),
            session_dir: inner.session_dir.clone(),
            text: if in_file { None } else { Some(whole_text(content)?) },
        })
    }

    /// Goes back to a captured session and its leaf. What was appended to it since stays in it: nothing that was
    /// acknowledged is taken back. After an error the current session stays; `NotFound` where
    /// the captured session's file is gone.
    pub fn restore_state(&self, state: &SessionState) -> Result<()> {
        let leaf_of = |session: &Session| state.leaf.as_ref().and_then(|id| session.number_of(id));
        {
            let mut inner = self.lock();
            let content = &inner.session.content;
            if content.header.id() == state.id {
                inner.session.leaf = leaf_of(&inner.session);
                return Ok(());
            }
        }
        let exists = || self.options.storage.exists(&state.file).map_err(Error::io_at("look for", &state.file));
        match &state.text {
            None if !exists()? => return Err(Error::NotFound { path: state.file.clone() }),
            None => self.set_session_file(&state.file)?,
            // Its file was made since.
            Some(_) if self.is_persisted() && exists()? => self.set_session_file(&state.file)?,
            Some(text) => {
                let Loaded::Session(mut content) = Content::load_text(&state.file, text.clone()) else {
                    return Err(Error::InvalidArgument("the captured state is no session".to_owned()));
                };
                content.hold_in_memory()?;
                let mut journal = self.journal();
                content.index.entries().for_each(|entry| journal.add(entry));
                let session = Session::of_content(*content, self.read_options());
                let opened = Opened { session, journal, deferred: true, unsupported: false, moved_aside: None };
                self.leave()?.take(opened);
            }
        }
        let mut inner = self.lock();
        inner.session.leaf = leaf_of(&inner.session);
        (inner.cwd, inner.session_dir) = (state.cwd.clone(), state.session_dir.clone());
        Ok(())
    }
}

fn whole_text(content: &Content) -> Result<Vec<u8>> {
    let mut text = content.header.line().to_vec();
    text.push(b'\n');
    let mut lines = content.lines(256 << 10);
    for entry in content.index.entries() {
        text.extend_from_slice(&lines.get(entry)?);
        text.push(b'\n');
    }
    Ok(text)
}
