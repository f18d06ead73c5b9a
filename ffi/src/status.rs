//! The status numbers. They are part of the ABI: a number never changes its meaning, new ones are only added.

use std::ffi::{CStr, c_char};

/// How a call went: 0 for success, else the number of what went wrong. Numbers keep their meaning forever; new ones may
/// be added, so treat a number that you do not know by its family:
///
///   0 ..  99   success, no error object
/// 100 .. 199   the call itself is wrong; the same call fails again
/// 200 .. 299   the session does not allow it
/// 300 .. 399   what was named is missing, or is not what it should be
/// 400 .. 499   the operating system or another process stood in the way; the same call can succeed later
/// 900 .. 999   a fault of the library
pub type XcshStatus = u32;

/// Success.
pub const XCSH_OK: XcshStatus = 0;
/// Success: an iteration has no more items.
pub const XCSH_END: XcshStatus = 1;
/// A pointer that must not be NULL is NULL.
pub const XCSH_NULL_POINTER: XcshStatus = 100;
/// A text is not valid UTF-8.
pub const XCSH_INVALID_UTF8: XcshStatus = 101;
/// An argument makes no sense; the message says which and why.
pub const XCSH_INVALID_ARGUMENT: XcshStatus = 102;
/// A text that must be JSON is not, or is not the kind of value that is needed.
pub const XCSH_INVALID_JSON: XcshStatus = 103;
/// The handle was closed.
pub const XCSH_CLOSED: XcshStatus = 200;
/// The session is open read-only.
pub const XCSH_READ_ONLY: XcshStatus = 201;
/// The session was written by a newer agent: it can be read, not changed.
pub const XCSH_UNSUPPORTED_VERSION: XcshStatus = 202;
/// Entries have other numbers since this iteration began; begin a new one.
pub const XCSH_RENUMBERED: XcshStatus = 203;
/// There is no such file.
pub const XCSH_NOT_FOUND: XcshStatus = 300;
/// No entry has this id.
pub const XCSH_ENTRY_NOT_FOUND: XcshStatus = 301;
/// The file has bytes, but its first record is no session header.
pub const XCSH_NOT_A_SESSION: XcshStatus = 302;
/// Another session was put in this one's place; nothing was overwritten.
pub const XCSH_REPLACED: XcshStatus = 303;
/// Another program cut the bytes of an entry out of the file.
pub const XCSH_VANISHED: XcshStatus = 304;
/// A blob is missing or damaged.
pub const XCSH_BLOB: XcshStatus = 305;
/// The operating system refused a file operation; see xcsh_error_os().
pub const XCSH_IO: XcshStatus = 400;
/// Another writer held the lock of the session file for longer than the bound.
pub const XCSH_LOCKED: XcshStatus = 401;
/// The prompt history database refused.
pub const XCSH_HISTORY: XcshStatus = 402;
/// The library panicked. This is a bug; the message has the text of the panic. Memory is still sound, but free the
/// handles that were part of the call.
pub const XCSH_PANIC: XcshStatus = 900;
/// An error that has no number of its own yet; xcsh_error_code() names it.
pub const XCSH_OTHER: XcshStatus = 901;

/// Number and name of each; the names of errors are those of the core, the same on every surface.
const NAMES: [(XcshStatus, &CStr); 21] = [
    (XCSH_OK, c"Ok"),
    (XCSH_END, c"End"),
    (XCSH_NULL_POINTER, c"NullPointer"),
    (XCSH_INVALID_UTF8, c"InvalidUtf8"),
    (XCSH_INVALID_ARGUMENT, c"InvalidArgument"),
    (XCSH_INVALID_JSON, c"InvalidJson"),
    (XCSH_CLOSED, c"Closed"),
    (XCSH_READ_ONLY, c"ReadOnly"),
    (XCSH_UNSUPPORTED_VERSION, c"UnsupportedVersion"),
    (XCSH_RENUMBERED, c"Renumbered"),
    (XCSH_NOT_FOUND, c"NotFound"),
    (XCSH_ENTRY_NOT_FOUND, c"EntryNotFound"),
    (XCSH_NOT_A_SESSION, c"NotASession"),
    (XCSH_REPLACED, c"Replaced"),
    (XCSH_VANISHED, c"Vanished"),
    (XCSH_BLOB, c"Blob"),
    (XCSH_IO, c"Io"),
    (XCSH_LOCKED, c"Locked"),
    (XCSH_HISTORY, c"History"),
    (XCSH_PANIC, c"Panic"),
    (XCSH_OTHER, c"Other"),
];

/// The name of a status, such as "NotFound", as a NUL-terminated string that lives as long as the program; NULL for a
/// number that is no status. For an error it is the text of xcsh_error_code().
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_status_name(status: u32) -> *const c_char {
    name(status).map_or(std::ptr::null(), CStr::as_ptr)
}

pub(crate) fn name(status: XcshStatus) -> Option<&'static CStr> {
    NAMES.iter().find(|(number, _)| *number == status).map(|(_, name)| *name)
}

/// The number of one of the core's error codes.
pub(crate) fn of_code(code: &str) -> XcshStatus {
    NAMES.iter().find(|(_, name)| name.to_bytes() == code.as_bytes()).map_or(XCSH_OTHER, |(status, _)| *status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_core_has_a_number() {
        let source = include_str!("../../core/src/error.rs");
        let codes = source.lines().filter_map(|line| {
            let (variant, code) = line.trim().strip_prefix("Error::")?.split_once("=> \"")?;
            (!variant.is_empty()).then(|| code.split('"').next().unwrap_or_default())
        });
        let codes: Vec<_> = codes.collect();
        assert!(codes.len() >= 14, "{codes:?}");
        for code in codes {
            assert_ne!(of_code(code), XCSH_OTHER, "{code} needs a number of its own, in the family that fits");
        }
    }

    #[test]
    fn numbers_and_names_are_unique() {
        for (i, (status, name)) in NAMES.iter().enumerate() {
            assert!(NAMES[..i].iter().all(|(other, text)| other < status && text != name), "{status} {name:?}");
        }
        assert!(xcsh_status_name(99).is_null());
    }
}
