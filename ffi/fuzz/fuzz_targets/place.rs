//! Places for results, and what must be in them after a call.

use std::ptr;
use xcsh_abi::error::{XcshError, xcsh_error_free, xcsh_error_message, xcsh_error_status};
use xcsh_abi::status::{XCSH_END, XCSH_PANIC, xcsh_status_name};
use xcsh_abi::string::{XcshString, xcsh_string_data, xcsh_string_free, xcsh_string_len};

/// A call with its error place, which may be NULL.
pub fn call(with_error: bool, run: impl FnOnce(*mut *mut XcshError) -> u32) -> u32 {
    let mut err = ptr::without_provenance_mut(0x55);
    let status = run(if with_error { &mut err } else { ptr::null_mut() });
    assert!(!xcsh_status_name(status).is_null() && status != XCSH_PANIC, "status {status}");
    if with_error {
        // SAFETY: the call has set it, to NULL or to an error that is now ours.
        let error = (!err.is_null()).then(|| unsafe { Box::from_raw(err) });
        assert_eq!(error.is_some(), status > XCSH_END, "status {status}");
        if let Some(error) = error {
            assert_eq!(xcsh_error_status(Some(&error)), status);
            assert!(xcsh_error_message(Some(&error)).len > 0);
            xcsh_error_free(Some(error));
        }
    }
    status
}

/// A call that gives a handle.
pub fn give<T>(with_error: bool, run: impl FnOnce(*mut *mut T, *mut *mut XcshError) -> u32) -> Option<Box<T>> {
    let mut place = ptr::without_provenance_mut(0x55);
    let status = call(with_error, |err| run(&mut place, err));
    assert!(status <= XCSH_END || place.is_null());
    // SAFETY: the call has set it, to NULL or to a handle that is now ours.
    (!place.is_null()).then(|| unsafe { Box::from_raw(place) })
}

/// A call that gives a string.
pub fn give_string(
    with_error: bool,
    run: impl FnOnce(*mut *mut XcshString, *mut *mut XcshError) -> u32,
) -> Option<Vec<u8>> {
    let string = give(with_error, run)?;
    let (data, len) = (xcsh_string_data(Some(&string)), xcsh_string_len(Some(&string)));
    // SAFETY: the string is alive, and there is a NUL behind it.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len + 1) };
    assert_eq!(bytes[len], 0);
    let bytes = bytes[..len].to_vec();
    xcsh_string_free(Some(string));
    Some(bytes)
}
