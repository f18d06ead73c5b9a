//! How a session manager behaves.

use crate::blob::BlobStore;
use crate::breadcrumb::{TerminalId, tty_of_stdin};
use crate::context::ModelResolution;
use crate::dirs::{AgentDirs, Environment, Layout};
use crate::storage::{FileSessionStorage, SessionStorage};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Which agent the defaults are those of (SPEC, opening).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// As the document says.
    #[default]
    Document,
    /// As today's agent does: `models.default` by the newest, home-relative directory names, a migrated file written
    /// at the next write.
    Agent,
}

impl Profile {
    /// Who decides `models.default`.
    pub fn model_resolution(self) -> ModelResolution {
        match self {
            Profile::Document => ModelResolution::ModelChange,
            Profile::Agent => ModelResolution::Latest,
        }
    }
}

/// What becomes of a file that has bytes but no valid header when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInvalid {
    /// Its bytes go to `<file>.invalid-<timestamp>`, and a new session takes its place.
    #[default]
    MoveAside,
    /// `NotASession`, and the file is left alone.
    Refuse,
}

/// The options of a [`crate::SessionManager`].
#[derive(Clone)]
#[non_exhaustive]
pub struct ManagerOptions {
    /// Where sessions, blobs and breadcrumbs are.
    pub dirs: AgentDirs,
    /// What they are on.
    pub storage: Arc<dyn SessionStorage>,
    /// Where new sessions go and where to look for old ones, instead of a directory made of the cwd.
    pub session_dir: Option<PathBuf>,
    /// How the directory of a new session is named.
    pub layout: Layout,
    /// Who decides `models.default`.
    pub model_resolution: ModelResolution,
    /// Whether a migrated file is written when it is opened, or only with the next write.
    pub migrate_at_once: bool,
    /// What becomes of files that are no sessions.
    pub on_invalid: OnInvalid,
    /// Nothing is ever written; appends fail with `ReadOnly`.
    pub read_only: bool,
    /// How long a write waits for another writer before it fails with `Locked`. Default 5 s.
    pub lock_wait: Duration,
    /// The terminal whose breadcrumb is read and written; none where there is no terminal.
    pub terminal: Option<TerminalId>,
}

impl ManagerOptions {
    /// From the environment of this process. A binding passes the host's: [`ManagerOptions::from_env`].
    pub fn new() -> ManagerOptions {
        ManagerOptions::from_env(&Environment::from_process())
    }

    /// From environment variables, on files.
    pub fn from_env(env: &Environment) -> ManagerOptions {
        let dirs = AgentDirs::from_env(env, Path::exists).with_real_paths(|path| std::fs::canonicalize(path).ok());
        let mut options = ManagerOptions::at(dirs, Arc::new(FileSessionStorage::new()));
        options.terminal = TerminalId::detect(env, tty_of_stdin().as_deref());
        options
    }

    /// In these directories of this storage, without a terminal.
    pub fn at(dirs: AgentDirs, storage: Arc<dyn SessionStorage>) -> ManagerOptions {
        ManagerOptions {
            dirs,
            storage,
            session_dir: None,
            layout: Layout::Document,
            model_resolution: ModelResolution::ModelChange,
            migrate_at_once: true,
            on_invalid: OnInvalid::MoveAside,
            read_only: false,
            lock_wait: Duration::from_secs(5),
            terminal: None,
        }
    }

    /// With what a profile decides.
    pub fn profile(mut self, profile: Profile) -> ManagerOptions {
        let agent = profile == Profile::Agent;
        self.layout = if agent { Layout::HomeRelative } else { Layout::Document };
        self.model_resolution = profile.model_resolution();
        self.migrate_at_once = !agent;
        self
    }

    /// The blob store in [`AgentDirs::blobs`].
    pub fn blob_store(&self) -> Arc<BlobStore> {
        Arc::new(BlobStore::new(Arc::clone(&self.storage), self.dirs.blobs.clone()))
    }

    /// The directory where new sessions of a working directory go.
    pub fn dir_for(&self, cwd: &Path) -> PathBuf {
        self.session_dir.clone().unwrap_or_else(|| self.dirs.session_dir(cwd, self.layout))
    }
}

impl Default for ManagerOptions {
    fn default() -> Self {
        ManagerOptions::new()
    }
}
