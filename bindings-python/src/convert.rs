//! Texts on their way to Python.

use crate::error::invalid;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

/// [`Form::Raw`] in Python.
pub(crate) const RAW: u8 = 0;
/// [`Form::Text`] in Python.
pub(crate) const TEXT: u8 = 1;
/// [`Form::Mixed`] in Python.
pub(crate) const MIXED: u8 = 2;

/// What the caller wants of a line. The library's texts are UTF-8, so `bytes` and `str` are equally exact.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The line exactly as it is, as `bytes`.
    Raw,
    /// The entry as the agent sees it, for `json`: as `str`.
    Text,
    /// The entry as the agent sees it, for whichever decoder reads it: as `bytes` where all give the same
    /// ([`plain`]), else as `str`.
    Mixed,
}

impl<'py> FromPyObject<'_, 'py> for Form {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Form> {
        match object.extract::<u8>()? {
            RAW => Ok(Form::Raw),
            TEXT => Ok(Form::Text),
            MIXED => Ok(Form::Mixed),
            other => Err(invalid(object.py(), format!("no form of a line: {other}"))),
        }
    }
}

impl Form {
    pub(crate) fn give<'py>(self, py: Python<'py>, text: &str) -> Bound<'py, PyAny> {
        let as_bytes = match self {
            Form::Raw => true,
            Form::Text => false,
            Form::Mixed => plain(text.as_bytes()),
        };
        match as_bytes {
            true => PyBytes::new(py, text.as_bytes()).into_any(),
            false => PyString::new(py, text).into_any(),
        }
    }

    pub(crate) fn give_all<'py>(self, py: Python<'py>, lines: &[String]) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, lines.iter().map(|line| self.give(py, line)))
    }
}

/// Whether no decoder silently gives something else than `json` does: only for integers of 19 digits and more, which
/// some read as floats. May be false for a text without any.
fn plain(text: &[u8]) -> bool {
    const RUN: usize = 19;
    // Every run of so many digits covers one of these places.
    let mut at = RUN - 1;
    while let Some(byte) = text.get(at) {
        if byte.is_ascii_digit() {
            let before = text[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let after = text[at..].iter().take(RUN).take_while(|byte| byte.is_ascii_digit()).count();
            if before + after >= RUN {
                return false;
            }
        }
        at += RUN;
    }
    true
}
