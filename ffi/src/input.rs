//! Arguments from C, checked as far as they can be.

use crate::error::Failure;
use crate::string::XcshStr;
use std::ffi::c_char;

/// A handle that must be there.
pub(crate) fn handle<'a, T>(handle: Option<&'a T>, what: &str) -> Result<&'a T, Failure> {
    handle.ok_or_else(|| Failure::null(what))
}

/// An array of `len` items. Where `len` is 0, `data` is not looked at.
///
/// Must hold: `data` is NULL, or `len` is 0, or the items are there, initialised, and stay as they are for `'a`, which
/// is to be no longer than the call.
pub(crate) unsafe fn items<'a, T>(data: *const T, len: usize, what: &str) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Failure::null(what));
    }
    if len.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Failure::argument(format!("{what} cannot have the length {len}")));
    }
    if !data.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned")));
    }
    // SAFETY: not NULL, aligned, no longer than memory can be; the rest is promised by the caller.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// A text. Must hold: what [`items`] demands.
pub(crate) unsafe fn text<'a>(data: *const c_char, len: usize, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: promised by the caller.
    let bytes = unsafe { items(data.cast::<u8>(), len, what) }?;
    std::str::from_utf8(bytes).map_err(|_| Failure::utf8(what, bytes))
}

/// A text that may be absent, which is NULL with length 0. Must hold: what [`items`] demands.
pub(crate) unsafe fn optional<'a>(data: *const c_char, len: usize, what: &str) -> Result<Option<&'a str>, Failure> {
    if data.is_null() && len == 0 {
        return Ok(None);
    }
    // SAFETY: promised by the caller.
    unsafe { text(data, len, what) }.map(Some)
}

/// A text in a struct. Must hold: what [`items`] demands, of its members.
pub(crate) unsafe fn field<'a>(field: XcshStr, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: promised by the caller.
    unsafe { text(field.data, field.len, what) }
}

/// A text in a struct that may be absent. Must hold: what [`items`] demands, of its members.
pub(crate) unsafe fn optional_field<'a>(field: XcshStr, what: &str) -> Result<Option<&'a str>, Failure> {
    // SAFETY: promised by the caller.
    unsafe { optional(field.data, field.len, what) }
}

/// A list of texts. Must hold: what [`items`] demands, of the list and of each text.
pub(crate) unsafe fn texts<'a>(data: *const XcshStr, count: usize, what: &str) -> Result<Vec<&'a str>, Failure> {
    // SAFETY: promised by the caller.
    unsafe { items(data, count, what)?.iter().map(|text| field(*text, what)).collect() }
}

/// The item of a list that an index from C means.
pub(crate) fn at<'a, T>(all: &'a [T], index: usize, what: &str) -> Result<&'a T, Failure> {
    all.get(index).ok_or_else(|| Failure::argument(format!("there is no {what} {index}: there are {}", all.len())))
}

/// A choice that C gives as a number.
pub(crate) fn choice<T: Copy>(choices: &[(u32, T)], number: u32, what: &str) -> Result<T, Failure> {
    let found = choices.iter().find(|(known, _)| *known == number);
    found.map(|(_, value)| *value).ok_or_else(|| Failure::argument(format!("{number} is no {what}")))
}
