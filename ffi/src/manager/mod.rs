//! The session manager: one session that is being written.

// The header has them in this order.

mod make;

mod append;

mod branch;

mod save;

mod info;

mod edit;

mod switch;

mod state;

mod artifacts;

pub use append::*;
pub use artifacts::*;
pub use branch::*;
pub use edit::*;
pub use info::*;
pub use make::*;
pub use save::*;
pub use state::*;
pub use switch::*;

use crate::error::Failure;
use crate::input::handle;
use session::SessionManager;
use std::sync::Arc;

/// A session that is being written. Free it with xcsh_manager_free(). Every function but that one can be called from
/// several threads at once.
///
/// Entries are kept in memory until the first assistant message; then the file is made, and each append is in the
/// kernel when it returns: killing the process loses nothing. xcsh_manager_flush() makes it survive a power loss. An
/// append that cannot be written keeps its entry in memory and returns the error, which names the entry; the next
/// operation tries again. Several managers, in one or several processes, can write the same file.
pub struct XcshManager(pub(crate) Arc<SessionManager>);

fn manager(manager: Option<&XcshManager>) -> Result<&Arc<SessionManager>, Failure> {
    handle(manager, "manager").map(|manager| &manager.0)
}
