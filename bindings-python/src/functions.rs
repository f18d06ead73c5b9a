//! Functions over lists of JSON texts and over files.

use crate::convert::Text;
use crate::decode::{decode, decode_all};
use crate::error::invalid;
use crate::options::model_resolution;
use crate::run;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyList;
use std::path::PathBuf;
use xcsh_session::Leaf;
use xcsh_session::storage::FileSessionStorage;

/// Which leaf: `given` false means that none was named, which is another thing than naming none.
pub(crate) fn leaf(given: bool, leaf: Option<&str>) -> Leaf<'_> {
    match (given, leaf) {
        (false, _) => Leaf::Last,
        (true, None) => Leaf::None,
        (true, Some(id)) => Leaf::Id(id),
    }
}

/// Header and entries of a file, each exactly.
#[pyfunction]
pub(crate) fn load_entries(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyList>> {
    let records = run(py, || xcsh_session::load_entries_from_file(&path))?;
    decode_all(py, &records)
}

/// Header and entries of a text, each exactly.
#[pyfunction]
pub(crate) fn parse_entries(py: Python<'_>, text: PyBackedBytes) -> PyResult<Bound<'_, PyList>> {
    let records = run(py, || Ok(xcsh_session::parse_session_entries(&text)))?;
    decode_all(py, &records)
}

/// The records as the current version has them; None where they are that already.
#[pyfunction]
pub(crate) fn migrate_entries(py: Python<'_>, records: Vec<PyBackedStr>) -> PyResult<Option<Bound<'_, PyList>>> {
    let migrated = run(py, || xcsh_session::migrate_session_entries(&records))?;
    migrated.map(|records| decode_all(py, &records)).transpose()
}

/// The context of entries.
#[pyfunction]
pub(crate) fn build_session_context(
    py: Python<'_>,
    entries: Vec<PyBackedStr>,
    given: bool,
    leaf_id: Option<Text>,
    resolution: &str,
) -> PyResult<Py<PyAny>> {
    let resolution = model_resolution(py, resolution)?;
    let context =
        run(py, || xcsh_session::build_session_context(&entries, leaf(given, leaf_id.as_deref()), resolution))?;
    Ok(decode(py, &context)?.unbind())
}

/// The value of a JSON text.
#[pyfunction]
pub(crate) fn loads(py: Python<'_>, text: PyBackedBytes) -> PyResult<Bound<'_, PyAny>> {
    let text = std::str::from_utf8(&text).map_err(|error| invalid(py, format!("no UTF-8: {error}")))?;
    decode(py, text)
}

/// Removes a session's file and its artifacts.
#[pyfunction]
pub(crate) fn delete_session(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    run(py, || xcsh_session::delete_session_with_artifacts(&FileSessionStorage::new(), &path))
}
