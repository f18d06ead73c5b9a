//! Prompt history.

use crate::convert::Text;
use crate::process::Owned;
use crate::run;
use pyo3::prelude::*;
use std::path::PathBuf;
use xcsh_session::{HistoryEntry, HistoryStorage};

/// A prompt history database.
#[pyclass(frozen, module = "xcsh_session._native")]
pub(crate) struct History {
    history: Owned<HistoryStorage>,
}

type Row = (i64, String, i64, Option<String>);

fn rows(entries: Vec<HistoryEntry>) -> Vec<Row> {
    entries.into_iter().map(|entry| (entry.id, entry.prompt, entry.created_at, entry.cwd)).collect()
}

#[pymethods]
impl History {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<History> {
        Ok(History { history: Owned::new(run(py, || HistoryStorage::open(&path))?) })
    }

    fn path(&self, py: Python<'_>) -> PyResult<PathBuf> {
        Ok(self.history.get(py)?.path().to_owned())
    }

    fn add(&self, py: Python<'_>, prompt: Text, cwd: Option<Text>) -> PyResult<()> {
        let history = self.history.get(py)?;
        run(py, || history.add(&prompt, cwd.as_deref()))
    }

    fn recent(&self, py: Python<'_>, limit: usize) -> PyResult<Vec<Row>> {
        let history = self.history.get(py)?;
        run(py, || history.get_recent(limit)).map(rows)
    }

    fn search(&self, py: Python<'_>, query: Text, limit: usize) -> PyResult<Vec<Row>> {
        let history = self.history.get(py)?;
        run(py, || history.search(&query, limit)).map(rows)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let history = self.history.get(py)?;
        run(py, || history.flush())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let history = self.history.get(py)?;
        run(py, || history.close())
    }
}
