//! The `inspect` example, run as people run it.

mod real_sessions;

use serde_json::{Value, json};
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const WIDTH: usize = 100;

/// `cargo test` builds examples beside the tests.
fn inspect() -> Command {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("inspect{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{}: build it with cargo build --example inspect", program.display());
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

fn run(args: &[&std::ffi::OsStr]) -> Output {
    inspect().args(args).output().unwrap()
}

fn shown(file: &Path) -> String {
    let output = run(&[file.as_ref()]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", file.display());
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH, "{}: too wide: {line}", file.display());
        assert!(!line.chars().any(char::is_control), "{}: raw control characters: {line:?}", file.display());
    }
    text
}

fn json_of(args: &[&std::ffi::OsStr]) -> Value {
    let output = inspect().args(args).arg("--json").output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The part under a heading.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n{heading}")).unwrap_or_else(|| panic!("no {heading} in {text}"));
    let rest = &text[start + 1..];
    &rest[..rest.find("\n\nEntries").or(rest.find("\n\nContext")).or(rest.find("\n\nUsage")).unwrap_or(rest.len())]
}

struct Written {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

fn written(text: impl AsRef<[u8]>) -> Written {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    std::fs::write(&path, text).unwrap();
    Written { _dir: dir, path }
}

/// A session of user messages: id and parent of each.
fn session(entries: impl Iterator<Item = (usize, Option<usize>)>) -> Written {
    let mut text = r#"{"type":"session","version":3,"id":"s","cwd":"/x"}"#.to_owned() + "\n";
    for (id, parent) in entries {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"e{parent}\""));
        let message = format!(r#"{{"role":"user","content":"text {id}"}}"#);
        writeln!(text, r#"{{"type":"message","id":"e{id}","parentId":{parent},"message":{message}}}"#).unwrap();
    }
    written(text)
}

#[test]
fn real_sessions_are_shown_as_expected() {
    for (file, expected) in real_sessions::all() {
        let found = json_of(&[file.as_ref()]);
        real_sessions::check(&file, &found, &expected);
        for key in ["diagnostics", "id", "cwd", "leaf"] {
            assert!(found.get(key).is_some(), "{}: {key}", file.display());
        }
        let text = shown(&file);
        for part in ["Session ", "\nEntries: ", "\nTree\n", "\nContext: ", "\nUsage\n", "\nDiagnostics\n", "◀ leaf"] {
            assert!(text.contains(part), "{}: {part}", file.display());
        }
    }
}

#[test]
fn without_a_file_the_sample_is_shown() {
    let output = run(&[]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["├─●", "[works]", "◀ leaf", "compactionSummary", "line 16: no record", "acme.lint", "$0.06"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let found = json_of(&[]);
    assert_eq!(found["leaf"], "0a1b2c17");
    assert_eq!(found["entries"], 22);
    assert_eq!(found["roles"], json!({"compactionSummary": 1, "assistant": 3, "user": 2}));
    assert_eq!(found["diagnostics"]["malformedLines"][0]["line"], 16);
}

#[test]
fn what_is_no_session_is_one_line_and_status_1() {
    let dir = tempfile::tempdir().unwrap();
    let (text, empty) = (written("# notes\n"), written(""));
    let other = written("{\"type\":\"message\",\"id\":\"\u{1b}[2J\"}\n");
    let missing = dir.path().join("missing\n\u{1b}[31m.jsonl");
    for (path, reason) in [
        (missing.as_path(), "no such file"),
        (dir.path(), "directory"),
        (&text.path, "not a session file"),
        (&other.path, "not a session file"),
        (&empty.path, "the file is empty"),
    ] {
        for json in [false, true] {
            let output = inspect().arg(path).args(json.then_some("--json")).output().unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{error}");
            assert!(output.stdout.is_empty());
            let line = error.strip_suffix('\n').unwrap();
            assert!(!line.chars().any(char::is_control), "{line:?}");
            assert!(line.starts_with("inspect: ") && line.contains(reason), "{line}");
        }
    }
}

#[test]
fn options() {
    let help = run(&["--help".as_ref()]);
    assert!(help.status.success() && help.stderr.is_empty());
    assert!(String::from_utf8(help.stdout).unwrap().contains("--json"));
    for (args, reason) in [(&["--jsno"][..], "--jsno"), (&["-x", "a"], "-x"), (&["a", "b"], "too many")] {
        let output = inspect().args(args).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(output.stdout.is_empty() && error.lines().count() == 1 && error.contains(reason), "{error}");
    }
    let file = session([(0, None)].into_iter());
    let dir = file.path.parent().unwrap();
    std::fs::rename(&file.path, dir.join("--json")).unwrap();
    let output = inspect().current_dir(dir).args(["--", "--json"]).output().unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"Session s\n"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n".to_owned();
    for i in 0..20_000 {
        // A finding each: more JSON than any pipe holds.
        writeln!(text, r#"{{"type":"custom","id":"e{i}","parentId":"gone{i}"}}"#).unwrap();
    }
    let file = written(text);
    for args in [&[][..], &["--json"]] {
        let mut command = inspect();
        command.arg(&file.path).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(!first.is_empty());
        assert!(output.status.success(), "{:?}", output.status);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

#[test]
fn the_tree_stays_readable_and_tells_what_it_folds() {
    let half = |i: usize| (i, (i > 0).then(|| (i - 1) / 2));
    let comb = |i: usize| (i, i.checked_sub(if i.is_multiple_of(2) { 2 } else { 1 }));
    let shapes: [(&str, usize, Written); 5] = [
        ("a chain", 12, session((0..20_000).map(|i: usize| (i, i.checked_sub(1))))),
        ("branches from one entry", 20, session((0..5_000).map(|i| (i, (i > 0).then_some(0))))),
        ("a branch from each entry of a chain", 130, session((0..10_000).map(comb))),
        ("two branches from each entry", 130, session((0..20_000).map(half))),
        ("roots", 30, session((0..3_000).map(|i| (i, None)))),
    ];
    for (name, most, file) in shapes {
        let text = shown(&file.path);
        let tree = section(&text, "Tree");
        assert!(tree.lines().count() <= most, "{name}: {tree}");
        let drawn = tree.matches('●').count();
        let folded = tree.lines().filter(|line| line.contains('…')).map(entries_folded).sum::<usize>();
        assert_eq!(drawn + folded, json_of(&[file.path.as_ref()])["entries"], "{name}: {tree}");
        assert_eq!(tree.matches("◀ leaf").count(), 1, "{name}: {tree}");
        assert!(tree.lines().all(|line| !line.contains("│ │ │ │ ")), "{name}: {tree}");
    }
}

/// The number before `entries` or `entry`.
fn entries_folded(line: &str) -> usize {
    let words: Vec<_> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.starts_with("entr")).unwrap_or_else(|| panic!("{line}"));
    words[at - 1].replace(',', "").parse().unwrap()
}

#[test]
fn a_side_branch_is_indented_and_the_line_to_the_leaf_is_not() {
    let file = session([(0, None), (1, Some(0)), (2, Some(1)), (3, Some(1)), (4, Some(3))].into_iter());
    let text = shown(&file.path);
    let row = |lead: &str, id: usize, mark: &str| format!("  {lead}● e{id}  user            text {id}{mark}\n");
    let expected = "Tree\n".to_owned()
        + &row("", 0, "")
        + &row("", 1, "")
        + &row("├─", 2, "")
        + &row("", 3, "")
        + row("", 4, "  ◀ leaf").trim_end();
    assert_eq!(section(&text, "Tree"), expected);
}

#[test]
fn nothing_that_a_terminal_acts_on_is_printed() {
    let nasty = r#"a\u001b[2J\u009b31m\u0007\u202e\u2066b\r\n\u0000\u2028"#;
    let header = format!(r#"{{"type":"session","version":3,"id":"{nasty}","cwd":"{nasty}","title":"{nasty}"}}"#);
    let message = format!(r#"{{"type":"message","id":"{nasty}","message":{{"role":"{nasty}","content":"{nasty}"}}}}"#);
    let label = format!(r#"{{"type":"label","id":"l","parentId":"{nasty}","targetId":"{nasty}","label":"{nasty}"}}"#);
    let other = format!(r#"{{"type":"{nasty}","id":"o","parentId":"not {nasty}"}}"#);
    let mode = format!(r#"{{"type":"mode_change","id":"m","parentId":"l","mode":"{nasty}"}}"#);
    let file = written([header, message, label, other, mode].join("\n"));
    let json = run(&[file.path.as_ref(), "--json".as_ref()]);
    let json = String::from_utf8(json.stdout).unwrap();
    for text in [shown(&file.path), json.clone()] {
        let acts = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{2028}".contains(c);
        assert!(!text.contains(acts), "{text:?}");
    }
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["id"], "a\u{1b}[2J\u{9b}31m\u{7}\u{202e}\u{2066}b\r\n\0\u{2028}", "JSON says it exactly");
    assert_eq!(found["mode"], found["id"]);
}
