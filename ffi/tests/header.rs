//! `include/xcsh_session.h` is what cbindgen makes of the sources, and the list of exported functions is what was agreed
//! on. After a change: `XCSH_BLESS=1 cargo test -p xcsh-session-ffi --test header`.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn compare(path: &Path, made: &str) {
    if std::env::var_os("XCSH_BLESS").is_some() {
        std::fs::write(path, made).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let differs = committed.lines().zip(made.lines()).position(|(old, new)| old != new);
    assert!(
        committed == made,
        "{} is not what the sources give (line {}); run this test with XCSH_BLESS=1 and read README.md about the ABI",
        path.display(),
        differs.unwrap_or(committed.lines().count().min(made.lines().count())) + 1
    );
}

fn header() -> String {
    let config = cbindgen::Config::from_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("cbindgen.toml")).unwrap();
    let bindings =
        cbindgen::Builder::new().with_crate(env!("CARGO_MANIFEST_DIR")).with_config(config).generate().unwrap();
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn header_is_what_the_sources_give() {
    compare(&root().join("include/xcsh_session.h"), &header());
}

#[test]
fn symbols_are_what_the_header_declares() {
    let header = header();
    let mut names: Vec<&str> = header
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '('))
        .filter_map(|word| word.split_once('(').map(|(name, _)| name))
        .filter(|name| name.starts_with("xcsh_") && header.contains(&format!("{name}(")))
        .collect();
    // Comments name functions that are declared too.
    names.sort_unstable();
    names.dedup();
    assert!(names.len() > 100, "{}", names.len());
    compare(&root().join("ffi/symbols.txt"), &(names.join("\n") + "\n"));
}

#[test]
fn comments_are_for_c() {
    let header = header();
    for word in ["# Safety", "`None`", "`Some", "Option<", "unsafe", "::", "[`", "&str", "Vec<", "TODO"] {
        assert!(!header.contains(word), "{word} is not for C programmers");
    }
    for line in header.lines() {
        assert!(line.len() <= 140, "too long: {line}");
    }
}
