//! One session: a snapshot of a file, or a manager that writes it.

use crate::blobs::BlobStore;
use crate::convert::{Form, Text};
use crate::decode::decode;
use crate::error::invalid;
use crate::functions::leaf;
use crate::options::{Options, model_resolution};
use crate::process::Owned;
use crate::run;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyList;
use std::path::PathBuf;
use std::sync::Arc;
use xcsh_session::storage::FileSessionStorage;
use xcsh_session::{ContextPlan, Error, ReadOptions, Result, Session, SessionManager, SessionState, TitleSource};

/// Where a manager was.
#[pyclass(frozen, module = "xcsh_session._native")]
pub(crate) struct State {
    state: SessionState,
}

enum Kind {
    Snapshot(Box<Session>),
    Manager(Box<SessionManager>),
}

impl Kind {
    fn look<R>(&self, look: impl FnOnce(&Session) -> R) -> R {
        match self {
            Kind::Snapshot(session) => look(session),
            Kind::Manager(manager) => manager.read(look),
        }
    }

    fn numbering(&self) -> u64 {
        match self {
            Kind::Snapshot(_) => 0,
            Kind::Manager(manager) => manager.numbering(),
        }
    }

    fn manager(&self) -> Result<&SessionManager> {
        match self {
            Kind::Manager(manager) => Ok(manager),
            Kind::Snapshot(session) => Err(Error::ReadOnly { path: session.path().to_owned() }),
        }
    }
}

/// A session. Entries are named by number, in file order from 0.
#[pyclass(frozen, module = "xcsh_session._native")]
pub(crate) struct Store {
    kind: Owned<Kind>,
}

impl Store {
    fn look<R: Send>(&self, py: Python<'_>, look: impl FnOnce(&Session) -> Result<R> + Send) -> PyResult<R> {
        let kind = self.kind.get(py)?;
        run(py, || kind.look(look))
    }

    fn write<R: Send>(&self, py: Python<'_>, write: impl FnOnce(&SessionManager) -> Result<R> + Send) -> PyResult<R> {
        let kind = self.kind.get(py)?;
        run(py, || write(kind.manager()?))
    }

    fn manager(py: Python<'_>, make: impl FnOnce() -> Result<SessionManager> + Send) -> PyResult<Store> {
        Ok(Store { kind: Owned::new(Kind::Manager(Box::new(run(py, make)?))) })
    }
}

/// The line of an entry: exactly, or with blob references resolved.
fn line(session: &Session, number: u32, form: Form) -> Result<String> {
    let line = match form == Form::Raw {
        true => session.entry_at(number)?.map(|entry| entry.into_line()),
        false => session.resolved_line(number)?,
    };
    line.ok_or_else(|| Error::EntryNotFound { id: format!("number {number}") })
}

/// The lines of several entries, read together where they stand close together.
fn lines_of(session: &Session, numbers: Vec<u32>, form: Form) -> Result<Vec<String>> {
    match form {
        Form::Raw => numbers.into_iter().map(|number| line(session, number, form)).collect(),
        Form::Value => session.resolved_lines_of(numbers).collect(),
    }
}

