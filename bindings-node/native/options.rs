//! From what JavaScript knows (`process.env`, the profile, the arguments) to the core's options.

use crate::storage::NativeStorage;
use napi::bindgen_prelude::ClassInstance;
use napi_derive::napi;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use xcsh_session::dirs::{AgentDirs, Environment};
use xcsh_session::{ManagerOptions, OnInvalid, Profile};

static AGENT_PROFILE: AtomicBool = AtomicBool::new(false);

/// Sets the profile of the process; it counts for what is opened from now on.
#[napi]
pub fn set_agent_profile(agent: bool) {
    AGENT_PROFILE.store(agent, Ordering::Relaxed);
}

/// The environment variables that are worth handing over.
#[napi]
pub fn environment_names() -> Vec<&'static str> {
    Environment::names().to_vec()
}

/// The options of one call.
#[napi(object, object_to_js = false)]
pub struct CallOptions {
    /// Names and values of environment variables, in turn.
    pub env: Vec<String>,
    pub agent_dir: Option<String>,
    pub session_dir: Option<String>,
    pub agent_profile: Option<bool>,
    pub read_only: Option<bool>,
    pub refuse_invalid: Option<bool>,
    pub lock_wait_ms: Option<u32>,
}

impl CallOptions {
    fn environment(&self) -> Environment {
        self.env.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect()
    }

    pub(crate) fn profile(&self) -> Profile {
        let agent = self.agent_profile.unwrap_or_else(|| AGENT_PROFILE.load(Ordering::Relaxed));
        if agent { Profile::Agent } else { Profile::Document }
    }

    pub(crate) fn resolve(&self, storage: Option<&ClassInstance<'_, NativeStorage>>) -> ManagerOptions {
        let env = self.environment();
        let mut options = ManagerOptions::from_env(&env).profile(self.profile());
        if let Some(dir) = &self.agent_dir {
            options.dirs = AgentDirs::at_in(dir, &env).with_real_paths(|path| std::fs::canonicalize(path).ok());
        }
        if let Some(storage) = storage {
            options.storage = Arc::clone(&storage.storage);
        }
        options.session_dir = self.session_dir.as_ref().map(PathBuf::from);
        options.read_only = self.read_only.unwrap_or(false);
        if self.refuse_invalid == Some(true) {
            options.on_invalid = OnInvalid::Refuse;
        }
        if let Some(wait) = self.lock_wait_ms {
            options.lock_wait = Duration::from_millis(wait.into());
        }
        options
    }
}
