//! Messages of the library, handed to a function of the host.

use crate::border::caught;
use crate::error::{Failure, XcshError};
use crate::input::choice;
use crate::status::XcshStatus;
use crate::string::XcshStr;
use log::{LevelFilter, Log, Metadata, Record};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::{PoisonError, RwLock};

/// No messages.
pub const XCSH_LOG_OFF: u32 = 0;
/// Something was not done that was asked for.
pub const XCSH_LOG_ERROR: u32 = 1;
/// Something is not as it should be; the library goes on.
pub const XCSH_LOG_WARN: u32 = 2;
/// What an administrator may want to know.
pub const XCSH_LOG_INFO: u32 = 3;
/// What a developer may want to know.
pub const XCSH_LOG_DEBUG: u32 = 4;
/// Everything.
pub const XCSH_LOG_TRACE: u32 = 5;

/// Gets a message: `level` is one of XCSH_LOG_.., `target` names the part of the library, both texts are borrowed until
/// the function returns. It is called by whichever thread has something to say, also by several at once, also by threads
/// of the library. It must not throw or jump out, and messages that come of what it calls itself are dropped.
pub type XcshLogFn = Option<unsafe extern "C" fn(user: *mut c_void, level: u32, target: XcshStr, message: XcshStr)>;

struct Callback {
    call: unsafe extern "C" fn(*mut c_void, u32, XcshStr, XcshStr),
    user: *mut c_void,
}

// SAFETY: the header says that the function is called by any thread, several at once, with the pointer that came with
// it; the library itself never looks at what is behind that.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

static CALLBACK: RwLock<Option<Callback>> = RwLock::new(None);

thread_local! {
    /// This thread is in the callback, and so holds the lock.
    static CALLING: Cell<bool> = const { Cell::new(false) };
}

struct ToCallback;

impl Log for ToCallback {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) || CALLING.get() {
            return;
        }
        let callback = CALLBACK.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Callback { call, user }) = &*callback {
            let (target, message) = (record.target(), record.args().to_string());
            CALLING.set(true);
            // SAFETY: who set the callback promised that it can be called with this pointer until it is set anew, which
            // waits for the lock that is held here.
            unsafe {
                call(*user, record.level() as u32, XcshStr::of(target.as_bytes()), XcshStr::of(message.as_bytes()))
            };
            CALLING.set(false);
        }
    }

    fn flush(&self) {}
}

/// Sets the function that gets the library's messages up to a level (one of XCSH_LOG_..), in place of the one before, for the
/// whole process; NULL: none, which is how it begins. `user` is passed to it. When this returns, the one before is not
/// running and will not be called any more. Not to be called by the function itself: XCSH_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_set_log(
    callback: XcshLogFn,
    user: *mut c_void,
    level: u32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let levels = [
            (XCSH_LOG_OFF, LevelFilter::Off),
            (XCSH_LOG_ERROR, LevelFilter::Error),
            (XCSH_LOG_WARN, LevelFilter::Warn),
            (XCSH_LOG_INFO, LevelFilter::Info),
            (XCSH_LOG_DEBUG, LevelFilter::Debug),
            (XCSH_LOG_TRACE, LevelFilter::Trace),
        ];
        let level = choice(&levels, level, "XCSH_LOG")?;
        if CALLING.get() {
            return Err(Failure::argument("the log function must not set the log function".to_owned()));
        }
        let mut current = CALLBACK.write().unwrap_or_else(PoisonError::into_inner);
        *current = callback.map(|call| Callback { call, user });
        log::set_max_level(if current.is_some() { level } else { LevelFilter::Off });
        // Fails from the second time on, when it is set already.
        let _ = caught(|| log::set_logger(&ToCallback));
        Ok(())
    })
}
