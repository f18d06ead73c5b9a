//! JSON texts to Python values, equal to what `json.loads` gives, of the same types and in the same order.
//!
//! Why not `json.loads` itself: it recurses, so that a deeply nested value is an error, it needs the text as a `str`
//! first, and it reads strings character by character, where most of a session is long strings. Nothing here
//! recurses.

use memchr::{memchr2, memchr2_iter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

/// Longer keys are rarely met twice.
const LONGEST_KEY: usize = 32;
const KEYS: usize = 256;

/// Decodes texts one after another; what it remembers are their keys, which are few and come again.
pub(crate) struct Decoder<'py, 'a> {
    py: Python<'py>,
    keys: Vec<Option<(&'a [u8], Bound<'py, PyString>)>>,
    /// A string whose escapes are resolved, in UTF-8 but for lone surrogates.
    unescaped: Vec<u8>,
}

/// A container that is being filled.
enum Open<'py> {
    List(Bound<'py, PyList>),
    /// With the key whose value comes next.
    Dict(Bound<'py, PyDict>, Option<Bound<'py, PyString>>),
}

impl<'py> Open<'py> {
    fn into_any(self) -> Bound<'py, PyAny> {
        match self {
            Open::List(list) => list.into_any(),
            Open::Dict(dict, _) => dict.into_any(),
        }
    }
}

/// The value of one text.
pub(crate) fn decode<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    Decoder::new(py, 0).decode(text)
}

/// The values of several texts.
pub(crate) fn decode_all<'py>(py: Python<'py>, texts: &[String]) -> PyResult<Bound<'py, PyList>> {
    let mut decoder = Decoder::new(py, KEYS);
    let list = PyList::empty(py);
    for text in texts {
        list.append(decoder.decode(text)?)?;
    }
    Ok(list)
}

impl<'py, 'a> Decoder<'py, 'a> {
    fn new(py: Python<'py>, keys: usize) -> Self {
        Decoder { py, keys: vec![None; keys], unescaped: Vec::new() }
    }

