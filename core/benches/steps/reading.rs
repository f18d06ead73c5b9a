//! Opening a session and asking it, against parsing every line into a tree of values.

use crate::case::{Case, Goal, timed};
use crate::data::Data;
use serde_json::Value;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use xcsh_session::{Leaf, Session};

const PARSE: &str = "serde_json::Value of every line";
const MIB: u64 = 1 << 20;

fn read(path: &Path) -> Session {
    Session::read(path).expect("a generated session can be read")
}

fn parse(path: &Path) -> Vec<Value> {
    let bytes = std::fs::read(path).expect("a generated session can be read");
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("generated lines are JSON")).collect()
}

fn count(size: &str) -> u64 {
    let (digits, unit) = size.split_at(size.len() - 1);
    digits.parse::<u64>().expect("a size is a number and a unit") * if unit == "m" { 1_000_000 } else { 1_000 }
}

fn is_large(size: &str) -> bool {
    count(size) > 100_000
}

pub(crate) fn open(data: &Data, size: &str) -> Case {
    let path = data.session(size);
    let megabytes = std::fs::metadata(&path).map_or(0, |found| found.len()) / 1_000_000;
    let rounds = if count(size) > 10_000 { 5 } else { 15 };
    let ours = path.clone();
    let mut case = Case::new(format!("open, {size} entries, {megabytes} MB"), Box::new(move || timed(|| read(&ours))))
        .rounds(rounds)
        .peak_at_most(64 * MIB + if is_large(size) { 150 * count(size) } else { 0 });
    if !is_large(size) {
        case = case.plain(PARSE, Box::new(move || timed(|| parse(&path))));
    }
    match size {
        "10k" => case.goal(Goal::TimesFaster(8.0)).goal(Goal::Millis(26.0)),
        "100k" => case.goal(Goal::TimesFaster(8.0)).goal(Goal::Millis(270.0)),
        _ => case,
    }
}

/// How near opening is to doing nothing with the bytes: as many threads read them, each through a buffer that stays
/// in its cache.
pub(crate) fn floor(data: &Data, size: &str) -> Case {
    let path = data.session(size);
    let ours = path.clone();
    Case::new(format!("open, {size} entries, against the floor"), Box::new(move || timed(|| read(&ours))))
        .rounds(15)
        .plain("its bytes through buffers, looked at by nobody", Box::new(move || timed(|| stream(&path))))
}

fn stream(path: &Path) {
    const STEP: u64 = 256 << 10;
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let file = File::open(path).expect("a generated session can be read");
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let file = &file;
            scope.spawn(move || {
                let mut buffer = vec![0; STEP as usize];
                let mut offset = thread * STEP;
                while std::os::unix::fs::FileExt::read_at(file, &mut buffer, offset).unwrap_or(0) > 0 {
                    offset += threads * STEP;
                }
            });
        }
    });
}

/// An opened session, and the same file parsed, which happens when the plain way first asks for it.
fn opened(data: &Data, size: &str) -> (Session, Rc<Parsed>) {
    let path = data.session(size);
    (read(&path), Rc::new(Parsed { path, values: OnceCell::new() }))
}

struct Parsed {
    path: PathBuf,
    values: OnceCell<Vec<Value>>,
}

