//! Strings on their way between the languages.

use crate::border;
use crate::error::Failure;
use crate::error::XcshError;
use crate::input;
use crate::output::out;
use crate::status::XcshStatus;
use std::ffi::c_char;
use std::ptr;

/// A borrowed string: `len` bytes at `data`. A string that the library gives is UTF-8 (where nothing else is said),
/// can have NUL bytes in it, and lives as long as the function that gave it says; `data` is NULL where there is no
/// string, which is not the same as an empty one. In a string that you give, `data` is not followed where `len` is 0;
/// with `len` 0 a NULL means "absent" where the field is optional, and any other pointer means the empty string.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct XcshStr {
    /// The first byte.
    pub data: *const c_char,
    /// How many bytes there are.
    pub len: usize,
}

impl XcshStr {
    pub(crate) const NONE: XcshStr = XcshStr { data: ptr::null(), len: 0 };

    /// Lives as long as `text`, which is for the caller to see to.
    pub(crate) fn of(text: &[u8]) -> XcshStr {
        XcshStr { data: text.as_ptr().cast(), len: text.len() }
    }
}

/// An owned string; free it with xcsh_string_free(). Text is UTF-8, the contents of blobs are any bytes. There can be
/// NUL bytes in it, and there is always one behind it, which the length does not count.
pub struct XcshString(Terminated);

/// An owned list of strings; free it with xcsh_strings_free().
pub struct XcshStrings(Vec<String>);

/// Bytes with a NUL behind them.
pub(crate) struct Terminated(Vec<u8>);

impl Terminated {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>) -> Terminated {
        let mut bytes = bytes.into();
        bytes.push(0);
        Terminated(bytes)
    }

    pub(crate) fn view(&self) -> XcshStr {
        XcshStr { data: self.0.as_ptr().cast(), len: self.0.len() - 1 }
    }
}

impl XcshString {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>) -> XcshString {
        XcshString(Terminated::new(bytes))
    }

    /// A path, which must be UTF-8 to mean the same on the other side.
    pub(crate) fn path(path: &std::path::Path) -> Result<XcshString, Failure> {
        path.to_str().map(XcshString::new).ok_or_else(|| Failure::utf8("the path", path.as_os_str().as_encoded_bytes()))
    }
}

impl XcshStrings {
    pub(crate) fn new(strings: Vec<String>) -> XcshStrings {
        XcshStrings(strings)
    }
}

/// The bytes of a string, valid until it is freed; NULL for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_string_data(string: Option<&XcshString>) -> *const c_char {
    string.map_or(ptr::null(), |string| string.0.view().data)
}

/// The length of a string in bytes, without the NUL behind it; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_string_len(string: Option<&XcshString>) -> usize {
    string.map_or(0, |string| string.0.view().len)
}

/// Frees a string. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_string_free(string: Option<Box<XcshString>>) {
    border::free(string);
}

/// How many strings there are in a list; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_strings_len(strings: Option<&XcshStrings>) -> usize {
    strings.map_or(0, |strings| strings.0.len())
}

/// The string at `index`, counted from 0, borrowed until the list is freed. It has no NUL behind it. Errors:
/// XCSH_INVALID_ARGUMENT where there is no such string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_strings_get(
    strings: Option<&XcshStrings>,
    index: usize,
    string: *mut XcshStr,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let string = out(string, "string")?;
        let all = &input::handle(strings, "strings")?.0;
        string.set(XcshStr::of(input::at(all, index, "string")?.as_bytes()));
        Ok(())
    })
}

/// Frees a list of strings. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_strings_free(strings: Option<Box<XcshStrings>>) {
    border::free(strings);
}