#[pymethods]
impl Store {
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, blobs: Option<&BlobStore>, resolution: &str) -> PyResult<Store> {
        let blobs = blobs.map(|store| Arc::clone(&store.blobs));
        let options = ReadOptions { model_resolution: model_resolution(py, resolution)?, blobs };
        let session = run(py, || Session::read_from(&FileSessionStorage::new(), &path, options))?;
        Ok(Store { kind: Owned::new(Kind::Snapshot(Box::new(session))) })
    }

    #[staticmethod]
    fn parse(py: Python<'_>, text: PyBackedBytes, path: PathBuf) -> PyResult<Store> {
        let session = run(py, || Session::parse(&text[..], &path, ReadOptions::default()))?;
        Ok(Store { kind: Owned::new(Kind::Snapshot(Box::new(session))) })
    }

    #[staticmethod]
    fn create(py: Python<'_>, cwd: PathBuf, options: Options) -> PyResult<Store> {
        let options = options.read(py)?;
        Store::manager(py, || SessionManager::create(&cwd, options))
    }

    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, options: Options) -> PyResult<Store> {
        let options = options.read(py)?;
        Store::manager(py, || SessionManager::open(&path, options))
    }

    #[staticmethod]
    fn continue_recent(py: Python<'_>, cwd: PathBuf, options: Options) -> PyResult<Store> {
        let options = options.read(py)?;
        Store::manager(py, || SessionManager::continue_recent(&cwd, options))
    }

    #[staticmethod]
    fn fork_from(py: Python<'_>, source: PathBuf, cwd: PathBuf, options: Options) -> PyResult<Store> {
        let options = options.read(py)?;
        Store::manager(py, || SessionManager::fork_from(&source, &cwd, options))
    }

    #[staticmethod]
    fn in_memory(py: Python<'_>, cwd: PathBuf, options: Options) -> PyResult<Store> {
        let options = options.read(py)?;
        Store::manager(py, || Ok(SessionManager::in_memory(&cwd, options)))
    }

    fn path(&self, py: Python<'_>) -> PyResult<PathBuf> {
        self.look(py, |session| Ok(session.path().to_owned()))
    }

    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decode(py, &self.look(py, |session| Ok(session.header().json().to_owned()))?)
    }

    fn raw_header(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.look(py, |session| Ok(session.header().line().to_owned()))
    }

    fn session_id(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |session| Ok(session.header().id()))
    }

    fn title(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.look(py, |session| Ok(session.title()))
    }

    fn is_migrated(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, |session| Ok(session.is_migrated()))
    }

    fn len(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |session| Ok(session.len()))
    }

    fn numbering(&self, py: Python<'_>) -> PyResult<u64> {
        let kind = self.kind.get(py)?;
        run(py, || Ok(kind.numbering()))
    }

    /// Lines from a number on, together about `budget` bytes. None: the numbering is no longer the one given.
    fn lines<'py>(
        &self,
        py: Python<'py>,
        start: u32,
        budget: usize,
        numbering: u64,
        form: Form,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let kind = self.kind.get(py)?;
        let lines = run(py, || {
            let lines = kind.look(|session| -> Result<Vec<String>> {
                let (mut lines, mut bytes) = (Vec::new(), 0);
                let mut take = |line: String| {
                    bytes += line.len();
                    lines.push(line);
                    bytes < budget
                };
                match form == Form::Raw {
                    true => {
                        for entry in session.entries_from(start) {
                            if !take(entry?.into_line()) {
                                break;
                            }
                        }
                    }
                    false => {
                        for line in session.resolved_lines_from(start) {
                            if !take(line?) {
                                break;
                            }
                        }
                    }
                }
                Ok(lines)
            });
            if kind.numbering() == numbering { lines.map(Some) } else { Ok(None) }
        })?;
        lines.map(|lines| form.give_all(py, &lines)).transpose()
    }

    fn lines_of<'py>(&self, py: Python<'py>, numbers: Vec<u32>, form: Form) -> PyResult<Bound<'py, PyList>> {
        let lines = self.look(py, |session| lines_of(session, numbers, form))?;
        form.give_all(py, &lines)
    }

    /// The line of the entry that an id finds.
    fn entry<'py>(&self, py: Python<'py>, id: Text, form: Form) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found =
            self.look(py, |session| session.number_of(&id).map(|number| line(session, number, form)).transpose())?;
        found.map(|line| form.give(py, &line)).transpose()
    }

    fn number_of(&self, py: Python<'_>, id: Text) -> PyResult<Option<u32>> {
        self.look(py, |session| Ok(session.number_of(&id)))
    }

    fn leaf_id(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.look(py, |session| Ok(session.leaf_id()))
    }

    /// The lines of the entries from the root to one.
    fn branch<'py>(&self, py: Python<'py>, from_id: Option<Text>, form: Form) -> PyResult<Bound<'py, PyList>> {
        let lines = self.look(py, |session| lines_of(session, session.branch(from_id.as_deref())?, form))?;
        form.give_all(py, &lines)
    }

    fn children<'py>(&self, py: Python<'py>, id: Text, form: Form) -> PyResult<Bound<'py, PyList>> {
        let lines = self.look(py, |session| lines_of(session, session.children(&id), form))?;
        form.give_all(py, &lines)
    }

    /// Number and depth of every entry, each before its children.
    fn tree(&self, py: Python<'_>) -> PyResult<Vec<(u32, usize)>> {
        self.look(py, |session| Ok(session.tree().depth_first().collect()))
    }

    fn label(&self, py: Python<'_>, id: Text) -> PyResult<Option<String>> {
        self.look(py, |session| Ok(session.label(&id).map(str::to_owned)))
    }

    fn labels(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let owned = |(id, label): (&str, &str)| (id.to_owned(), label.to_owned());
        self.look(py, |session| Ok(session.labels().into_iter().map(owned).collect()))
    }

    fn usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decode(py, &self.look(py, |session| Ok(json(&session.usage())))?)
    }

    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        decode(py, &self.look(py, |session| Ok(json(&session.diagnostics()?)))?)
    }

    fn last_model_change_role(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.look(py, Session::last_model_change_role)
    }

    fn injected_ttsr_rules(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.look(py, Session::injected_ttsr_rules)
    }

    /// The context without its messages, and the messages.
    fn context<'py>(
        &self,
        py: Python<'py>,
        given: bool,
        leaf_id: Option<Text>,
        resolution: Option<&str>,
        form: Form,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyList>)> {
        let resolution = resolution.map(|word| model_resolution(py, word)).transpose()?;
        let (rest, messages) = self.look(py, |session| {
            let leaf = leaf(given, leaf_id.as_deref());
            let plan = match resolution {
                Some(resolution) => session.context_with(leaf, resolution)?,
                None => session.context(leaf)?,
            };
            let messages = session.messages(&plan)?;
            Ok((session.context_json(&ContextPlan { messages: Vec::new(), ..plan })?, messages))
        })?;
        Ok((form.give(py, &rest)?, form.give_all(py, &messages)?))
    }

    fn session_file(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        self.write(py, |manager| Ok(manager.session_file()))
    }

    fn session_dir(&self, py: Python<'_>) -> PyResult<PathBuf> {
        self.write(py, |manager| Ok(manager.session_dir()))
    }

    fn cwd(&self, py: Python<'_>) -> PyResult<PathBuf> {
        self.write(py, |manager| Ok(manager.cwd()))
    }

    fn moved_aside(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        self.write(py, |manager| Ok(manager.moved_aside()))
    }

    fn persist_error(&self, py: Python<'_>) -> PyResult<Option<(String, String)>> {
        let error = self.write(py, |manager| Ok(manager.persist_error()))?;
        Ok(error.map(|error| (error.code.to_owned(), error.message)))
    }

    fn title_source(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.write(py, |manager| Ok(manager.title_source().map(TitleSource::name)))
    }

    fn append_message(&self, py: Python<'_>, message: &str) -> PyResult<String> {
        self.write(py, |manager| manager.append_message(message))
    }

    fn append(&self, py: Python<'_>, entry_type: &str, fields: &str) -> PyResult<String> {
        self.write(py, |manager| manager.append(entry_type, fields))
    }

    fn set_branch(&self, py: Python<'_>, id: Text) -> PyResult<()> {
        self.write(py, |manager| manager.branch(&id))
    }

    fn reset_leaf(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, |manager| {
            manager.reset_leaf();
            Ok(())
        })
    }

    fn branch_with_summary(
        &self,
        py: Python<'_>,
        from_id: Option<&str>,
        summary: &str,
        details: Option<&str>,
        from_extension: Option<bool>,
    ) -> PyResult<String> {
        self.write(py, |manager| manager.branch_with_summary(from_id, summary, details, from_extension))
    }

    fn rewrite_entries(&self, py: Python<'_>, changed: Vec<(u32, PyBackedStr)>) -> PyResult<()> {
        let changed: Vec<(u32, &str)> = changed.iter().map(|(number, line)| (*number, &**line)).collect();
        self.write(py, |manager| manager.rewrite_entries(&changed))
    }

    fn replace_entry(&self, py: Python<'_>, id: Text, line: &str) -> PyResult<()> {
        self.write(py, |manager| manager.replace_entry(&id, line))
    }

    fn set_session_name(&self, py: Python<'_>, name: Text, source: &str) -> PyResult<bool> {
        let Some(source) = TitleSource::of(source) else {
            return Err(invalid(py, format!("source is {source:?}; it can be \"auto\" or \"user\"")));
        };
        self.write(py, |manager| manager.set_session_name(&name, source))
    }

    fn set_session_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.write(py, |manager| manager.set_session_file(&path))
    }

    fn new_session(&self, py: Python<'_>, parent_session: Option<&str>) -> PyResult<Option<PathBuf>> {
        self.write(py, |manager| manager.new_session(parent_session))
    }

    fn fork(&self, py: Python<'_>) -> PyResult<Option<(PathBuf, PathBuf)>> {
        let forked = self.write(py, SessionManager::fork)?;
        Ok(forked.map(|forked| (forked.old_file, forked.new_file)))
    }

    fn create_branched_session(&self, py: Python<'_>, leaf_id: Text) -> PyResult<Option<PathBuf>> {
        self.write(py, |manager| manager.create_branched_session(&leaf_id))
    }

    fn move_to(&self, py: Python<'_>, cwd: PathBuf) -> PyResult<()> {
        self.write(py, |manager| manager.move_to(&cwd))
    }

    fn capture_state(&self, py: Python<'_>) -> PyResult<State> {
        Ok(State { state: self.write(py, SessionManager::capture_state)? })
    }

    fn restore_state(&self, py: Python<'_>, state: &State) -> PyResult<()> {
        self.write(py, |manager| manager.restore_state(&state.state))
    }

    /// The lines that others appended; all lines where the file was replaced.
    fn refresh(&self, py: Python<'_>, form: Form) -> PyResult<Py<PyList>> {
        let lines = self.write(py, |manager| {
            let numbers = manager.refresh()?;
            manager.read(|session| lines_of(session, numbers, form))
        })?;
        Ok(form.give_all(py, &lines)?.unbind())
    }

    fn ensure_on_disk(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, SessionManager::ensure_on_disk)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, SessionManager::flush)
    }

    fn recover(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, SessionManager::recover)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, SessionManager::close)
    }

    fn artifacts_dir(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        self.write(py, |manager| Ok(manager.artifacts_dir()))
    }

    fn allocate_artifact_path(&self, py: Python<'_>, tool_type: &str) -> PyResult<Option<(String, PathBuf)>> {
        self.write(py, |manager| manager.allocate_artifact_path(tool_type))
    }

    fn save_artifact(&self, py: Python<'_>, content: PyBackedBytes, tool_type: &str) -> PyResult<Option<String>> {
        self.write(py, |manager| manager.save_artifact(&content, tool_type))
    }

    fn artifact_path(&self, py: Python<'_>, id: &str) -> PyResult<Option<PathBuf>> {
        self.write(py, |manager| manager.artifact_path(id))
    }

    fn put_blob(&self, py: Python<'_>, data: PyBackedBytes) -> PyResult<(String, PathBuf)> {
        self.write(py, |manager| {
            let blob = manager.put_blob(&data)?;
            Ok((blob.hex(), manager.blobs().path(&blob)))
        })
    }
}

/// The reports are plain data, which serialises.
fn json(report: &impl serde::Serialize) -> String {
    serde_json::to_string(report).unwrap_or_default()
}
