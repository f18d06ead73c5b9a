//! Where everything lies: the agent's directories, and the session directories of a working directory
//! (SPEC section 1). Nothing here touches a file; what must be looked up is given as a closure.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

const APP: &str = "xcsh";

/// The environment variables that this crate reads; [`Environment`] keeps these and drops the rest.
const VARIABLES: [&str; 13] = [
    "PI_CODING_AGENT_DIR",
    "PI_CONFIG_DIR",
    "HOME",
    "USERPROFILE",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "KITTY_WINDOW_ID",
    "TMUX_PANE",
    "TERM_SESSION_ID",
    "WT_SESSION",
    "TMPDIR",
    "TMP",
    "TEMP",
];

/// The environment variables that decide about directories and the terminal id. A binding collects its host's
/// (`process.env`, `os.environ`), because the process environment that native code sees can differ from it.
///
/// ```
/// use xcsh_session::dirs::Environment;
/// let env: Environment = [("HOME", "/home/ana"), ("TMUX_PANE", "")].into_iter().collect();
/// assert_eq!(env.get("HOME").unwrap(), "/home/ana");
/// assert_eq!(env.get("TMUX_PANE"), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    values: BTreeMap<&'static str, OsString>,
}

impl Environment {
    /// The names of the variables that count: a binding need not hand over any other.
    pub fn names() -> &'static [&'static str] {
        &VARIABLES
    }

    /// The environment of this process.
    pub fn from_process() -> Self {
        VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect()
    }

    /// The value of a variable; an empty one counts as unset, as it does in the agent.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.values.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The home directory: `$HOME` (on Windows `%USERPROFILE%`), else the one of the account, else the root.
    pub fn home(&self) -> PathBuf {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let set = self.get(name).map(PathBuf::from);
        absolute(&set.or_else(std::env::home_dir).unwrap_or_else(|| PathBuf::from("/")))
    }

    /// The directory for temporary files, as Node's `os.tmpdir()` finds it: `$TMPDIR`, `$TMP`, `$TEMP`, else the
    /// system's.
    pub fn temp(&self) -> PathBuf {
        let names = if cfg!(windows) { ["TEMP", "TMP", "TMPDIR"] } else { ["TMPDIR", "TMP", "TEMP"] };
        let set = names.into_iter().find_map(|name| self.get(name)).map(PathBuf::from);
        absolute(&set.unwrap_or_else(|| if cfg!(windows) { std::env::temp_dir() } else { PathBuf::from("/tmp") }))
    }
}

/// Keeps the variables that matter; of a name given twice the last value counts.
impl<K: AsRef<OsStr>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut values = BTreeMap::new();
        for (key, value) in pairs {
            if let Some(name) = VARIABLES.into_iter().find(|name| key.as_ref() == OsStr::new(name)) {
                values.insert(name, value.into());
            }
        }
        Environment { values }
    }
}

/// Which directory a new session goes to (SPEC section 1). Discovery reads both kinds whichever is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `--<cwd-encoded>--`, as the document says.
    #[default]
    Document,
    /// As recent agents do it: `-<path relative to home>` (home itself: `-`), else `-tmp-<path relative to the
    /// directory for temporary files>` (that directory itself: `-tmp`), else as [`Layout::Document`].
    HomeRelative,
}

/// The agent's directories (SPEC section 1), as absolute paths. None of them need exist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentDirs {
    /// The agent directory, `~/.xcsh/agent` by default.
    pub agent: PathBuf,
    /// Holds one directory per working directory.
    pub sessions: PathBuf,
    /// The blob store.
    pub blobs: PathBuf,
    /// Holds one breadcrumb per terminal.
    pub terminal_sessions: PathBuf,
    /// The database of the prompt history.
    pub history_db: PathBuf,
    /// The home directory, which [`Layout::HomeRelative`] names are relative to.
    pub home: PathBuf,
    /// The directory for temporary files, which `-tmp-` names are relative to.
    pub temp: PathBuf,
    /// What [`AgentDirs::home`] is once symbolic links are followed; see [`AgentDirs::with_real_paths`].
    pub real_home: PathBuf,
    /// What [`AgentDirs::temp`] is once symbolic links are followed; see [`AgentDirs::with_real_paths`].
    pub real_temp: PathBuf,
}

