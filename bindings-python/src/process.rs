//! Handles and `fork`.

use crate::error;
use pyo3::prelude::*;

/// A value that belongs to the process that made it. A forked child has a copy, whose locks another thread of the
/// parent may have held, whose background threads are missing, and whose entries the parent is about to write: the
/// child may neither use nor drop it.
pub(crate) struct Owned<T: Send> {
    value: Option<T>,
    process: u32,
}

impl<T: Send> Owned<T> {
    pub(crate) fn new(value: T) -> Owned<T> {
        Owned { value: Some(value), process: std::process::id() }
    }

    /// Error: this is a forked child.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        match &self.value {
            Some(value) if self.process == std::process::id() => Ok(value),
            _ => Err(error::forked(py, self.process)),
        }
    }
}

impl<T: Send> Drop for Owned<T> {
    fn drop(&mut self) {
        let value = self.value.take();
        if self.process != std::process::id() {
            std::mem::forget(value);
            return;
        }
        // The last entries or prompts may still have to be written.
        let mut value = Some(value);
        Python::try_attach(|py| {
            let value = value.take();
            py.detach(|| drop(value));
        });
    }
}
