//! Remembering where a manager was, to come back to it.

use super::{XcshManager, manager};
use crate::border;
use crate::error::XcshError;
use crate::input::handle;
use crate::output::out;
use crate::status::XcshStatus;
use session::SessionState;

/// Where a manager was: which session, and where its leaf. Free it with xcsh_state_free().
pub struct XcshState(SessionState);

/// Notes which session this is and where its leaf is. A session that is in no file yet is held whole.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_capture_state(
    manager: Option<&XcshManager>,
    state: *mut *mut XcshState,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let state = out(state, "state")?;
        state.give(XcshState(self::manager(manager)?.capture_state()?));
        Ok(())
    })
}

/// Goes back to a session and its leaf; can be done more than once. What was appended to it since stays in it. After an
/// error the current session stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_restore_state(
    manager: Option<&XcshManager>,
    state: Option<&XcshState>,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        self::manager(manager)?.restore_state(&handle(state, "state")?.0)?;
        Ok(())
    })
}

/// Frees a state. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_state_free(state: Option<Box<XcshState>>) {
    border::free(state);
}
