//! A script of operations on a session manager, with a book of what was acknowledged.
//!
//! What an operation that failed leaves behind, and what an agent would do then, is decided here:
//! - an append that failed and gave an id counts as acknowledged, and is not made again;
//! - flush, rename, rewrites and `ensure_on_disk` are not made again: what they were to bring to the file is in memory
//!   and owed, so that the next operation has to do it;
//! - operations that go to another session or file (new, fork, branch, move, open, restore) and artifacts are made
//!   again if the driver wants it (`Step::again`), since after an error everything must be as it was.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]

use super::book::{Book, Noted};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use xcsh_session::breadcrumb::TerminalId;
use xcsh_session::dirs::{AgentDirs, Environment, Layout};
use xcsh_session::storage::{Access, Disk, DiskFile, DiskSessionStorage, MemoryDisk, SessionStorage};
use xcsh_session::{Compaction, CustomMessage, Error, Leaf, ManagerOptions, Result, Session, SessionManager};
use xcsh_session::{SessionState, TitleSource};

pub const CWD: &str = "/srv/pi";
/// What another program left of a record.
pub const TORN: &str = r#"{"type":"message","id":"torn0000","parentId":null,"message":{"role":"us"#;
const OLD: &str = "/elsewhere/old.jsonl";
const BLANK: &str = "/elsewhere/blank.jsonl";

/// One operation. Its name is in the line of what it appends.
#[derive(Clone, Copy)]
pub struct Step {
    pub name: &'static str,
    /// Whether an agent makes it again after an error.
    pub again: bool,
    play: fn(&mut Player) -> Result<()>,
}

/// What a session must be like after a power loss: in one of these places, with at least these entries.
#[derive(Clone)]
pub struct Promise {
    pub book: Book,
    pub places: Vec<PathBuf>,
}

/// Plays steps.
pub struct Player {
    pub manager: SessionManager,
    pub book: Book,
    /// Sessions that were left; their files stay as they are.
    pub left: Vec<Book>,
    /// What a flush has promised.
    pub promises: Arc<Mutex<Vec<Promise>>>,
    /// The manager is closed and the next one could not be opened.
    pub stuck: bool,
    /// The storage without faults.
    pub beside: Arc<dyn SessionStorage>,
    options: ManagerOptions,
    raw: MemoryDisk,
    state: Option<(SessionState, Book)>,
    tag: &'static str,
}

/// Puts the files there that the script finds.
pub fn set_up(disk: impl Disk) {
    let storage = DiskSessionStorage::on(disk);
    storage.ensure_dir(Path::new("/elsewhere")).unwrap();
    let v1 = concat!(
        r#"{"type":"session","id":"0123456789abcdef","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/srv/old"}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"v1 one"}}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"assistant","content":"v1 two"}}"#,
        "\n",
        r#"{"type":"compaction","timestamp":"2025-01-01T00:00:03.000Z","summary":"v1 three","firstKeptEntryIndex":2,"tokensBefore":9}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-01T00:00:04.000Z","message":{"role":"hookMessage","content":"v1 four"}}"#,
        "\n",
    );
    storage.write_text(Path::new(OLD), v1.as_bytes(), true).unwrap();
    storage.write_text(Path::new(BLANK), b"\n\n", true).unwrap();
}

fn user(tag: &str) -> String {
    format!(r#"{{"role":"user","content":"{tag}","timestamp":1}}"#)
}

fn assistant(tag: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{tag}"}}],"provider":"p","model":"m","usage":{{"input":1,"output":2}}}}"#
    )
}