impl AgentDirs {
    /// The directories that an environment asks for: `$PI_CODING_AGENT_DIR` (a leading `~` is the home directory),
    /// else `~/.xcsh/agent`, where `$PI_CONFIG_DIR` replaces `.xcsh`. Only for the default agent directory, and only
    /// on Linux and macOS: where `$XDG_DATA_HOME/xcsh` exists, sessions, blobs and history.db lie in it; where
    /// `$XDG_STATE_HOME/xcsh` exists, the breadcrumbs do. `exists` tells whether a path is there.
    pub fn from_env(env: &Environment, exists: impl Fn(&Path) -> bool) -> Self {
        let home = env.home();
        let config = env.get("PI_CONFIG_DIR").map_or_else(|| format!(".{APP}").into(), PathBuf::from);
        let default = normalize(&below(&home, &config).join("agent"));
        let agent = env.get("PI_CODING_AGENT_DIR").map(|dir| absolute(&expand_home(Path::new(dir), &home)));
        let mut dirs = Self::at_in(agent.as_ref().unwrap_or(&default), env);
        if cfg!(any(target_os = "linux", target_os = "macos")) && dirs.agent == default {
            let xdg = |name| env.get(name).map(|base| absolute(&Path::new(base).join(APP))).filter(|dir| exists(dir));
            if let Some(data) = xdg("XDG_DATA_HOME") {
                dirs.sessions = data.join("sessions");
                dirs.blobs = data.join("blobs");
                dirs.history_db = data.join("history.db");
            }
            if let Some(state) = xdg("XDG_STATE_HOME") {
                dirs.terminal_sessions = state.join("terminal-sessions");
            }
        }
        dirs
    }

    /// [`AgentDirs::from_env`] with the environment and the files of this process.
    pub fn from_process_env() -> Self {
        Self::from_env(&Environment::from_process(), |path| path.exists())
            .with_real_paths(|path| path.canonicalize().ok())
    }

    /// Everything below an explicit agent directory, whatever the environment says about it; home and temporary
    /// directory are those of this process.
    pub fn at(agent_dir: impl AsRef<Path>) -> Self {
        Self::at_in(agent_dir.as_ref(), &Environment::from_process()).with_real_paths(|path| path.canonicalize().ok())
    }

    /// Everything below an explicit agent directory; home and temporary directory are those of `env`.
    pub fn at_in(agent_dir: impl AsRef<Path>, env: &Environment) -> Self {
        let agent = absolute(agent_dir.as_ref());
        let (home, temp) = (env.home(), env.temp());
        AgentDirs {
            sessions: agent.join("sessions"),
            blobs: agent.join("blobs"),
            terminal_sessions: agent.join("terminal-sessions"),
            history_db: agent.join("history.db"),
            agent,
            real_home: home.clone(),
            real_temp: temp.clone(),
            home,
            temp,
        }
    }

    /// Also knows home and the temporary directory by their real paths. Agents compare real paths, so where a
    /// symbolic link leads to home their directory names follow from these. `real` gives the real path of a path, or
    /// none where that fails.
    #[must_use]
    pub fn with_real_paths(mut self, real: impl Fn(&Path) -> Option<PathBuf>) -> Self {
        self.real_home = real(&self.home).unwrap_or_else(|| self.home.clone());
        self.real_temp = real(&self.temp).unwrap_or_else(|| self.temp.clone());
        self
    }

    /// The directory for new sessions of `cwd`, which must be absolute; for [`Layout::HomeRelative`] it should be a
    /// real path, as agents resolve it.
    pub fn session_dir(&self, cwd: &Path, layout: Layout) -> PathBuf {
        let relative = match layout {
            Layout::Document => None,
            Layout::HomeRelative => self.relative_names(&normalize(cwd)).next(),
        };
        self.sessions.join(relative.unwrap_or_else(|| encode_cwd(cwd)))
    }

    /// Every directory that can hold sessions of `cwd` (absolute), that of [`Layout::Document`] first, without
    /// repeats. Where the real path of `cwd` differs, sessions may lie in the directories of that one too.
    pub fn session_dirs(&self, cwd: &Path) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        for name in self.names(&normalize(cwd)) {
            let dir = self.sessions.join(name);
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        dirs
    }

    /// Whether a session whose header names `header_cwd` belongs to `asked_cwd`, given that its file lies in `dir`.
    /// It does not where the header names another working directory that shares the directory's name with the asked
    /// one. A session whose cwd has nothing to do with the name was moved there by hand and belongs; so does one
    /// whose header names no absolute path. The comparison is lexical: paths that are the same only through symbolic
    /// links are the caller's to find.
    pub fn cwd_matches(&self, header_cwd: &Path, asked_cwd: &Path, dir: &Path) -> bool {
        let header = normalize(header_cwd);
        if !header.is_absolute() || header == normalize(asked_cwd) {
            return true;
        }
        let Some(dir_name) = dir.file_name() else { return true };
        !self.names(&header).any(|name| dir_name == OsStr::new(&name))
    }

