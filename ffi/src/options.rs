//! Options: where everything lies and how managers behave.

use crate::border;
use crate::error::XcshError;
use crate::input::{choice, field, handle, items, optional, text};
use crate::output::out;
use crate::status::XcshStatus;
use crate::string::{XcshStr, XcshString};
use session::breadcrumb::TerminalId;
use session::dirs::{AgentDirs, Environment, Layout};
use session::storage::MemorySessionStorage;
use session::{ManagerOptions, ModelResolution, OnInvalid, Profile, ReadOptions};
use std::ffi::c_char;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// As the format's document says.
pub const XCSH_PROFILE_DOCUMENT: u32 = 0;
/// As today's agent does: XCSH_LAYOUT_HOME_RELATIVE, XCSH_MODEL_LATEST, and a migrated file written at the next write.
pub const XCSH_PROFILE_AGENT: u32 = 1;

/// Sessions of /srv/pi go to --srv-pi--.
pub const XCSH_LAYOUT_DOCUMENT: u32 = 0;
/// Directory names follow from the path below the home directory, or below the one for temporary files.
pub const XCSH_LAYOUT_HOME_RELATIVE: u32 = 1;

/// As the options that the session was read with say.
pub const XCSH_MODEL_DEFAULT: u32 = 0;
/// The default model of a context is that of the last model_change; only where there is none, that of the last assistant
/// message.
pub const XCSH_MODEL_CHANGE: u32 = 1;
/// The default model of a context is that of the newest of model_change and assistant message.
pub const XCSH_MODEL_LATEST: u32 = 2;

/// A file that is no session is moved aside whole and a new session takes its place.
pub const XCSH_ON_INVALID_MOVE_ASIDE: u32 = 0;
/// A file that is no session is left alone; opening it fails with XCSH_NOT_A_SESSION.
pub const XCSH_ON_INVALID_REFUSE: u32 = 1;

/// The agent directory.
pub const XCSH_DIR_AGENT: u32 = 0;
/// Holds one directory per working directory.
pub const XCSH_DIR_SESSIONS: u32 = 1;
/// Holds the blobs.
pub const XCSH_DIR_BLOBS: u32 = 2;
/// Holds one breadcrumb per terminal.
pub const XCSH_DIR_TERMINAL_SESSIONS: u32 = 3;
/// The database of the prompt history, a file.
pub const XCSH_DIR_HISTORY_DB: u32 = 4;

/// Where sessions, blobs and breadcrumbs lie, and how managers behave. Free it with xcsh_options_free(). What is made
/// with options copies them: changing or freeing them later does not matter to it.
pub struct XcshOptions(Mutex<Chosen>);

struct Chosen {
    options: ManagerOptions,
    env: Environment,
}

/// An environment variable.
#[repr(C)]
pub struct XcshEnvVar {
    /// Its name.
    pub name: XcshStr,
    /// Its value.
    pub value: XcshStr,
}

impl XcshOptions {
    fn new(env: Environment) -> XcshOptions {
        let options = ManagerOptions::from_env(&env);
        XcshOptions(Mutex::new(Chosen { options, env }))
    }

    fn chosen(&self) -> MutexGuard<'_, Chosen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self) -> ManagerOptions {
        self.chosen().options.clone()
    }

    fn change(&self, change: impl FnOnce(&mut ManagerOptions)) {
        change(&mut self.chosen().options);
    }
}

/// What reading a session needs of options.
pub(crate) fn read_options(options: &ManagerOptions) -> ReadOptions {
    ReadOptions { model_resolution: options.model_resolution, blobs: Some(options.blob_store()) }
}

/// The choice of XCSH_MODEL_..; `None` for XCSH_MODEL_DEFAULT.
pub(crate) fn model_resolution(number: u32) -> Result<Option<ModelResolution>, crate::error::Failure> {
    let choices = [
        (XCSH_MODEL_DEFAULT, None),
        (XCSH_MODEL_CHANGE, Some(ModelResolution::ModelChange)),
        (XCSH_MODEL_LATEST, Some(ModelResolution::Latest)),
    ];
    choice(&choices, number, "XCSH_MODEL")
}

/// Options with the defaults of XCSH_PROFILE_DOCUMENT, directories and terminal as the environment of this process says.
/// Where the host has an environment of its own (an interpreter, a server that acts for others), use
/// xcsh_options_from_env().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_new(options: *mut *mut XcshOptions, err: *mut *mut XcshError) -> XcshStatus {
    border!(err, {
        let options = out(options, "options")?;
        options.give(XcshOptions::new(Environment::from_process()));
        Ok(())
    })
}

/// Like xcsh_options_new(), with the `count` variables at `vars` instead of the environment of this process. Of a name
/// that comes twice the last value counts; variables that the library has no use for are ignored, so the whole
/// environment can be passed. Errors: XCSH_INVALID_UTF8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_from_env(
    vars: *const XcshEnvVar,
    count: usize,
    options: *mut *mut XcshOptions,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let options = out(options, "options")?;
        let mut env = Vec::new();
        for var in items(vars, count, "vars")? {
            env.push((field(var.name, "a variable's name")?, field(var.value, "a variable's value")?));
        }
        options.give(XcshOptions::new(env.into_iter().collect()));
        Ok(())
    })
}

/// Frees options. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_options_free(options: Option<Box<XcshOptions>>) {
    border::free(options);
}

/// Sets all that a profile decides: layout, model resolution, when a migrated file is written. `profile` is one of
/// XCSH_PROFILE_..
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_profile(
    options: Option<&XcshOptions>,
    profile: u32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let options = handle(options, "options")?;
        let profiles = [(XCSH_PROFILE_DOCUMENT, Profile::Document), (XCSH_PROFILE_AGENT, Profile::Agent)];
        let profile = choice(&profiles, profile, "XCSH_PROFILE")?;
        options.change(|options| *options = options.clone().profile(profile));
        Ok(())
    })
}