impl Parsed {
    fn values(&self) -> &[Value] {
        self.values.get_or_init(|| parse(&self.path))
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

pub(crate) fn context(data: &Data, size: &str) -> Case {
    let (session, parsed) = opened(data, size);
    let ours = move || {
        let plan = session.context(Leaf::Last).expect("there is a leaf");
        session.messages(&plan).expect("bodies can be read")
    };
    let count = ours().len();
    let case =
        Case::new(format!("context of {size} entries, {count} messages as JSON"), Box::new(move || timed(&ours)));
    let case = if size == "100k" { case.goal(Goal::Millis(5.0)) } else { case };
    if is_large(size) {
        return case;
    }
    let plain = Box::new(move || {
        let values = parsed.values();
        timed(|| plain_context(values))
    });
    case.plain("a walk over parsed values, to_string", plain)
}

fn plain_context(values: &[Value]) -> Vec<String> {
    let by_id: HashMap<&str, &Value> = values.iter().map(|value| (text(value, "id"), value)).collect();
    let mut path = Vec::new();
    let mut at = values.last();
    while let Some(entry) = at {
        path.push(entry);
        at = by_id.get(text(entry, "parentId")).copied();
    }
    path.reverse();
    let compaction = path.iter().rposition(|entry| entry["type"] == "compaction");
    let (first, from) = match compaction {
        Some(at) => (Some(path[at]), path.iter().position(|entry| entry["id"] == path[at]["firstKeptEntryId"])),
        None => (None, Some(0)),
    };
    let shown = |entry: &&&Value| matches!(text(entry, "type"), "message" | "custom_message" | "branch_summary");
    let rest = path[from.unwrap_or(0)..].iter().filter(shown).map(|entry| &entry["message"]);
    first.into_iter().chain(rest).map(Value::to_string).collect()
}

pub(crate) fn children(data: &Data, size: &str) -> Case {
    let (session, parsed) = opened(data, size);
    let ours = move || -> usize {
        (0..session.len() as u32).filter_map(|entry| session.id_of(entry)).map(|id| session.children(id).len()).sum()
    };
    let case = Case::new(format!("get_children of every entry, {size}"), Box::new(move || timed(&ours)));
    let case = if size == "10k" { case.goal(Goal::Millis(10.0)) } else { case };
    if count(size) > 10_000 {
        return case;
    }
    let plain = Box::new(move || {
        let values = parsed.values();
        let links: Vec<_> = values.iter().map(|value| (text(value, "id"), text(value, "parentId"))).collect();
        timed(|| -> usize { links.iter().map(|(id, _)| links.iter().filter(|(_, parent)| parent == id).count()).sum() })
    });
    case.plain("a pass over all entries for each", plain).rounds(5)
}

pub(crate) fn tree(data: &Data, size: &str) -> Case {
    let (session, parsed) = opened(data, size);
    let case = Case::new(format!("tree of {size} entries"), Box::new(move || timed(|| session.tree())));
    if is_large(size) {
        return case;
    }
    let plain = Box::new(move || {
        let values = parsed.values();
        timed(|| {
            let mut children: HashMap<&str, Vec<&Value>> = HashMap::new();
            for value in values {
                children.entry(text(value, "parentId")).or_default().push(value);
            }
            children
        })
    });
    case.plain("a map from parent to children", plain)
}

pub(crate) fn branch(data: &Data, size: &str) -> Case {
    let (session, _) = opened(data, size);
    let len = session.branch(None).map_or(0, |path| path.len());
    Case::new(format!("path of {len} entries to the root of {size}"), Box::new(move || timed(|| session.branch(None))))
}

/// Entries by id, all over the file.
pub(crate) fn entry(data: &Data, size: &str) -> Case {
    const LOOKUPS: usize = 1_000;
    let (session, _) = opened(data, size);
    let step = session.len() / LOOKUPS;
    let ids: Vec<String> = (0..LOOKUPS).filter_map(|i| session.id_of((i * step) as u32)).map(str::to_owned).collect();
    let length = move |id: &String| session.entry(id).ok().flatten().map_or(0, |entry| entry.line().len());
    let ours = move || -> usize { ids.iter().map(&length).sum() };
    Case::new(format!("{LOOKUPS} entries by id out of {size}"), Box::new(move || timed(&ours)))
}

pub(crate) fn iterate(data: &Data, size: &str) -> Case {
    let path = data.session(size);
    let ours = path.clone();
    let lines = |session: Session| -> usize { session.entries().flatten().map(|entry| entry.line().len()).sum() };
    Case::new(format!("open and the lines of all entries, {size}"), Box::new(move || timed(|| lines(read(&ours)))))
        .plain(PARSE, Box::new(move || timed(|| black_box(parse(&path)).len())))
}
