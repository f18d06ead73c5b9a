//! Errors as Python sees them: the classes are Python's, in `xcsh_session.errors`, which picks one by the code.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use xcsh_session::Error;

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for an error of the library.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let (kind, os) = match (error.io(), error.code()) {
        (Some(cause), _) => (Some(format!("{:?}", cause.kind())), cause.raw_os_error()),
        (None, "NotFound") => (Some("NotFound".to_owned()), None),
        _ => (None, None),
    };
    make(py, (error.code(), error.to_string(), error.path(), error.line(), error.entry_id(), kind, os))
}

/// The exception for a handle that another process made.
pub(crate) fn forked(py: Python<'_>, process: u32) -> PyErr {
    let message = format!("this was opened in process {process}, which forked: open it again in this process");
    make(py, ("Closed", message, None::<&str>, None::<u64>, None::<&str>, None::<&str>, None::<i32>))
}

/// The exception for an argument that makes no sense.
pub(crate) fn invalid(py: Python<'_>, message: String) -> PyErr {
    raise(py, &Error::InvalidArgument(message))
}

fn make<'py>(py: Python<'py>, args: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = MAKE
        .get_or_try_init(py, || Ok(py.import("xcsh_session.errors")?.getattr("_make")?.unbind()))
        .and_then(|function| function.bind(py).call1(args));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
