//! The agent's directories.

use pyo3::prelude::*;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use xcsh_session::dirs::{AgentDirs as CoreDirs, Environment, Layout};

/// The directories of an agent, as absolute paths. None of them need exist.
#[pyclass(frozen, eq, module = "xcsh_session")]
#[derive(PartialEq)]
pub(crate) struct AgentDirs {
    pub(crate) dirs: CoreDirs,
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The environment that a script sees: it can differ from the one of the process.
pub(crate) fn environment(py: Python<'_>, env: Option<HashMap<OsString, OsString>>) -> PyResult<Environment> {
    let env = match env {
        Some(env) => env,
        None => {
            let environ = py.import("os")?.getattr("environ")?;
            py.import("builtins")?.getattr("dict")?.call1((environ,))?.extract()?
        }
    };
    Ok(env.into_iter().collect())
}

#[pymethods]
impl AgentDirs {
    #[staticmethod]
    #[pyo3(signature = (env=None))]
    fn from_env(py: Python<'_>, env: Option<HashMap<OsString, OsString>>) -> PyResult<AgentDirs> {
        let env = environment(py, env)?;
        let dirs = py.detach(|| CoreDirs::from_env(&env, Path::exists).with_real_paths(real));
        Ok(AgentDirs { dirs })
    }

    #[staticmethod]
    fn at(py: Python<'_>, agent_dir: PathBuf) -> PyResult<AgentDirs> {
        let env = environment(py, None)?;
        Ok(AgentDirs { dirs: py.detach(|| CoreDirs::at_in(agent_dir, &env).with_real_paths(real)) })
    }

    #[getter]
    fn agent(&self) -> &Path {
        &self.dirs.agent
    }

    #[getter]
    fn sessions(&self) -> &Path {
        &self.dirs.sessions
    }

    #[getter]
    fn blobs(&self) -> &Path {
        &self.dirs.blobs
    }

    #[getter]
    fn terminal_sessions(&self) -> &Path {
        &self.dirs.terminal_sessions
    }

    #[getter]
    fn history_db(&self) -> &Path {
        &self.dirs.history_db
    }

    #[pyo3(signature = (cwd, *, home_relative=false))]
    fn session_dir(&self, cwd: PathBuf, home_relative: bool) -> PathBuf {
        let layout = if home_relative { Layout::HomeRelative } else { Layout::Document };
        let cwd = std::path::absolute(&cwd).unwrap_or(cwd);
        self.dirs.session_dir(&cwd, layout)
    }

    fn session_dirs(&self, cwd: PathBuf) -> Vec<PathBuf> {
        let cwd = std::path::absolute(&cwd).unwrap_or(cwd);
        self.dirs.session_dirs(&cwd)
    }

    fn __repr__(&self) -> String {
        format!("AgentDirs(agent={:?})", self.dirs.agent)
    }
}
