//! Reading a session: the snapshot of a file, or the view of a manager.

// The header has them in this order.

mod read;

mod info;

mod entries;

mod context;

mod tree;

pub use context::*;
pub use entries::*;
pub use info::*;
pub use read::*;
pub use tree::*;

use crate::error::Failure;
use crate::input::handle;
use session::{Session, SessionManager};
use std::sync::Arc;

/// A session to read: a snapshot of a file (xcsh_session_read(), xcsh_session_parse()), which never changes, or the view of
/// a manager (xcsh_manager_view()), which always shows what the manager has at the moment of the call. Free it with
/// xcsh_session_free(). Every function but that one can be called from several threads at once.
pub struct XcshSession(pub(crate) Source);

/// Where entries come from. Iterations hold on to it.
#[derive(Clone)]
pub(crate) enum Source {
    File(Arc<Session>),
    Live(Arc<SessionManager>),
}

impl Source {
    pub(crate) fn look<R>(&self, look: impl FnOnce(&Session) -> R) -> R {
        match self {
            Source::File(session) => look(session),
            Source::Live(manager) => manager.read(look),
        }
    }

    /// Stays the same as long as entries keep their numbers.
    fn numbering(&self) -> u64 {
        match self {
            Source::File(_) => 0,
            Source::Live(manager) => manager.numbering(),
        }
    }
}

impl XcshSession {
    pub(crate) fn live(manager: Arc<SessionManager>) -> XcshSession {
        XcshSession(Source::Live(manager))
    }

    fn file(session: Session) -> XcshSession {
        XcshSession(Source::File(Arc::new(session)))
    }
}

fn source(session: Option<&XcshSession>) -> Result<&Source, Failure> {
    handle(session, "session").map(|session| &session.0)
}
