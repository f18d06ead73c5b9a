//! Lines on their way to Python.

use crate::decode::{decode, decode_all};
use crate::error::invalid;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// [`Form::Raw`] in Python.
pub(crate) const RAW: u8 = 0;
/// [`Form::Value`] in Python.
pub(crate) const VALUE: u8 = 1;

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
