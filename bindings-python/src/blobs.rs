//! The blob store.

use crate::error::invalid;
use crate::run;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xcsh_session::blob::{BlobRef, BlobStore as CoreStore};
use xcsh_session::storage::FileSessionStorage;

/// A directory of blobs.
#[pyclass(frozen, module = "xcsh_session._native")]
pub(crate) struct BlobStore {
    pub(crate) blobs: Arc<CoreStore>,
}

/// From a reference or from the hash alone.
fn blob(py: Python<'_>, name: &str) -> PyResult<BlobRef> {
    let found = BlobRef::parse(name).or_else(|| BlobRef::from_hex(name));
    found.ok_or_else(|| invalid(py, format!("{name:?} names no blob: it must be 64 lower-case hex digits")))
}

#[pymethods]
impl BlobStore {
    #[new]
    fn new(dir: PathBuf) -> BlobStore {
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        BlobStore { blobs: Arc::new(CoreStore::new(Arc::new(FileSessionStorage::new()), dir)) }
    }

    fn dir(&self) -> &Path {
        self.blobs.dir()
    }

    fn path(&self, py: Python<'_>, name: &str) -> PyResult<PathBuf> {
        Ok(self.blobs.path(&blob(py, name)?))
    }

    fn put(&self, py: Python<'_>, data: PyBackedBytes) -> PyResult<String> {
        run(py, || self.blobs.put(&data)).map(|blob| blob.hex())
    }

    fn get<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let blob = blob(py, name)?;
        let bytes = run(py, || self.blobs.get(&blob))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn has(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let blob = blob(py, name)?;
        run(py, || self.blobs.has(&blob))
    }

    fn verify(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let blob = blob(py, name)?;
        run(py, || self.blobs.verify(&blob))
    }
}
