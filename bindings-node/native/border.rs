//! Errors, panics and promises on their way to JavaScript.

use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName};
use napi::{Env, Status, Task};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use xcsh_session::Error;

/// What a call that reaches the core gives.
pub(crate) type Answer<T> = Result<T, Error>;

/// Runs the body of a call on this thread.
pub(crate) fn guard<T>(body: impl FnOnce() -> Answer<T>) -> napi::Result<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(answer) => answer.map_err(|error| thrown(&error)),
        Err(panic) => Err(panicked(&*panic)),
    }
}

/// Runs the body of a call on a thread of the pool and gives a Promise.
pub(crate) fn promise<T, F>(body: F) -> AsyncTask<Job<T>>
where
    T: Send + ToNapiValue + TypeName + 'static,
    F: FnOnce() -> Answer<T> + Send + 'static,
{
    AsyncTask::new(Job { body: Some(Box::new(body)) })
}

/// One call on the pool.
pub struct Job<T> {
    body: Option<Box<dyn FnOnce() -> Answer<T> + Send>>,
}

impl<T: Send + ToNapiValue + TypeName + 'static> Task for Job<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let body = self.body.take();
        guard(|| body.map_or_else(|| Err(Error::Closed), |body| body()))
    }

    fn resolve(&mut self, _env: Env, output: T) -> napi::Result<T> {
        Ok(output)
    }
}

fn thrown(error: &Error) -> napi::Error {
    let (io, kind) = (error.io(), error.io().map(|io| io.kind()));
    let text = serde_json::json!({
        "code": error.code(),
        "message": error.to_string(),
        "path": error.path().map(|path| path.to_string_lossy()),
        "line": error.line(),
        "entryId": error.entry_id(),
        "cause": io.map(|io| io.to_string()),
        "errno": io.and_then(std::io::Error::raw_os_error),
        "missing": matches!(error, Error::NotFound { .. }) || kind == Some(std::io::ErrorKind::NotFound),
    });
    napi::Error::new(Status::GenericFailure, text.to_string())
}

fn panicked(panic: &(dyn Any + Send)) -> napi::Error {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let text = serde_json::json!({ "code": "Panic", "message": format!("a fault in the session library: {said}") });
    napi::Error::new(Status::GenericFailure, text.to_string())
}