/// Puts sessions, blobs, breadcrumbs and history below this agent directory, whatever the environment says about it. A
/// relative path is taken from the working directory of the process at this moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_agent_dir(
    options: Option<&XcshOptions>,
    dir: *const c_char,
    dir_len: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let dir = text(dir, dir_len, "dir")?;
        let mut chosen = handle(options, "options")?.chosen();
        let dirs = AgentDirs::at_in(dir, &chosen.env);
        chosen.options.dirs = dirs.with_real_paths(|path| std::fs::canonicalize(path).ok());
        Ok(())
    })
}

/// Sets the directory where new sessions go and old ones are looked for. NULL with length 0: one that is made of the
/// working directory, which is the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_session_dir(
    options: Option<&XcshOptions>,
    dir: *const c_char,
    dir_len: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let dir = optional(dir, dir_len, "dir")?;
        handle(options, "options")?.change(|options| options.session_dir = dir.map(Into::into));
        Ok(())
    })
}

/// Sets how the directory of a new session is named: one of XCSH_LAYOUT_..
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_layout(
    options: Option<&XcshOptions>,
    layout: u32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let layouts = [(XCSH_LAYOUT_DOCUMENT, Layout::Document), (XCSH_LAYOUT_HOME_RELATIVE, Layout::HomeRelative)];
        let layout = choice(&layouts, layout, "XCSH_LAYOUT")?;
        handle(options, "options")?.change(|options| options.layout = layout);
        Ok(())
    })
}

/// Sets who decides the default model of a context: XCSH_MODEL_CHANGE or XCSH_MODEL_LATEST. XCSH_MODEL_DEFAULT leaves it
/// as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_model_resolution(
    options: Option<&XcshOptions>,
    resolution: u32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let resolution = model_resolution(resolution)?;
        let options = handle(options, "options")?;
        options.change(|options| options.model_resolution = resolution.unwrap_or(options.model_resolution));
        Ok(())
    })
}

/// Sets whether a file of an older version is written in the current one when it is opened (not 0, the default), or only
/// with the next write (0).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_migrate_at_once(
    options: Option<&XcshOptions>,
    at_once: i32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        handle(options, "options")?.change(|options| options.migrate_at_once = at_once != 0);
        Ok(())
    })
}

/// Sets what becomes of a file that is no session when it is opened: one of XCSH_ON_INVALID_..
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_on_invalid(
    options: Option<&XcshOptions>,
    on_invalid: u32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let choices = [(XCSH_ON_INVALID_MOVE_ASIDE, OnInvalid::MoveAside), (XCSH_ON_INVALID_REFUSE, OnInvalid::Refuse)];
        let on_invalid = choice(&choices, on_invalid, "XCSH_ON_INVALID")?;
        handle(options, "options")?.change(|options| options.on_invalid = on_invalid);
        Ok(())
    })
}

/// Sets whether managers only read (not 0): nothing is ever written, writes fail with XCSH_READ_ONLY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_read_only(
    options: Option<&XcshOptions>,
    read_only: i32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        handle(options, "options")?.change(|options| options.read_only = read_only != 0);
        Ok(())
    })
}

/// Sets how many milliseconds a write waits for another writer of the same file before it fails with XCSH_LOCKED. The
/// default is 5000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_lock_wait(
    options: Option<&XcshOptions>,
    milliseconds: u64,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        handle(options, "options")?.change(|options| options.lock_wait = Duration::from_millis(milliseconds));
        Ok(())
    })
}

/// Sets the terminal whose last session is noted and found again by xcsh_manager_continue_recent(), by the device of its
/// tty ("/dev/pts/3"). NULL with length 0, or a text that names no tty device: no terminal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_set_terminal(
    options: Option<&XcshOptions>,
    tty: *const c_char,
    tty_len: usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let tty = optional(tty, tty_len, "tty")?;
        let terminal = TerminalId::detect(&Environment::default(), tty);
        handle(options, "options")?.change(|options| options.terminal = terminal);
        Ok(())
    })
}

/// Puts a storage in memory in the place of the file system, for tests. Everything that is made with these options
/// shares it; it goes away with the last of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_use_memory(
    options: Option<&XcshOptions>,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let storage = Arc::new(MemorySessionStorage::new());
        handle(options, "options")?.change(|options| options.storage = storage);
        Ok(())
    })
}

/// Where something of the agent lies: `which` is one of XCSH_DIR_.. It need not exist. Free `path` with
/// xcsh_string_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_dir(
    options: Option<&XcshOptions>,
    which: u32,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        let dirs = handle(options, "options")?.get().dirs;
        let all: [(u32, &Path); 5] = [
            (XCSH_DIR_AGENT, &dirs.agent),
            (XCSH_DIR_SESSIONS, &dirs.sessions),
            (XCSH_DIR_BLOBS, &dirs.blobs),
            (XCSH_DIR_TERMINAL_SESSIONS, &dirs.terminal_sessions),
            (XCSH_DIR_HISTORY_DB, &dirs.history_db),
        ];
        path.give(XcshString::path(choice(&all, which, "XCSH_DIR")?)?);
        Ok(())
    })
}

/// The directory where new sessions of a working directory go. It need not exist. Free `dir` with xcsh_string_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_options_session_dir(
    options: Option<&XcshOptions>,
    cwd: *const c_char,
    cwd_len: usize,
    dir: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let dir = out(dir, "dir")?;
        let cwd = text(cwd, cwd_len, "cwd")?;
        dir.give(XcshString::path(&handle(options, "options")?.get().dir_for(Path::new(cwd)))?);
        Ok(())
    })
}
