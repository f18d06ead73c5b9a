//! Places that C gives for results.

use crate::error::Failure;
use crate::string::XcshStr;
use std::ptr;

/// A place for a result, already blank. It is written without being read and need not be aligned.
pub(crate) struct Out<T>(*mut T);

/// What is in a place for a result until there is one.
pub(crate) trait Blank {
    const BLANK: Self;
}

impl<T> Blank for *mut T {
    const BLANK: Self = ptr::null_mut();
}

impl<T> Blank for *const T {
    const BLANK: Self = ptr::null();
}

impl Blank for bool {
    const BLANK: Self = false;
}

impl Blank for u32 {
    const BLANK: Self = 0;
}

impl Blank for u64 {
    const BLANK: Self = 0;
}

impl Blank for usize {
    const BLANK: Self = 0;
}

impl Blank for XcshStr {
    const BLANK: Self = XcshStr::NONE;
}

/// A place that must be there. Must hold: it is NULL, or can be written until the call is over.
pub(crate) unsafe fn out<T: Blank>(place: *mut T, what: &str) -> Result<Out<T>, Failure> {
    if place.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: promised by the caller.
    Ok(unsafe { optional_out(place) })
}

/// A place that may be NULL: then nobody wants the result. Must hold: what [`out`] demands.
pub(crate) unsafe fn optional_out<T: Blank>(place: *mut T) -> Out<T> {
    let out = Out(place);
    out.set(T::BLANK);
    out
}

impl<T> Out<T> {
    pub(crate) fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: who made this promised that the place can be written until the call is over, and it does not
            // leave the call. Unaligned, because nothing says that C kept to alignment.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

impl<T> Out<*mut T> {
    /// Hands a value over; who gets it owns it.
    pub(crate) fn give(&self, value: T) {
        if !self.0.is_null() {
            self.set(Box::into_raw(Box::new(value)));
        }
    }

    /// Hands a value over if there is one; NULL says that there is none.
    pub(crate) fn give_some(&self, value: Option<T>) {
        if let Some(value) = value {
            self.give(value);
        }
    }
}
