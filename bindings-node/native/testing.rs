//! A fault on purpose, for the tests of the border.

use crate::border::{Job, guard, promise};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use xcsh_session::Error;

fn fault() -> Result<bool, Error> {
    if std::env::var_os("XCSH_SESSION_TEST_FAULTS").is_none() {
        return Err(Error::InvalidArgument("faults are for tests only".to_owned()));
    }
    panic!("asked for by a test")
}

#[napi]
pub fn test_fault() -> napi::Result<bool> {
    guard(fault)
}

#[napi(ts_return_type = "Promise<boolean>")]
pub fn test_fault_on_pool() -> AsyncTask<Job<bool>> {
    promise(fault)
}
