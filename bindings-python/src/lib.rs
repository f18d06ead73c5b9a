//! The native half of the Python package `xcsh_session`: it hands lines and decoded values over and holds no rules.
//! The classes, iterators and exceptions that a script sees are Python's.
//!
//! Invariants: whatever can wait, for a disk, a lock or a parser, runs without the interpreter's lock (`run`); what
//! the library logs meanwhile is delivered afterwards (`logging`); a handle belongs to the process that made it
//! (`process`).

mod blobs;
mod convert;
mod decode;
mod dirs;
mod discovery;
mod error;
mod functions;
mod history;
mod logging;
mod options;
mod process;
mod store;

use pyo3::prelude::*;

/// Does something that may take long, or wait, without the interpreter's lock.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, xcsh_session::Error> + Send,
) -> PyResult<T> {
    let result = py.detach(work);
    logging::deliver(py);
    result.map_err(|error| error::raise(py, &error))
}

/// The native module.
// Free-threaded interpreters have not been tested.
#[pymodule(gil_used = true)]
mod _native {
    use crate::convert;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::blobs::BlobStore;
    #[pymodule_export]
    use crate::dirs::AgentDirs;
    #[pymodule_export]
    use crate::discovery::{
        find_most_recent_session, gc_blobs, list_all, list_sessions, recent_sessions, resolve_resumable_session,
    };
    #[pymodule_export]
    use crate::functions::{
        build_session_context, delete_session, load_entries, loads, migrate_entries, parse_entries,
    };
    #[pymodule_export]
    use crate::history::History;
    #[pymodule_export]
    use crate::logging::deliver_logs;
    #[pymodule_export]
    use crate::store::{State, Store};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::logging::install();
        for (name, form) in [("RAW", convert::RAW), ("VALUE", convert::VALUE)] {
            module.add(name, form)?;
        }
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("CURRENT_SESSION_VERSION", xcsh_session::CURRENT_SESSION_VERSION)
    }
}
