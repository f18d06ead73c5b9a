//! Prompt history.

use crate::border::{Answer, Job, guard, promise};
use crate::options::CallOptions;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use std::sync::Arc;
use xcsh_session::{HistoryEntry, HistoryStorage};

#[napi]
pub struct NativeHistory {
    history: Arc<HistoryStorage>,
}

#[napi]
impl NativeHistory {
    #[napi(factory)]
    pub fn open(path: String) -> napi::Result<NativeHistory> {
        guard(|| Ok(NativeHistory { history: Arc::new(HistoryStorage::open(path)?) }))
    }

    #[napi]
    pub fn path(&self) -> String {
        self.history.path().to_string_lossy().into_owned()
    }

    /// Queues a prompt.
    #[napi]
    pub fn add(&self, prompt: String, cwd: Option<String>) -> napi::Result<()> {
        guard(|| self.history.add(&prompt, cwd.as_deref()))
    }

    /// Rows as the JSON of an array.
    #[napi]
    pub fn recent(&self, limit: u32) -> napi::Result<String> {
        guard(|| self.history.get_recent(limit as usize).and_then(rows))
    }

    /// Rows as the JSON of an array.
    #[napi]
    pub fn search(&self, query: String, limit: u32) -> napi::Result<String> {
        guard(|| self.history.search(&query, limit as usize).and_then(rows))
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn flush(&self) -> AsyncTask<Job<()>> {
        let history = Arc::clone(&self.history);
        promise(move || history.flush())
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn close(&self) -> AsyncTask<Job<()>> {
        let history = Arc::clone(&self.history);
        promise(move || history.close())
    }

    #[napi]
    pub fn close_now(&self) -> napi::Result<()> {
        guard(|| self.history.close())
    }
}

fn rows(entries: Vec<HistoryEntry>) -> Answer<String> {
    Ok(serde_json::json!(entries).to_string())
}

/// Where the environment has the prompt history.
#[napi]
pub fn history_path(options: CallOptions) -> napi::Result<String> {
    guard(|| Ok(options.resolve(None).dirs.history_db.to_string_lossy().into_owned()))
}
