//! Texts and lists of numbers on their way to JavaScript and back, each in the form that the engine takes fastest.

#![expect(unsafe_code, reason = "napi has no safe way to make a one byte string, or to read a string in one pass")]

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue, TypeName, Uint32Array, ValidateNapiValue};
use napi::{ValueType, check_status, sys};
use std::borrow::Cow;
use std::ptr;

/// A JSON text for `JSON.parse`. It goes across as ASCII, the rest escaped: an engine copies one byte characters as they
/// are, while it decodes UTF-8 slower than it parses what comes out.
pub struct JsonText(pub String);

impl TypeName for JsonText {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for JsonText {
    unsafe fn to_napi_value(env: sys::napi_env, text: JsonText) -> napi::Result<sys::napi_value> {
        let Some(ascii) = ascii(&text.0) else {
            // SAFETY: `env` is the caller's.
            return unsafe { ToNapiValue::to_napi_value(env, text.0) };
        };
        let mut value = ptr::null_mut();
        // SAFETY: `env` is valid, as the caller promises; the engine copies `ascii.len()` bytes and keeps no pointer.
        let status =
            unsafe { sys::napi_create_string_latin1(env, ascii.as_ptr().cast(), ascii.len() as isize, &mut value) };
        check_status!(status, "no string can be made")?;
        Ok(value)
    }
}

/// The same JSON in ASCII; `None` where so much would have to be escaped that it is not worth it.
fn ascii(json: &str) -> Option<Cow<'_, [u8]>> {
    let Some(first) = beyond_ascii(json.as_bytes()) else { return Some(json.as_bytes().into()) };
    // An escape takes six bytes and costs the parser more than a character.
    let mut worth_it = json.len() / 16;
    let mut out = Vec::with_capacity(json.len() + json.len() / 16);
    let (mut rest, mut next) = (json, Some(first));
    while let Some(at) = next {
        let (plain, beyond) = rest.split_at(at);
        out.extend_from_slice(plain.as_bytes());
        let mut characters = beyond.chars();
        for unit in characters.next()?.encode_utf16(&mut [0; 2]) {
            let digit = |shift: u16| b"0123456789abcdef"[usize::from(*unit >> shift & 15)];
            out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
            worth_it = worth_it.checked_sub(1)?;
        }
        rest = characters.as_str();
        next = beyond_ascii(rest.as_bytes());
    }
    out.extend_from_slice(rest.as_bytes());
    Some(out.into())
}

/// Where the first byte is that is no ASCII.
fn beyond_ascii(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 32;
    let is_ascii = |block: &&[u8]| block.iter().fold(0, |all, byte| all | byte) < 0x80;
    let from = BLOCK * bytes.chunks_exact(BLOCK).take_while(is_ascii).count();
    bytes[from..].iter().position(|byte| *byte >= 0x80).map(|at| from + at)
}

/// A text from JavaScript, of any length, copied once.
pub struct Given(pub String);

impl TypeName for Given {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for Given {}

impl FromNapiValue for Given {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Given> {
        let mut units = 0;
        // SAFETY: `env` and `value` are valid, as the caller promises; with no buffer only the length is asked for.
        let status = unsafe { sys::napi_get_value_string_utf16(env, value, ptr::null_mut(), 0, &mut units) };
        check_status!(status, "a string was expected")?;
        // The engine knows the number of units, but for the length in UTF-8 it reads the whole string. Most are ASCII.
        let mut bytes = Vec::<u8>::with_capacity(units + units / 8 + 16);
        let (room, mut len) = (bytes.capacity(), 0);
        // SAFETY: as above; the engine writes at most `room` bytes, a NUL byte included, and says how many before it.
        let status = unsafe { sys::napi_get_value_string_utf8(env, value, bytes.as_mut_ptr().cast(), room, &mut len) };
        check_status!(status, "a string was expected")?;
        // A character takes at most four bytes: had there been one more, there would have been no room for it.
        if len + 4 < room {
            // SAFETY: the engine has written this many bytes.
            unsafe { bytes.set_len(len) };
            if let Ok(text) = String::from_utf8(bytes) {
                return Ok(Given(text));
            }
        }
        // SAFETY: as above.
        unsafe { String::from_napi_value(env, value) }.map(Given)
    }
}

/// Numbers, few of them as an array: that is made in a fraction of the time of a typed array.
pub struct Numbers(pub Vec<u32>);

const FEW: usize = 16;

impl TypeName for Numbers {
    fn type_name() -> &'static str {
        "Array"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ToNapiValue for Numbers {
    unsafe fn to_napi_value(env: sys::napi_env, numbers: Numbers) -> napi::Result<sys::napi_value> {
        if numbers.0.len() <= FEW {
            // SAFETY: `env` is the caller's.
            return unsafe { ToNapiValue::to_napi_value(env, numbers.0) };
        }
        // SAFETY: `env` is the caller's.
        unsafe { ToNapiValue::to_napi_value(env, Uint32Array::new(numbers.0)) }
    }
}
