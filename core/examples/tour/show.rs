//! What the tour prints: the files of the store, the tree, the context.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use xcsh_session::{Leaf, MessageSource, Result, SessionManager};

pub(crate) fn step(title: &str) {
    println!("\n== {title}");
}

pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The directory that is shown after each step, and what was shown of it before.
pub(crate) struct Disk {
    dir: PathBuf,
    shown: RefCell<HashMap<PathBuf, Vec<String>>>,
}

impl Disk {
    pub(crate) fn new(dir: &Path) -> Disk {
        Disk { dir: dir.to_owned(), shown: RefCell::default() }
    }

    /// Prints every file below the directory with its size and, of a session, the lines that were not shown before.
    pub(crate) fn show(&self) {
        let mut dirs = vec![self.dir.clone()];
        let mut files = Vec::new();
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                if entry.path().is_dir() { dirs.push(entry.path()) } else { files.push(entry.path()) }
            }
        }
        files.sort();
        if files.is_empty() {
            println!("  (no files)");
        }
        for file in files {
            let shown = file.strip_prefix(&self.dir).unwrap_or(&file);
            let size = file.metadata().map_or(0, |metadata| metadata.len());
            println!("  {} ({size} bytes)", shown.display());
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                self.lines(&file);
            }
        }
    }

    fn lines(&self, file: &Path) {
        const AT_MOST: usize = 8;
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut known = self.shown.borrow_mut();
        let before = known.insert(file.to_owned(), lines.clone()).unwrap_or_default();
        let new = lines.iter().enumerate().filter(|(number, line)| before.get(*number) != Some(line));
        let (new, as_before) = (new.clone(), lines.len() - new.count());
        if as_before > 0 {
            println!("         {as_before} lines as before");
        }
        let count = lines.len() - as_before;
        for (number, line) in new.take(AT_MOST) {
            println!("    {:>3}  {}", number + 1, shorten(line, 100));
        }
        if count > AT_MOST {
            println!("         ... {} more", count - AT_MOST);
        }
    }
}

fn shorten(line: &str, columns: usize) -> String {
    match line.char_indices().nth(columns) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Prints the tree, a branch indented below the entry it leaves from.
pub(crate) fn tree(session: &SessionManager) -> Result<()> {
    session.read(|session| {
        let tree = session.tree();
        let mut stack: Vec<(u32, String)> = tree.roots().iter().rev().map(|&root| (root, String::new())).collect();
        while let Some((number, indent)) = stack.pop() {
            let Some(entry) = session.entry_at(number)? else { continue };
            let id = entry.id().unwrap_or_default();
            let label = session.label(&id).map(|label| format!("  [{label}]")).unwrap_or_default();
            println!("  {indent}{id} {}{label}", entry.entry_type());
            let children = tree.children(number);
            let indent = indent.replace("└ ", "  ");
            let deeper = if children.len() > 1 { format!("{indent}└ ") } else { indent };
            stack.extend(children.iter().rev().map(|&child| (child, deeper.clone())));
        }
        Ok(())
    })
}

/// Prints what would go to the model.
pub(crate) fn context(session: &SessionManager) -> Result<()> {
    session.read(|session| {
        let plan = session.context(Leaf::Last)?;
        for (planned, message) in plan.messages.iter().zip(session.messages(&plan)?) {
            let made_up = if planned.source == MessageSource::Message { " " } else { "+" };
            println!("  {made_up} {}", shorten(&message, 100));
        }
        println!("  models {:?}, thinking {}, mode {}", plan.models, plan.thinking_level, plan.mode);
        Ok(())
    })
}
