//! What every exported function goes through: panics are caught and failures become a status and an error object.

use crate::error::{Failure, XcshError};
use crate::status::{XCSH_OK, XcshStatus};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The body of an exported function. It may use the functions of [`crate::input`] and [`crate::output`] on the
/// arguments of that function, and nothing else that is unsafe.
macro_rules! border {
    ($err:expr, $body:block) => {
        // SAFETY: the pointers that the body looks at are arguments of the exported `unsafe fn` around it. Its caller
        // promises what the header demands: each is NULL, or of length 0, or valid for this call and of its type.
        unsafe { $crate::border::enter($err, || $body) }
    };
}

/// What a body that succeeded says.
pub(crate) trait Success {
    fn status(self) -> XcshStatus;
}

impl Success for () {
    fn status(self) -> XcshStatus {
        XCSH_OK
    }
}

impl Success for XcshStatus {
    fn status(self) -> XcshStatus {
        self
    }
}

/// Runs a body. `err` must be NULL or a place that can be written.
pub(crate) unsafe fn enter<S: Success>(
    err: *mut *mut XcshError,
    body: impl FnOnce() -> Result<S, Failure>,
) -> XcshStatus {
    let set = |error: *mut XcshError| {
        if !err.is_null() {
            // SAFETY: the caller promises that it can be written; nothing is read from it.
            unsafe { err.write_unaligned(error) };
        }
    };
    set(std::ptr::null_mut());
    let failure = match caught(body) {
        Ok(Ok(success)) => return success.status(),
        Ok(Err(failure)) => failure,
        Err(text) => Failure::panic(&text),
    };
    let status = failure.status;
    if !err.is_null() {
        set(Box::into_raw(Box::new(XcshError::new(failure))));
    }
    status
}

/// Runs something that must not panic out of this crate; the text of the panic if it does. Everything that bodies share
/// is behind locks that take poison for what it is, so nothing broken is seen afterwards.
pub(crate) fn caught<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let text = text_of(&*payload);
        // A payload can panic where it is dropped.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        text
    })
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text").to_owned()
}

/// Frees a handle. NULL is nothing to free.
pub(crate) fn free<T>(handle: Option<Box<T>>) {
    // The only thing that is left to do about a panic here is not to let it out.
    let _ = caught(|| drop(handle));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{XCSH_END, XCSH_NULL_POINTER, XCSH_PANIC};
    use std::ptr::{null, null_mut};

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }

    fn run<S: Success>(body: impl FnOnce() -> Result<S, Failure>) -> (XcshStatus, Option<Box<XcshError>>) {
        let mut err = null::<XcshError>().cast_mut();
        // SAFETY: the place is a variable of this function, and what is in it afterwards is NULL or a box of `enter`.
        unsafe {
            let status = enter(&mut err, body);
            (status, (!err.is_null()).then(|| Box::from_raw(err)))
        }
    }

    #[test]
    fn panics_become_a_status() {
        let panics: [fn() -> Result<(), Failure>; 3] =
            [|| panic!("plain"), || panic!("{}", 7), || std::panic::panic_any(Bomb)];
        for (body, text) in panics.into_iter().zip(["plain", "7", "no text"]) {
            let (status, err) = run(body);
            assert_eq!(status, XCSH_PANIC);
            let message = crate::error::xcsh_error_message(err.as_deref());
            // SAFETY: the error it belongs to is alive.
            let message = unsafe { std::slice::from_raw_parts(message.data.cast::<u8>(), message.len) };
            assert!(String::from_utf8_lossy(message).contains(text));
        }
        // SAFETY: NULL is allowed for the error.
        assert_eq!(unsafe { enter(null_mut(), || -> Result<(), Failure> { panic!("unseen") }) }, XCSH_PANIC);
        free(Some(Box::new(Bomb)));
    }

    #[test]
    fn success_leaves_no_error() {
        assert!(matches!(run(|| Ok(())), (XCSH_OK, None)));
        assert!(matches!(run(|| Ok(XCSH_END)), (XCSH_END, None)));
        assert!(matches!(run(|| Err::<(), _>(Failure::null("x"))), (XCSH_NULL_POINTER, Some(_))));
    }
}
