//! Names of artifacts, the files with the full output of tools: `<n>.<toolType>.log` in a directory beside the
//! session's file (SPEC sections 1 and 8).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Larger numbers are no ids: the agent counts in doubles, which are exact up to here.
const MAX_ID: u64 = 1 << 53;

/// The directory of a session's artifacts: the path of its file without `.jsonl`. A file that is not named
/// `<something>.jsonl` has `<file name>.artifacts`, so that the directory is never the file itself nor one that holds
/// other files.
pub fn artifacts_dir(session_file: &Path) -> PathBuf {
    let stem = session_file.file_stem().filter(|stem| *stem != "." && *stem != "..");
    match (session_file.extension(), stem) {
        (Some(extension), Some(stem)) if extension == "jsonl" => session_file.with_file_name(stem),
        _ => {
            let mut name = session_file.file_name().unwrap_or(OsStr::new("session")).to_owned();
            name.push(".artifacts");
            session_file.with_file_name(name)
        }
    }
}

/// The id for a new artifact, given the names in the directory: one more than the largest there, 0 for the first.
/// Every name of the form `<n>.*` counts, so that no id is given out that [`find`] could mistake for another.
pub fn next_id<'a>(names: impl IntoIterator<Item = &'a str>) -> u64 {
    names.into_iter().filter_map(id_of).max().map_or(0, |largest| largest + 1)
}

fn id_of(name: &str) -> Option<u64> {
    let (id, _) = name.split_once('.')?;
    is_number(id).then(|| id.parse().ok()).flatten().filter(|&id| id < MAX_ID)
}

fn is_number(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
}

/// `<id>.<toolType>.log`. In the tool type everything but letters, digits and `._-@+` becomes `_`, an empty one is
/// `tool`, and one of more than 100 bytes is cut, so that the name is always one plain file name.
pub fn file_name(id: u64, tool_type: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-@+".contains(c) { c } else { '_' };
    let mut room = 100;
    let fits = |c: &char| {
        room -= c.len_utf8() as i32;
        room >= 0
    };
    let tool: String = tool_type.chars().map(plain).take_while(fits).collect();
    let tool = if tool.is_empty() { "tool" } else { &tool };
    format!("{id}.{tool}.log")
}

/// The name of the artifact with an id, given the names in the directory: the first in order of those that start
/// with `<id>.`, `.log` files before others. None for an id that is not a number.
pub fn find<'a>(names: impl IntoIterator<Item = &'a str>, id: &str) -> Option<&'a str> {
    let has_id = |name: &&str| is_number(id) && name.strip_prefix(id).is_some_and(|rest| rest.starts_with('.'));
    names.into_iter().filter(has_id).min_by_key(|name| (!name.ends_with(".log"), *name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    #[test]
    fn the_directory_is_never_the_file_nor_a_directory_above() {
        for (file, dir) in [
            ("/s/2026_a.jsonl", "/s/2026_a"),
            ("/s/a.b.jsonl", "/s/a.b"),
            ("a.jsonl", "a"),
            ("/s/a", "/s/a.artifacts"),
            ("/s/a.txt", "/s/a.txt.artifacts"),
            ("/s/.jsonl", "/s/.jsonl.artifacts"),
            ("/s/..jsonl", "/s/..jsonl.artifacts"),
            ("/s/...jsonl", "/s/...jsonl.artifacts"),
            ("/s/a.JSONL", "/s/a.JSONL.artifacts"),
        ] {
            assert_eq!(artifacts_dir(Path::new(file)), Path::new(dir), "{file}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let path = |bytes| Path::new(OsStr::from_bytes(bytes));
            assert_eq!(artifacts_dir(path(b"/s/\xff.jsonl")), path(b"/s/\xff"));
        }
    }

    #[test]
    fn ids_count_up_from_the_largest() {
        assert_eq!(next_id([]), 0);
        assert_eq!(next_id(["0.bash.log"]), 1);
        assert_eq!(next_id(["9.bash.log", "10.read.log", "2.x.log"]), 11);
        assert_eq!(next_id(["3.bash.log.tmp", "notes.log", "x.7.log", "-8.a.log", "+9.a.log", ".5.log", "4"]), 4);
        assert_eq!(next_id(["18446744073709551615.a.log", "99999999999999999999999.a.log", "1.a.log"]), 2);
    }

    #[test]
    fn names_keep_ordinary_tool_types() {
        assert_eq!(file_name(0, "bash"), "0.bash.log");
        assert_eq!(file_name(12, "mcp__web-search.v2"), "12.mcp__web-search.v2.log");
        assert_eq!(file_name(1, "../../etc/passwd"), "1..._.._etc_passwd.log");
        assert_eq!(file_name(1, r"a\b:c d"), "1.a_b_c_d.log");
        assert_eq!(file_name(1, ""), "1.tool.log");
        assert!(file_name(1, &"é".repeat(1000)).len() < 120);
    }

    #[test]
    fn finds_by_id() {
        let names = ["1.tmp", "11.bash.log", "1.read.log", "1.bash.log", "2.json"];
        assert_eq!(find(names, "1"), Some("1.bash.log"));
        assert_eq!(find(names, "11"), Some("11.bash.log"));
        assert_eq!(find(names, "2"), Some("2.json"));
        for none in ["3", "", "1.", "1.bash", "../1", "+1"] {
            assert_eq!(find(names, none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn names_never_traverse_and_are_found_again(id in 0..MAX_ID, tool in any::<String>()) {
            let name = file_name(id, &tool);
            let components: Vec<_> = Path::new(&name).components().collect();
            prop_assert_eq!(components, [Component::Normal(name.as_ref())]);
            prop_assert!(!name.contains(['\\', ':', '\0']) && name.len() < 255);
            prop_assert_eq!(find([name.as_str()], &id.to_string()), Some(name.as_str()));
            prop_assert_eq!(next_id([name.as_str()]), id + 1);
        }
    }
}
