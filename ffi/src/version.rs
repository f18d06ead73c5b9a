//! Which library this is.

use std::ffi::{CStr, c_char};

/// The ABI that this header describes; compare it with xcsh_abi_version(). The upper 16 bits are the major number, which is
/// also the number in the soname: it changes when something that existed is removed or means something else. The
/// lower 16 bits are the minor number: it counts up when functions, constants or status numbers are added.
pub const XCSH_ABI_VERSION: u32 = 1;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("the version has a NUL"),
};

/// The version of the library, such as "0.1.0", as a NUL-terminated string that lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The XCSH_ABI_VERSION that the library was built with. A program runs with a library of the same major number (the
/// upper 16 bits) and of its own or a later minor number (the lower 16 bits).
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_abi_version() -> u32 {
    XCSH_ABI_VERSION
}