fn image(seed: usize) -> String {
    let bytes: Vec<u8> = (0..900).map(|i| (i * 7 + seed) as u8).collect();
    format!(r#"{{"type":"image","mimeType":"image/png","data":"{}"}}"#, base64_simd::STANDARD.encode_to_string(bytes))
}

fn with_image(tag: &str, seed: usize) -> String {
    format!(r#"{{"role":"user","content":[{{"type":"text","text":"{tag}"}},{}]}}"#, image(seed))
}

/// Whether the operation was taken although it could not be written.
fn is_owed(result: &Result<()>) -> bool {
    matches!(result, Ok(()) | Err(Error::Persist { .. }))
}

impl Player {
    /// `storage` is over `raw`, with or without faults between them.
    pub fn new(storage: Arc<dyn SessionStorage>, raw: MemoryDisk) -> Player {
        let dirs = AgentDirs::at_in("/agent", &[("HOME", "/home/ana"), ("TMPDIR", "/tmp")].into_iter().collect());
        let mut options = ManagerOptions::at(dirs, storage);
        let env: Environment = [("TMUX_PANE", "%1")].into_iter().collect();
        options.terminal = TerminalId::detect(&env, None);
        let manager = SessionManager::create(CWD, options.clone()).unwrap();
        let mut player = Player {
            book: Book::default(),
            left: Vec::new(),
            promises: Arc::default(),
            stuck: false,
            beside: Arc::new(DiskSessionStorage::on(raw.clone())),
            manager,
            options,
            raw,
            state: None,
            tag: "",
        };
        player.book = player.fresh_book();
        player
    }

    pub fn blobs(&self) -> &Path {
        &self.options.dirs.blobs
    }

    pub fn play(&mut self, step: &Step) -> Result<()> {
        self.tag = step.name;
        (step.play)(self)
    }

    /// An append to the current session that has nothing to do with the script.
    pub fn append_user(&mut self, tag: &'static str) -> Result<()> {
        self.tag = tag;
        self.append(|manager, tag| manager.append_message(&user(tag)))
    }

    /// Everything acknowledged is durable now.
    pub fn promise(&self) {
        if !self.book.on_disk {
            return;
        }
        let mut promises = self.promises.lock().unwrap();
        promises.retain(|promise| promise.book.session != self.book.session);
        promises.push(Promise { book: self.book.clone(), places: vec![self.book.file.clone()] });
    }

    /// Every session that was ever written.
    pub fn books(&self) -> impl Iterator<Item = &Book> {
        self.left.iter().chain([&self.book]).filter(|book| book.on_disk)
    }

    fn fresh_book(&self) -> Book {
        Book {
            file: self.manager.session_file().unwrap(),
            session: self.manager.session_id(),
            title: self.manager.session_name(),
            cwd: Some(self.manager.cwd().to_string_lossy().into_owned()),
            ..Book::default()
        }
    }

    fn append(&mut self, call: impl FnOnce(&SessionManager, &str) -> Result<String>) -> Result<()> {
        let parent = self.manager.leaf_id();
        self.append_behind(parent, call)
    }

    fn append_behind(
        &mut self,
        parent: Option<String>,
        call: impl FnOnce(&SessionManager, &str) -> Result<String>,
    ) -> Result<()> {
        let result = call(&self.manager, self.tag);
        let id = match &result {
            Ok(id) => id.clone(),
            Err(error) => error.entry_id().unwrap_or_else(|| panic!("no entry id: {error}")).to_owned(),
        };
        self.book.entries.push(Noted { id, parent, tag: self.tag.to_owned(), is_label: false, foreign: false });
        result.map(drop)
    }

    fn append_assistant(&mut self) -> Result<()> {
        self.book.on_disk = true;
        self.append(|manager, tag| manager.append_message(&assistant(tag)))
    }

    fn rename(&mut self, source: TitleSource) -> Result<()> {
        let refused = source == TitleSource::Auto && self.manager.title_source() == Some(TitleSource::User);
        let result = self.manager.set_session_name(self.tag, source).map(|taken| assert_eq!(taken, !refused));
        if is_owed(&result) && !refused {
            self.book.title = Some(self.tag.to_owned());
        }
        result
    }

    fn id(&self, tag: &str) -> String {
        let known = self.book.id_of(tag).or(self.book.entries.last().map(|noted| &*noted.id));
        known.expect("an entry").to_owned()
    }

    /// Goes to another session; the one before is left.
    fn turn_to(&mut self, book: Book) {
        let left = std::mem::replace(&mut self.book, book);
        self.left.push(left);
    }

    fn flush(&mut self) -> Result<()> {
        self.manager.flush()?;
        self.promise();
        Ok(())
    }

    fn label(&mut self, tag: &str) -> Result<()> {
        let target = self.id(tag);
        let result = self.append(|manager, label| manager.append_label_change(&target, Some(label)));
        self.book.entries.last_mut().expect("it was noted").is_label = true;
        result
    }

    fn replace(&mut self, tags: &[&str]) -> Result<()> {
        let mut changed = Vec::new();
        for tag in tags {
            let id = self.id(tag);
            let old = self.manager.read(|session| session.entry(&id))?.expect("an entry");
            let word = &self.book.entries.iter().find(|noted| noted.id == id).unwrap().tag;
            changed.push((old.number(), old.line().replace(&**word, &format!("{word} and {}", self.tag))));
        }
        let result = match &changed[..] {
            [(number, line)] => {
                let id = self.manager.read(|session| session.id_of(*number).unwrap().to_owned());
                self.manager.replace_entry(&id, line)
            }
            changed => {
                let changed: Vec<(u32, &str)> = changed.iter().map(|(number, line)| (*number, &**line)).collect();
                self.manager.rewrite_entries(&changed)
            }
        };
        let taken = is_owed(&result);
        for (number, _) in changed {
            let line = self.manager.read(|session| session.entry_at(number))?.unwrap().into_line();
            assert_eq!(line.contains(self.tag), taken, "all or nothing is changed: {line}");
            let id = self.manager.read(|session| session.id_of(number).unwrap().to_owned());
            let noted = self.book.entries.iter_mut().find(|noted| noted.id == id).unwrap();
            if taken {
                noted.tag = format!("{} and {}", noted.tag, self.tag);
            }
        }
        result
    }

    fn save_artifact(&mut self) -> Result<()> {
        let id = self.manager.save_artifact(self.tag.as_bytes(), "bash")?.unwrap();
        assert!(self.book.artifacts.iter().all(|(other, _)| *other != id), "artifact {id} was given out twice");
        self.book.artifacts.push((id, self.tag.as_bytes().to_vec()));
        Ok(())
    }

    fn move_to(&mut self, cwd: &str) -> Result<()> {
        let old = self.book.file.clone();
        let new = self.options.dirs.session_dir(Path::new(cwd), Layout::Document).join(old.file_name().unwrap());
        for promise in &mut *self.promises.lock().unwrap() {
            if promise.book.session == self.book.session {
                promise.places.push(new.clone());
            }
        }
        let before = self.beside.exists(&old).unwrap();
        let result = self.manager.move_to(cwd);
        let there = self.beside.exists(&old).unwrap();
        assert_eq!(there, before && result.is_err(), "the old file after {result:?}");
        result?;
        self.book.file = new;
        self.book.cwd = Some(cwd.to_owned());
        self.promise();
        Ok(())
    }

    fn fork(&mut self) -> Result<()> {
        let forked = self.manager.fork()?.unwrap();
        assert_eq!(forked.old_file, self.book.file);
        self.promise();
        let mut book = self.book.clone();
        (book.file, book.session) = (forked.new_file, self.manager.session_id());
        book.artifacts.clear();
        self.turn_to(book);
        Ok(())
    }

    fn branch_out(&mut self, leaf: &str) -> Result<()> {
        let leaf = self.id(leaf);
        let file = self.manager.create_branched_session(&leaf)?.unwrap();
        self.promise();
        let mut path = Vec::new();
        let mut next = Some(leaf);
        while let Some(id) = next {
            let noted = self.book.entries.iter().find(|noted| noted.id == id).unwrap();
            next = noted.parent.clone();
            path.extend((!noted.is_label).then(|| noted.clone()));
        }
        path.reverse();
        for at in 0..path.len() {
            path[at].parent = at.checked_sub(1).map(|before| path[before].id.clone());
        }
        // Labels of entries on the path were written anew behind it, one after another.
        self.manager.read(|session| {
            for number in path.len() as u32..session.len() as u32 {
                let id = session.id_of(number).unwrap().to_owned();
                let parent = path.last().map(|noted| noted.id.clone());
                let tag = r#""type":"label""#.to_owned();
                path.push(Noted { id, parent, tag, is_label: true, foreign: false });
            }
        });
        let on_disk = path.iter().any(|noted| noted.tag.contains("assistant"));
        let mut book = self.fresh_book();
        assert_eq!(book.file, file);
        (book.entries, book.on_disk) = (path, on_disk);
        self.turn_to(book);
        Ok(())
    }

    /// Another program takes part: it appends an entry, or the first half of one.
    fn foreign(&mut self, torn: bool) -> Result<()> {
        let file = self.book.file.clone();
        if Session::read_from(&*self.beside, &file, Default::default()).is_err() {
            return Ok(());
        }
        if torn {
            let text = self.beside.read_text(&file).unwrap();
            let lead = if text.ends_with(b"\n") { "" } else { "\n" };
            let file = self.raw.open(&file, Access::Append).unwrap();
            file.append(format!("{lead}{TORN}").as_bytes()).unwrap();
            return Ok(());
        }
        let mut options = self.options.clone();
        (options.storage, options.terminal) = (Arc::clone(&self.beside), None);
        let other = SessionManager::open(&file, options).unwrap();
        let parent = other.leaf_id();
        let id = other.append_message(&user(self.tag)).unwrap();
        self.book.entries.push(Noted { id, parent, tag: self.tag.to_owned(), is_label: false, foreign: true });
        Ok(())
    }

    fn set_file(&mut self, file: &Path) -> Result<()> {
        if file == self.book.file {
            return Ok(());
        }
        self.manager.set_session_file(file)?;
        self.promise();
        let book = match self.left.iter().position(|left| left.file == file) {
            Some(at) => self.left.remove(at),
            None => {
                let mut book = self.fresh_book();
                book.on_disk = true;
                book.entries = self.entries_in_memory();
                book
            }
        };
        self.turn_to(book);
        if self.manager.persist_error().is_none() {
            // A new session's header is written at once.
            Session::read_from(&*self.beside, file, Default::default()).unwrap();
        }
        Ok(())
    }

    /// Entries that a migration made: a chain of entries with texts `v1 ...`.
    fn entries_in_memory(&self) -> Vec<Noted> {
        self.manager.read(|session| {
            let id = |number: u32| session.id_of(number).expect("an id").to_owned();
            let noted = |number: u32| Noted {
                id: id(number),
                parent: number.checked_sub(1).map(id),
                tag: "v1 ".to_owned(),
                is_label: false,
                foreign: false,
            };
            (0..session.len() as u32).map(noted).collect()
        })
    }

    fn first_file(&self) -> PathBuf {
        let named = |book: &&Book| book.entries.iter().any(|noted| noted.tag == "session init");
        self.left.iter().find(named).map_or_else(|| self.book.file.clone(), |book| book.file.clone())
    }

    fn new_session(&mut self) -> Result<()> {
        self.manager.new_session(Some(&self.book.session))?;
        self.promise();
        let book = self.fresh_book();
        self.turn_to(book);
        Ok(())
    }

    fn ensure_on_disk(&mut self) -> Result<()> {
        self.book.on_disk = true;
        self.manager.ensure_on_disk()
    }

    fn close(&mut self) -> Result<()> {
        if !self.stuck {
            self.manager.close()?;
            self.promise();
        }
        Ok(())
    }

    fn reopen(&mut self) -> Result<()> {
        self.close()?;
        self.stuck = true;
        self.manager = SessionManager::open(&self.book.file, self.options.clone())?;
        self.stuck = false;
        Ok(())
    }

    fn fork_from(&mut self) -> Result<()> {
        let source = self.book.file.clone();
        self.close()?;
        self.stuck = true;
        self.manager = SessionManager::fork_from(&source, "/srv/third", self.options.clone())?;
        self.stuck = false;
        let mut book = self.book.clone();
        (book.file, book.session) = (self.manager.session_file().unwrap(), self.manager.session_id());
        book.cwd = Some("/srv/third".to_owned());
        book.artifacts.clear();
        self.turn_to(book);
        Ok(())
    }

    /// Reads as an agent does before each turn. Nothing is owed after an error.
    fn look(&mut self) -> Result<()> {
        let plan = self.manager.read(|session| session.context(Leaf::Last))?;
        self.manager.read(|session| session.messages(&plan))?;
        self.manager.read(|session| session.diagnostics()).map(drop)
    }

    fn capture(&mut self) -> Result<()> {
        let state = self.manager.capture_state()?;
        self.state = Some((state, self.book.clone()));
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        let Some((state, captured)) = self.state.clone() else { return Ok(()) };
        self.manager.restore_state(&state)?;
        self.promise();
        if captured.session != self.book.session {
            let at = self.left.iter().position(|book| book.session == captured.session).expect("it was left");
            let book = self.left.remove(at);
            self.turn_to(book);
        }
        Ok(())
    }
}

/// The operations, some seventy.
pub fn steps() -> Vec<Step> {
    let once = |name, play| Step { name, again: false, play };
    let again = |name, play| Step { name, again: true, play };
    vec![
        once("session init", |p| p.append(|m, tag| m.append_session_init(tag, "task", &["read", "bash"], None))),
        once("first user", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        again("artifact before the file", Player::save_artifact),
        once("first assistant", Player::append_assistant),
        once("thinking", |p| p.append(|m, tag| m.append_thinking_level_change(Some(tag)))),
        once("p/model", |p| p.append(|m, tag| m.append_model_change(tag, Some("smol")))),
        once("mode", |p| p.append(|m, tag| m.append_mode_change(tag, Some(r#"{"plan":1}"#)))),
        once("tier", |p| p.append(|m, tag| m.append_service_tier_change(Some(tag)))),
        once("context", |p| p.append(|m, tag| m.append_context_change(tag, "tenant", "namespace"))),
        once("mcp", |p| p.append(|m, tag| m.append_mcp_tool_selection(&[tag, "other"]))),
        once("ttsr", |p| p.append(|m, tag| m.append_ttsr_injection(&[tag]))),
        once("first state", |p| p.append(|m, tag| m.append_custom_entry(tag, Some("[1,2]")))),
        once("custom image", |p| {
            p.append(|m, tag| {
                let content = format!("[{}]", image(1));
                let message =
                    CustomMessage { custom_type: tag, content: &content, display: true, ..Default::default() };
                m.append_custom_message_entry(&message)
            })
        }),
        once("image", |p| p.append(|m, tag| m.append_message(&with_image(tag, 2)))),
        once("the same image", |p| p.append(|m, tag| m.append_message(&with_image(tag, 2)))),
        once("unknown kind", |p| p.append(|m, tag| m.append("x-note", &format!(r#"{{"note":"{tag}"}}"#)))),
        once("first mark", |p| p.label("first user")),
        once("auto title", |p| p.rename(TitleSource::Auto)),
        once("flush", Player::flush),
        once("second assistant", Player::append_assistant),
        once("user title", |p| p.rename(TitleSource::User)),
        once("branch", |p| {
            let id = p.id("first assistant");
            p.manager.branch(&id)
        }),
        once("on a branch", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        once("branch summary", |p| {
            let from = p.id("first user");
            p.append_behind(Some(from.clone()), |m, tag| m.branch_with_summary(Some(&from), tag, None, Some(true)))
        }),
        once("reset", |p| {
            p.manager.reset_leaf();
            Ok(())
        }),
        once("second root", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        once("branch back", |p| {
            let id = p.id("second assistant");
            p.manager.branch(&id)
        }),
        once("compaction", |p| {
            let first = p.id("image");
            p.append(|m, tag| {
                let kept = Some(&*first);
                m.append_compaction(&Compaction { summary: tag, first_kept_entry_id: kept, ..Default::default() })
            })
        }),
        again("look", Player::look),
        once("replaced", |p| p.replace(&["first user"])),
        once("rewritten", |p| p.replace(&["first state", "second assistant", "first mark"])),
        once("foreign torn", |p| p.foreign(true)),
        once("after foreign torn", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        once("foreign", |p| p.foreign(false)),
        once("after foreign", |p| p.append(|m, tag| m.append_message(&with_image(tag, 3)))),
        once("flush", Player::flush),
        again("artifact", Player::save_artifact),
        again("move", |p| p.move_to("/srv/moved")),
        once("assistant after move", Player::append_assistant),
        once("flush", Player::flush),
        again("fork", Player::fork),
        once("user in fork", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        once("label in fork", |p| p.label("image")),
        once("assistant in fork", Player::append_assistant),
        again("branch out", |p| p.branch_out("assistant in fork")),
        once("image in branch", |p| p.append(|m, tag| m.append_message(&with_image(tag, 4)))),
        once("flush", Player::flush),
        again("open v1", |p| p.set_file(Path::new(OLD))),
        once("assistant in v1", Player::append_assistant),
        once("v1 title", |p| p.rename(TitleSource::User)),
        again("open blank", |p| p.set_file(Path::new(BLANK))),
        once("on disk", Player::ensure_on_disk),
        once("user in blank", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        again("back to the first", |p| {
            let file = p.first_file();
            p.set_file(&file)
        }),
        once("custom again", |p| p.append(|m, tag| m.append_custom_entry(tag, None))),
        again("capture", Player::capture),
        again("new session", Player::new_session),
        once("user in new", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        once("title in new", |p| p.rename(TitleSource::Auto)),
        once("on disk", Player::ensure_on_disk),
        once("assistant in new", Player::append_assistant),
        again("restore", Player::restore),
        once("user after restore", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        again("fork from", Player::fork_from),
        once("image after fork from", |p| p.append(|m, tag| m.append_message(&with_image(tag, 5)))),
        once("flush", Player::flush),
        again("close", Player::close),
        again("reopen", Player::reopen),
        once("assistant after reopen", Player::append_assistant),
        again("look", Player::look),
        again("close", Player::close),
    ]
}

/// Strings that are too long to be written whole: these steps take longer, so they are few.
pub fn long_steps() -> Vec<Step> {
    let once = |name, play| Step { name, again: false, play };
    let again = |name, play| Step { name, again: true, play };
    vec![
        once("user", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        once("long assistant", |p| {
            p.book.on_disk = true;
            p.append(|m, tag| m.append_message(&assistant(&format!("{tag}{}", "x".repeat(500_001)))))
        }),
        once("custom", |p| p.append(|m, tag| m.append_custom_entry(tag, None))),
        once("title", |p| p.rename(TitleSource::User)),
        once("flush", Player::flush),
        again("fork", Player::fork),
        once("user in fork", |p| p.append(|m, tag| m.append_message(&user(tag)))),
        again("move", |p| p.move_to("/srv/moved")),
        again("reopen", Player::reopen),
        again("close", Player::close),
    ]
}
