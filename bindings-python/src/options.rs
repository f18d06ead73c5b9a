//! How a session is opened, from keyword arguments.

use crate::dirs::{AgentDirs, environment};
use crate::error::invalid;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::Duration;
use xcsh_session::dirs::Layout;
use xcsh_session::{ManagerOptions, ModelResolution, OnInvalid, Profile};

/// The options of a manager, by name. What is absent is as the profile has it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    dirs: Option<Py<AgentDirs>>,
    session_dir: Option<PathBuf>,
    profile: Option<String>,
    layout: Option<String>,
    model_resolution: Option<String>,
    migrate_at_once: Option<bool>,
    on_invalid: Option<String>,
    read_only: Option<bool>,
    lock_timeout: Option<f64>,
    breadcrumb: Option<bool>,
}

/// One of several words.
fn choose<T: Copy>(py: Python<'_>, name: &str, word: &str, words: &[(&str, T)]) -> PyResult<T> {
    let found = words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let known: Vec<_> = words.iter().map(|(known, _)| format!("{known:?}")).collect();
        invalid(py, format!("{name} is {word:?}; it can be {}", known.join(" or ")))
    })
}

pub(crate) fn model_resolution(py: Python<'_>, word: &str) -> PyResult<ModelResolution> {
    let words = [("model_change", ModelResolution::ModelChange), ("latest", ModelResolution::Latest)];
    choose(py, "model_resolution", word, &words)
}

impl Options {
    pub(crate) fn read(self, py: Python<'_>) -> PyResult<ManagerOptions> {
        let env = environment(py, None)?;
        let mut options = py.detach(|| ManagerOptions::from_env(&env));
        if let Some(profile) = &self.profile {
            let words = [("document", Profile::Document), ("agent", Profile::Agent)];
            options = options.profile(choose(py, "profile", profile, &words)?);
        }
        if let Some(dirs) = self.dirs {
            options.dirs = dirs.get().dirs.clone();
        }
        options.session_dir = self.session_dir.map(|dir| std::path::absolute(&dir).unwrap_or(dir));
        if let Some(layout) = &self.layout {
            let words = [("document", Layout::Document), ("home_relative", Layout::HomeRelative)];
            options.layout = choose(py, "layout", layout, &words)?;
        }
        if let Some(word) = &self.model_resolution {
            options.model_resolution = model_resolution(py, word)?;
        }
        if let Some(at_once) = self.migrate_at_once {
            options.migrate_at_once = at_once;
        }
        if let Some(word) = &self.on_invalid {
            let words = [("move_aside", OnInvalid::MoveAside), ("refuse", OnInvalid::Refuse)];
            options.on_invalid = choose(py, "on_invalid", word, &words)?;
        }
        options.read_only = self.read_only.unwrap_or(false);
        if let Some(seconds) = self.lock_timeout {
            options.lock_wait = Duration::try_from_secs_f64(seconds)
                .map_err(|_| invalid(py, format!("lock_timeout is {seconds}; it must be a number of seconds")))?;
        }
        if self.breadcrumb == Some(false) {
            options.terminal = None;
        }
        Ok(options)
    }
}
