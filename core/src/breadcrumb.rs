//! Which session a terminal had last: the terminal's id and the text of its breadcrumb (SPEC section 1).

use std::fmt;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use crate::dirs::{self, AgentDirs, Environment};

/// No source of a terminal id is that long; a file name may not be longer than 255 bytes.
const MAX_ID: usize = 200;

/// What tells one terminal from another: `pts-3`, `kitty-7`, `tmux-%2`, `apple-<id>`, `wt-<id>`. It is always one
/// plain file name of the characters `[A-Za-z0-9._%@:+-]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TerminalId(String);

impl TerminalId {
    /// The id of the terminal that an environment belongs to: the tty device (`/dev/pts/3` -> `pts-3`), else the
    /// first that is set of `$KITTY_WINDOW_ID`, `$TMUX_PANE`, `$TERM_SESSION_ID` and `$WT_SESSION`, else none. `tty`
    /// is the device of stdin, if that is a terminal: see [`tty_of_stdin`].
    pub fn detect(env: &Environment, tty: Option<&str>) -> Option<Self> {
        let device = tty.filter(|tty| names_one_terminal(tty)).and_then(|tty| tty.strip_prefix("/dev/"));
        let from_tty = device.and_then(|device| Self::of("", &device.replace('/', "-")));
        from_tty.or_else(|| {
            let sources = [
                ("kitty-", "KITTY_WINDOW_ID"),
                ("tmux-", "TMUX_PANE"),
                ("apple-", "TERM_SESSION_ID"),
                ("wt-", "WT_SESSION"),
            ];
            sources.into_iter().find_map(|(prefix, name)| Self::of(prefix, &env.get(name)?.to_string_lossy()))
        })
    }

    fn of(prefix: &str, value: &str) -> Option<Self> {
        let survives = |c: &char| c.is_ascii_alphanumeric() || "._%@:+-".contains(*c);
        let value: String = value.chars().filter(survives).take(MAX_ID).collect();
        let id = format!("{prefix}{value}");
        (!value.is_empty() && id != "." && id != "..").then_some(TerminalId(id))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where this terminal's breadcrumb lies: `<agent>/terminal-sessions/<terminal-id>`.
    pub fn file(&self, dirs: &AgentDirs) -> PathBuf {
        dirs.terminal_sessions.join(&self.0)
    }
}

impl fmt::Display for TerminalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `/dev/tty` is the controlling terminal of whoever opens it, so it tells no two terminals apart; a deleted device
/// may come back as another terminal.
fn names_one_terminal(tty: &str) -> bool {
    tty != "/dev/tty" && !tty.ends_with(" (deleted)")
}

/// The tty device of stdin (`/dev/pts/3`), if stdin is a terminal and the system shows its device in `/proc`.
pub fn tty_of_stdin() -> Option<String> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    std::fs::read_link("/proc/self/fd/0").ok()?.into_os_string().into_string().ok()
}

/// What a breadcrumb says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breadcrumb {
    /// The working directory in which the session was used.
    pub cwd: PathBuf,
    /// The session's file.
    pub session_file: PathBuf,
}

impl Breadcrumb {
    /// Whether the breadcrumb counts for a working directory: it must be the very same, since a tty can be another
    /// terminal by now. The caller checks that the file is still there.
    pub fn is_for(&self, cwd: &Path) -> bool {
        dirs::normalize(&self.cwd) == dirs::normalize(cwd)
    }
}

/// The text of a breadcrumb: `<cwd>\n<session file>\n`. None where a path cannot be a line of text (it is empty, not
/// UTF-8, or has a line break in it).
pub fn format(cwd: &Path, session_file: &Path) -> Option<String> {
    let line = |path: &'_ Path| {
        path.to_str().filter(|text| !text.is_empty() && !text.contains(['\n', '\r'])).map(str::to_owned)
    };
    Some(format!("{}\n{}\n", line(cwd)?, line(session_file)?))
}

