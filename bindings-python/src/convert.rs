//! Lines on their way to Python.

use crate::decode::{decode, decode_all};
use crate::error::invalid;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

/// [`Form::Raw`] in Python.
pub(crate) const RAW: u8 = 0;
/// [`Form::Value`] in Python.
pub(crate) const VALUE: u8 = 1;

/// An id, a name, a prompt. Where it has lone surrogates, which UTF-8 has not, U+FFFD stands for each, as it does where
/// the library reads such an id from a file.
pub(crate) struct Text(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Text> {
        let text = object.cast::<PyString>()?;
        if let Ok(text) = text.to_str() {
            return Ok(Text(text.to_owned()));
        }
        let units: Vec<u8> = text.call_method1("encode", ("utf-16-le", "surrogatepass"))?.extract()?;
        let units = units.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        let characters = char::decode_utf16(units);
        Ok(Text(characters.map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()))
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// What the caller wants of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The line exactly as it is, as `bytes`.
    Raw,
    /// The entry as the agent sees it, decoded.
    Value,
}

impl<'py> FromPyObject<'_, 'py> for Form {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Form> {
        match object.extract::<u8>()? {
            RAW => Ok(Form::Raw),
            VALUE => Ok(Form::Value),
            other => Err(invalid(object.py(), format!("no form of a line: {other}"))),
        }
    }
}

impl Form {
    pub(crate) fn give<'py>(self, py: Python<'py>, line: &str) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Form::Raw => Ok(PyBytes::new(py, line.as_bytes()).into_any()),
            Form::Value => decode(py, line),
        }
    }

    pub(crate) fn give_all<'py>(self, py: Python<'py>, lines: &[String]) -> PyResult<Bound<'py, PyList>> {
        match self {
            Form::Raw => PyList::new(py, lines.iter().map(|line| PyBytes::new(py, line.as_bytes()))),
            Form::Value => decode_all(py, lines),
        }
    }
}