    fn names(&self, cwd: &Path) -> impl Iterator<Item = String> {
        std::iter::once(encode_cwd(cwd)).chain(self.relative_names(cwd))
    }

    /// In the order of SPEC section 1: home comes before the temporary directory, also where the latter lies within it.
    fn relative_names(&self, cwd: &Path) -> impl Iterator<Item = String> {
        let roots = [(&self.home, ""), (&self.real_home, ""), (&self.temp, "-tmp"), (&self.real_temp, "-tmp")];
        roots.map(|(root, prefix)| relative_name(cwd, root, prefix)).into_iter().flatten()
    }
}

fn relative_name(cwd: &Path, root: &Path, prefix: &str) -> Option<String> {
    let rest = cwd.strip_prefix(root).ok()?;
    if rest.as_os_str().is_empty() {
        return Some(if prefix.is_empty() { "-".to_owned() } else { prefix.to_owned() });
    }
    Some(format!("{prefix}-{}", without_separators(&rest.to_string_lossy())))
}

/// The directory name of a working directory: `/srv/pi` -> `--srv-pi--` (SPEC section 1). The path, which should be
/// absolute, is normalised first; bytes that are not UTF-8 become U+FFFD.
pub fn encode_cwd(cwd: &Path) -> String {
    let cwd = normalize(cwd);
    let text = cwd.to_string_lossy();
    format!("--{}--", without_separators(text.strip_prefix(['/', '\\']).unwrap_or(&text)))
}

fn without_separators(text: &str) -> String {
    text.replace(['/', '\\', ':'], "-")
}

/// The path without `.`, `..`, repeated and trailing separators, as its text says: links are not followed. `..` at
/// the root is the root; a relative path keeps a `..` that leads out of it, and an empty one stays empty.
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match normal.components().next_back() {
                Some(Component::Normal(_)) => {
                    normal.pop();
                }
                Some(Component::RootDir) => {}
                _ => normal.push(".."),
            },
            _ => normal.push(component),
        }
    }
    normal
}