/// What the text of a breadcrumb says; none where it has no two lines. Further lines are ignored, lines may end in
/// `\r\n`.
pub fn parse(text: &str) -> Option<Breadcrumb> {
    let mut lines =
        text.trim_start_matches(['\r', '\n']).split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let mut path = || lines.next().filter(|line| !line.is_empty()).map(PathBuf::from);
    Some(Breadcrumb { cwd: path()?, session_file: path()? })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Component;

    fn detect(pairs: &[(&str, &str)], tty: Option<&str>) -> Option<String> {
        TerminalId::detect(&pairs.iter().copied().collect(), tty).map(|id| id.to_string())
    }

    #[test]
    fn sources_come_in_order() {
        let all =
            [("WT_SESSION", "b4c1-9"), ("TERM_SESSION_ID", "w0t1p0:8A"), ("TMUX_PANE", "%2"), ("KITTY_WINDOW_ID", "7")];
        assert_eq!(detect(&all, Some("/dev/pts/3")).unwrap(), "pts-3");
        assert_eq!(detect(&all, Some("/dev/ttys004")).unwrap(), "ttys004");
        for (count, id) in [(4, "kitty-7"), (3, "tmux-%2"), (2, "apple-w0t1p0:8A"), (1, "wt-b4c1-9")] {
            assert_eq!(detect(&all[..count], None).unwrap(), id);
        }
        assert_eq!(detect(&[], None), None);
        assert_eq!(detect(&[("KITTY_WINDOW_ID", ""), all[2]], None).unwrap(), "tmux-%2");
        assert_eq!(detect(&[("KITTY_WINDOW_ID", "/ /"), all[2]], None).unwrap(), "tmux-%2");
    }

    #[test]
    fn devices_that_name_no_terminal_do_not_count() {
        for tty in ["/dev/tty", "/dev/pts/3 (deleted)", "/dev/", "/dev/.", "/dev/..", "pipe:[5]", "/home/ana/x", ""] {
            assert_eq!(detect(&[], Some(tty)), None, "{tty}");
        }
        assert_eq!(detect(&[("TMUX_PANE", "%2")], Some("/dev/tty")).unwrap(), "tmux-%2");
    }

    #[test]
    fn only_plain_characters_survive() {
        assert_eq!(detect(&[("TMUX_PANE", "../%2/\n\0é x")], None).unwrap(), "tmux-..%2x");
        assert_eq!(detect(&[], Some("/dev/a/../b")).unwrap(), "a-..-b");
        assert_eq!(detect(&[("WT_SESSION", &"x".repeat(5000))], None).unwrap().len(), 203);
    }

    #[test]
    fn the_breadcrumb_lies_in_its_directory() {
        let env: Environment = [("HOME", "/home/ana")].into_iter().collect();
        let id = TerminalId::detect(&env, Some("/dev/pts/3")).unwrap();
        let file = id.file(&AgentDirs::at_in("/agent", &env));
        assert_eq!(file, Path::new("/agent/terminal-sessions/pts-3"));
        assert_eq!(id.as_str(), "pts-3");
    }

    #[test]
    fn a_test_run_has_a_tty_or_none() {
        assert!(tty_of_stdin().is_none_or(|tty| tty.starts_with("/dev/")));
    }

    #[test]
    fn formats_and_parses() {
        let text = format(Path::new("/srv/pi"), Path::new("/s/a.jsonl")).unwrap();
        assert_eq!(text, "/srv/pi\n/s/a.jsonl\n");
        let expected = Breadcrumb { cwd: "/srv/pi".into(), session_file: "/s/a.jsonl".into() };
        for text in [
            &text[..],
            "/srv/pi\r\n/s/a.jsonl\r\n",
            "/srv/pi\n/s/a.jsonl",
            "/srv/pi\n/s/a.jsonl\nthird\n4",
            "\n/srv/pi\r\n/s/a.jsonl\r",
        ] {
            assert_eq!(parse(text), Some(expected.clone()), "{text:?}");
        }
        for text in ["", "\n", "\n\n", "/srv/pi", "/srv/pi\n", "/srv/pi\n\n", "/srv/pi\n\n/s/a.jsonl\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert!(expected.is_for(Path::new("/srv/./pi/")));
        assert!(!expected.is_for(Path::new("/work")));
    }

    #[test]
    fn paths_that_are_no_line_are_refused() {
        let good = Path::new("/a");
        let not_utf8 = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff"));
        for bad in [Path::new("/a\nb"), Path::new("/a\r"), Path::new(""), not_utf8] {
            assert_eq!(format(bad, good), None);
            assert_eq!(format(good, bad), None);
        }
    }

    proptest! {
        #[test]
        fn ids_are_plain_file_names(value in any::<String>(), tty in any::<String>()) {
            for id in [detect(&[("TMUX_PANE", &value)], None), detect(&[], Some(&format!("/dev/{tty}")))] {
                let Some(id) = id else { continue };
                let components: Vec<_> = Path::new(&id).components().collect();
                prop_assert_eq!(components, [Component::Normal(id.as_ref())]);
                prop_assert!(id.len() < 255);
            }
        }

        #[test]
        fn what_is_formatted_parses(cwd in any::<String>(), file in any::<String>()) {
            if let Some(text) = format(Path::new(&cwd), Path::new(&file)) {
                prop_assert_eq!(parse(&text), Some(Breadcrumb { cwd: cwd.into(), session_file: file.into() }));
            }
        }
    }
}