    /// Error: the text is no JSON, which the library has ruled out for what it hands out.
    fn decode(&mut self, text: &'a str) -> PyResult<Bound<'py, PyAny>> {
        let text = text.as_bytes();
        let mut at = 0;
        let mut stack: Vec<Open<'py>> = Vec::new();
        loop {
            let value = match next_token(text, &mut at) {
                Some(b'{') => {
                    stack.push(Open::Dict(PyDict::new(self.py), None));
                    continue;
                }
                Some(b'[') => {
                    stack.push(Open::List(PyList::empty(self.py)));
                    continue;
                }
                Some(b'}' | b']') => stack.pop().ok_or_else(|| broken(at))?.into_any(),
                Some(b',' | b':') => continue,
                Some(b'"') => {
                    if let Some(Open::Dict(_, key @ None)) = stack.last_mut() {
                        *key = Some(self.key(text, &mut at)?);
                        continue;
                    }
                    self.string(text, &mut at)?.into_any()
                }
                Some(b't') => self.word(text, &mut at, b"rue", PyBool::new(self.py, true).to_owned().into_any())?,
                Some(b'f') => self.word(text, &mut at, b"alse", PyBool::new(self.py, false).to_owned().into_any())?,
                Some(b'n') => self.word(text, &mut at, b"ull", self.py.None().into_bound(self.py))?,
                Some(b'-' | b'0'..=b'9') => self.number(text, &mut at)?,
                _ => return Err(broken(at)),
            };
            match stack.last_mut() {
                None => return Ok(value),
                Some(Open::List(list)) => list.append(value)?,
                Some(Open::Dict(dict, key)) => dict.set_item(key.take().ok_or_else(|| broken(at))?, value)?,
            }
        }
    }

    fn word(&self, text: &[u8], at: &mut usize, rest: &[u8], value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !text[*at..].starts_with(rest) {
            return Err(broken(*at));
        }
        *at += rest.len();
        Ok(value)
    }

    fn key(&mut self, text: &'a [u8], at: &mut usize) -> PyResult<Bound<'py, PyString>> {
        let rest = &text[*at..];
        let bound = &rest[..rest.len().min(LONGEST_KEY + 1)];
        let end = memchr2(b'"', b'\\', bound).filter(|&end| bound[end] == b'"' && !self.keys.is_empty());
        let Some(end) = end else { return self.string(text, at) };
        let key = &rest[..end];
        let byte = |at: usize| usize::from(key.get(at).copied().unwrap_or(0));
        let place = (byte(0) * 7 + byte(end / 2) * 31 + byte(end.wrapping_sub(1)) * 131 + end) % KEYS;
        if let Some((known, string)) = &self.keys[place]
            && *known == key
        {
            *at += end + 1;
            return Ok(string.clone());
        }
        let string = self.string(text, at)?;
        self.keys[place] = Some((key, string.clone()));
        Ok(string)
    }

    /// The string that begins here, behind its quote.
    fn string(&mut self, text: &'a [u8], at: &mut usize) -> PyResult<Bound<'py, PyString>> {
        let rest = &text[*at..];
        let mut marks = memchr2_iter(b'"', b'\\', rest);
        let first = marks.next().ok_or_else(|| broken(*at))?;
        if rest[first] == b'"' {
            *at += first + 1;
            return utf8(self.py, &rest[..first]);
        }
        self.unescaped.clear();
        let (mut done, mut mark, mut lone) = (0, first, false);
        loop {
            self.unescaped.extend_from_slice(&rest[done..mark]);
            if rest[mark] == b'"' {
                *at += mark + 1;
                break;
            }
            done = mark + 2;
            match rest.get(mark + 1) {
                Some(b'u') => {
                    let (character, len) = unicode_escape(&rest[mark..]).ok_or_else(|| broken(*at + mark))?;
                    lone |= (0xd800..0xe000).contains(&character);
                    push(&mut self.unescaped, character);
                    done = mark + len;
                }
                Some(&escape) => self.unescaped.push(match escape {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'b' => 8,
                    b'f' => 12,
                    plain => plain,
                }),
                None => return Err(broken(*at + mark)),
            }
            mark = marks.find(|&mark| mark >= done).ok_or_else(|| broken(*at))?;
        }
        if lone {
            let bytes = PyBytes::new(self.py, &self.unescaped);
            return Ok(bytes.call_method1("decode", ("utf-8", "surrogatepass"))?.cast_into::<PyString>()?);
        }
        utf8(self.py, &self.unescaped)
    }

    /// The number that begins one byte before.
    fn number(&self, text: &[u8], at: &mut usize) -> PyResult<Bound<'py, PyAny>> {
        let start = *at - 1;
        let mut whole = true;
        while let Some(byte) = text.get(*at) {
            match byte {
                b'0'..=b'9' => {}
                b'.' | b'e' | b'E' | b'+' | b'-' => whole = false,
                _ => break,
            }
            *at += 1;
        }
        let digits = std::str::from_utf8(&text[start..*at]).map_err(|_| broken(start))?;
        if whole {
            if let Ok(small) = digits.parse::<i64>() {
                return Ok(small.into_pyobject(self.py)?.into_any());
            }
            // Of very many digits the interpreter makes no integer: then it is a float, as in JavaScript.
            if let Ok(big) = self.py.get_type::<PyInt>().call1((digits,)) {
                return Ok(big);
            }
        }
        let float: f64 = digits.parse().map_err(|_| broken(start))?;
        Ok(PyFloat::new(self.py, float).into_any())
    }
}

/// The first byte that is no white space; `at` is behind it afterwards.
fn next_token(text: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        let byte = *text.get(*at)?;
        *at += 1;
        if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            return Some(byte);
        }
    }
}

/// A piece of UTF-8 between two ASCII characters.
fn utf8<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    PyString::from_bytes(py, bytes)
}

/// The character of an escape `\uXXXX`, or of two that make a pair, and the length of the escape.
fn unicode_escape(escape: &[u8]) -> Option<(u32, usize)> {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
    };
    let high = unit(0)?;
    if (0xd800..0xdc00).contains(&high)
        && let Some(low) = unit(6).filter(|low| (0xdc00..0xe000).contains(low))
    {
        return Some((0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12));
    }
    Some((high, 6))
}

/// As UTF-8, and a lone surrogate as UTF-8 would spell it if it allowed it.
fn push(out: &mut Vec<u8>, character: u32) {
    match char::from_u32(character) {
        Some(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            let low_six = |shift: u32| 0x80 | (character >> shift & 0x3f) as u8;
            out.extend_from_slice(&[0xe0 | (character >> 12) as u8, low_six(6), low_six(0)]);
        }
    }
}

fn broken(at: usize) -> PyErr {
    PyValueError::new_err(format!("not JSON at byte {at}"))
}