/// A relative path is taken from the working directory of the process at this moment, so that what it means does not
/// change with a later `chdir`.
fn absolute(path: &Path) -> PathBuf {
    normalize(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

/// `path` below `base` even where it is absolute, as Node's `path.join` does it.
fn below(base: &Path, path: &Path) -> PathBuf {
    let parts = path.components().filter(|part| !matches!(part, Component::Prefix(_) | Component::RootDir));
    base.components().chain(parts).collect()
}

fn expand_home(path: &Path, home: &Path) -> PathBuf {
    path.strip_prefix("~").map_or_else(|_| path.to_owned(), |rest| home.join(rest))
}

/// The name of a session's file: `2026-02-16T10-20-30-000Z_<id>.jsonl` for the header timestamp
/// `2026-02-16T10:20:30.000Z` (SPEC section 1). Separators in either part become `-`.
pub fn session_file_name(timestamp: &str, session_id: &str) -> String {
    let clean = |text: &str| text.replace(|c: char| matches!(c, '/' | '\\' | ':') || c.is_control(), "-");
    format!("{}_{}.jsonl", clean(timestamp).replace('.', "-"), clean(session_id))
}

/// Whether a file of this name in a session directory is a session: `*.jsonl`, not hidden. Temporary and `.invalid-`
/// files are not.
pub fn is_session_file_name(name: &str) -> bool {
    !name.starts_with('.') && name.ends_with(".jsonl")
}

/// The id in the name of a session's file: what follows the first `_`, without `.jsonl`. None where the name is of
/// another form.
pub fn session_id_of(file_name: &str) -> Option<&str> {
    let (_, id) = file_name.strip_suffix(".jsonl")?.split_once('_')?;
    (!id.is_empty()).then_some(id)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    fn env(pairs: &[(&str, &str)]) -> Environment {
        [("HOME", "/home/ana")].iter().chain(pairs).copied().collect()
    }

    fn dirs(pairs: &[(&str, &str)]) -> AgentDirs {
        AgentDirs::from_env(&env(pairs), |_| true)
    }

    fn names(dirs: &AgentDirs, cwd: &str) -> Vec<String> {
        let found = dirs.session_dirs(Path::new(cwd));
        found.iter().map(|dir| dir.strip_prefix(&dirs.sessions).unwrap().to_str().unwrap().to_owned()).collect()
    }

    fn name_for_new(dirs: &AgentDirs, cwd: &str, layout: Layout) -> String {
        dirs.session_dir(Path::new(cwd), layout).file_name().unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn the_default_is_below_home() {
        let dirs = dirs(&[]);
        assert_eq!(dirs.agent, Path::new("/home/ana/.xcsh/agent"));
        assert_eq!(dirs.sessions, Path::new("/home/ana/.xcsh/agent/sessions"));
        assert_eq!(dirs.blobs, Path::new("/home/ana/.xcsh/agent/blobs"));
        assert_eq!(dirs.terminal_sessions, Path::new("/home/ana/.xcsh/agent/terminal-sessions"));
        assert_eq!(dirs.history_db, Path::new("/home/ana/.xcsh/agent/history.db"));
        assert_eq!((dirs.home, dirs.temp), (PathBuf::from("/home/ana"), PathBuf::from("/tmp")));
    }

    #[test]
    fn variables_move_the_agent_directory() {
        for (pairs, agent) in [
            (&[("PI_CODING_AGENT_DIR", "/data/agent/")][..], "/data/agent"),
            (&[("PI_CODING_AGENT_DIR", "~")], "/home/ana"),
            (&[("PI_CODING_AGENT_DIR", "~/x/../agent")], "/home/ana/agent"),
            (&[("PI_CODING_AGENT_DIR", "/~/x")], "/~/x"),
            (&[("PI_CODING_AGENT_DIR", "")], "/home/ana/.xcsh/agent"),
            (&[("PI_CONFIG_DIR", ".other")], "/home/ana/.other/agent"),
            (&[("PI_CONFIG_DIR", "/abs/dir")], "/home/ana/abs/dir/agent"),
            (&[("PI_CONFIG_DIR", ".other"), ("PI_CODING_AGENT_DIR", "/a")], "/a"),
            (&[("HOME", "/home/eva")], "/home/eva/.xcsh/agent"),
        ] {
            assert_eq!(dirs(pairs).agent, Path::new(agent), "{pairs:?}");
        }
        let relative = dirs(&[("PI_CODING_AGENT_DIR", "some/agent")]);
        assert_eq!(relative.agent, std::env::current_dir().unwrap().join("some/agent"));
        assert!(Environment::default().home().is_absolute());
    }

    #[test]
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn xdg_counts_where_it_exists_and_only_for_the_default_agent_directory() {
        let pairs = [("XDG_DATA_HOME", "/xdg/data"), ("XDG_STATE_HOME", "/xdg/state")];
        let both = dirs(&pairs);
        assert_eq!(both.agent, Path::new("/home/ana/.xcsh/agent"));
        assert_eq!(both.sessions, Path::new("/xdg/data/xcsh/sessions"));
        assert_eq!(both.blobs, Path::new("/xdg/data/xcsh/blobs"));
        assert_eq!(both.history_db, Path::new("/xdg/data/xcsh/history.db"));
        assert_eq!(both.terminal_sessions, Path::new("/xdg/state/xcsh/terminal-sessions"));

        let state = AgentDirs::from_env(&env(&pairs), |path| path == Path::new("/xdg/state/xcsh"));
        assert_eq!(state.sessions, Path::new("/home/ana/.xcsh/agent/sessions"));
        assert_eq!(state.terminal_sessions, Path::new("/xdg/state/xcsh/terminal-sessions"));
        assert_eq!(AgentDirs::from_env(&env(&pairs), |_| false), dirs(&[]));

        let elsewhere = dirs(&[pairs[0], pairs[1], ("PI_CODING_AGENT_DIR", "/a")]);
        assert_eq!(elsewhere.sessions, Path::new("/a/sessions"));
        assert_eq!(elsewhere.terminal_sessions, Path::new("/a/terminal-sessions"));
        let spelled_out = dirs(&[pairs[0], pairs[1], ("PI_CODING_AGENT_DIR", "~/.xcsh/agent/")]);
        assert_eq!(spelled_out, both);
        let profile = dirs(&[pairs[0], ("PI_CONFIG_DIR", ".other")]);
        assert_eq!(profile.sessions, Path::new("/xdg/data/xcsh/sessions"));
        assert_eq!(AgentDirs::at_in("/a", &env(&pairs)).sessions, Path::new("/a/sessions"));
    }

    #[test]
    fn the_environment_keeps_what_matters() {
        let env: Environment = [("HOME", "/a"), ("PATH", "/bin"), ("HOME", "/b")].into_iter().collect();
        assert_eq!(env.get("HOME"), Some(OsStr::new("/b")));
        assert_eq!(env.get("PATH"), None);
        let from_vars: Environment = std::env::vars_os().collect();
        assert_eq!(from_vars, Environment::from_process());
        let temp = |pairs| self::env(pairs).temp();
        assert_eq!(temp(&[("TMP", "/b/"), ("TEMP", "/c")]), Path::new("/b"));
        assert_eq!(temp(&[("TMP", "/b"), ("TMPDIR", "/a")]), Path::new("/a"));
    }

    #[test]
    fn encodes_working_directories() {
        for (cwd, name) in [
            ("/srv/pi", "--srv-pi--"),
            ("/", "----"),
            ("/a/b-c", "--a-b-c--"),
            ("/a-b/c", "--a-b-c--"),
            ("/a/./b/../c/", "--a-c--"),
            ("//a//b", "--a-b--"),
            (r"/a:b\c", "--a-b-c--"),
            (r"\srv", "--srv--"),
            (r"C:\srv\pi", "--C--srv-pi--"),
            ("/../..", "----"),
            ("/árvore/日本", "--árvore-日本--"),
        ] {
            assert_eq!(encode_cwd(Path::new(cwd)), name, "{cwd}");
        }
        let not_utf8 = Path::new(OsStr::from_bytes(b"/a\xff/b"));
        assert_eq!(encode_cwd(not_utf8), "--a\u{fffd}-b--");
        assert_eq!(dirs(&[]).session_dirs(not_utf8).len(), 1);
    }

    #[test]
    fn normalizes_by_text() {
        for (path, normal) in
            [("/a/../../b", "/b"), ("a/../../b", "../b"), ("./a/", "a"), ("", ""), (".", ""), ("../..", "../..")]
        {
            assert_eq!(normalize(Path::new(path)), Path::new(normal), "{path}");
        }
    }

    #[test]
    fn discovery_reads_both_layouts() {
        let plain = dirs(&[("TMPDIR", "/var/tmp/")]);
        assert_eq!(names(&plain, "/srv/pi"), ["--srv-pi--"]);
        assert_eq!(names(&plain, "/home/ana/a/b:c"), ["--home-ana-a-b-c--", "-a-b-c"]);
        assert_eq!(names(&plain, "/home/ana/"), ["--home-ana--", "-"]);
        assert_eq!(names(&plain, "/home/anabel"), ["--home-anabel--"]);
        assert_eq!(names(&plain, "/var/tmp"), ["--var-tmp--", "-tmp"]);
        assert_eq!(names(&plain, "/var/tmp/x/y"), ["--var-tmp-x-y--", "-tmp-x-y"]);
        let nested = dirs(&[("TMPDIR", "/home/ana/t")]);
        assert_eq!(names(&nested, "/home/ana/t/x"), ["--home-ana-t-x--", "-t-x", "-tmp-x"]);
        assert_eq!(name_for_new(&nested, "/home/ana/t/x", Layout::HomeRelative), "-t-x");
        let home_in_temp = dirs(&[("HOME", "/tmp/h")]);
        assert_eq!(names(&home_in_temp, "/tmp/h/x"), ["--tmp-h-x--", "-x", "-tmp-h-x"]);
        assert_eq!(name_for_new(&home_in_temp, "/tmp/h/x", Layout::HomeRelative), "-x");
        assert_eq!(names(&dirs(&[("TMPDIR", "/home/ana/tmp")]), "/home/ana/tmp/x").len(), 2);
    }

    #[test]
    fn the_layout_chooses_where_new_sessions_go() {
        let dirs = dirs(&[]);
        for (cwd, document, relative) in [
            ("/home/ana/x", "--home-ana-x--", "-x"),
            ("/home/ana", "--home-ana--", "-"),
            ("/tmp/x", "--tmp-x--", "-tmp-x"),
            ("/tmp", "--tmp--", "-tmp"),
            ("/srv/x", "--srv-x--", "--srv-x--"),
        ] {
            assert_eq!(name_for_new(&dirs, cwd, Layout::default()), document);
            assert_eq!(name_for_new(&dirs, cwd, Layout::HomeRelative), relative);
        }
    }

    #[test]
    fn real_paths_of_home_and_temp_count_too() {
        let real = |path: &Path| (path == Path::new("/home/ana")).then(|| PathBuf::from("/data/ana"));
        let dirs = dirs(&[]).with_real_paths(real);
        assert_eq!(names(&dirs, "/data/ana/x"), ["--data-ana-x--", "-x"]);
        assert_eq!(names(&dirs, "/home/ana/x"), ["--home-ana-x--", "-x"]);
        assert_eq!(names(&dirs, "/tmp/x"), ["--tmp-x--", "-tmp-x"]);
    }

    #[test]
    fn sessions_of_another_cwd_with_the_same_name_are_left_out() {
        let dirs = dirs(&[]);
        let matches = |header: &str, asked: &str, name: &str| {
            dirs.cwd_matches(Path::new(header), Path::new(asked), &dirs.sessions.join(name))
        };
        assert!(matches("/a/b-c", "/a/b-c", "--a-b-c--"));
        assert!(matches("/a/b-c/", "/a/./b-c", "--a-b-c--"));
        assert!(!matches("/a-b/c", "/a/b-c", "--a-b-c--"));
        assert!(matches("/moved/here", "/a/b-c", "--a-b-c--"));
        assert!(!matches("/home/ana/tmp/x", "/tmp/x", "-tmp-x"));
        assert!(matches("/home/ana/tmp/x", "/tmp/x", "--tmp-x--"));
        assert!(matches("", "/a/b-c", "--a-b-c--"));
        assert!(matches("a-b/c", "/a/b-c", "--a-b-c--"));
        assert!(matches("/a-b/c", "/a/b-c", "any-other-directory"));
        assert!(dirs.cwd_matches(Path::new("/a"), Path::new("/b"), Path::new("/")));
    }

    #[test]
    fn names_session_files_and_reads_the_id_back() {
        let name = session_file_name("2026-02-16T10:20:30.000Z", "1f9d2a6b9c0d1234");
        assert_eq!(name, "2026-02-16T10-20-30-000Z_1f9d2a6b9c0d1234.jsonl");
        assert_eq!(session_id_of(&name), Some("1f9d2a6b9c0d1234"));
        assert_eq!(session_id_of("x_a_b.jsonl"), Some("a_b"));
        for none in ["x.jsonl", "x_.jsonl", "x_a.json", "", "x_a.jsonl.invalid-2026"] {
            assert_eq!(session_id_of(none), None, "{none}");
        }
        assert!(is_session_file_name(&name));
        for other in [".jsonl", ".x.jsonl", "x.jsonl.tmp", "x.jsonl.invalid-2026", "x"] {
            assert!(!is_session_file_name(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn names_are_single_path_components(cwd in any::<String>(), raw in any::<Vec<u8>>(), root in 0..4usize) {
            let dirs = dirs(&[]);
            let root = ["/", "/home/ana/", "/tmp/", ""][root];
            let raw = PathBuf::from(OsStr::from_bytes(&[root.as_bytes(), &raw].concat()));
            for cwd in [PathBuf::from(format!("{root}{cwd}")), raw] {
                for dir in dirs.session_dirs(&cwd) {
                    prop_assert_eq!(dir.parent(), Some(dirs.sessions.as_path()));
                    let name = dir.file_name().unwrap().to_str().unwrap();
                    prop_assert!(!name.contains(['/', '\\', ':']) && name.starts_with('-'));
                }
                for layout in [Layout::Document, Layout::HomeRelative] {
                    prop_assert!(dirs.session_dirs(&cwd).contains(&dirs.session_dir(&cwd, layout)));
                }
                prop_assert!(dirs.cwd_matches(&cwd, &cwd, &dirs.session_dir(&cwd, Layout::Document)));
            }
        }

        #[test]
        fn normalizing_twice_changes_nothing(path in r"[./a-c]{0,20}") {
            let once = normalize(Path::new(&path));
            prop_assert_eq!(normalize(&once), once.clone());
            prop_assert_eq!(once.is_absolute(), path.starts_with('/'));
        }

        #[test]
        fn session_file_names_never_traverse(timestamp in any::<String>(), id in any::<String>()) {
            let name = session_file_name(&timestamp, &id);
            let components: Vec<_> = Path::new(&name).components().collect();
            prop_assert_eq!(components, [Component::Normal(OsStr::new(&name))]);
        }
    }
}
