//! A session that is written.

use crate::border::{Answer, Job, guard, promise};
use crate::options::CallOptions;
use crate::reader::NativeReader;
use crate::storage::{NativeStorage, bytes};
use crate::text::{Given, Numbers};
use napi::bindgen_prelude::{AsyncTask, ClassInstance, Uint8Array, Uint32Array};
use napi_derive::napi;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xcsh_session::{Error, SessionManager, SessionState, TitleSource};

#[napi]
pub struct NativeManager {
    manager: Arc<SessionManager>,
}

/// What an append made: id, parentId, milliseconds since 1970, number and numbering. An object takes longer to make.
type Appended = (String, Option<String>, f64, u32, u32);

/// The old and the new file of a fork.
#[napi(object, object_from_js = false)]
pub struct NativeForked {
    pub old_session_file: String,
    pub new_session_file: String,
}

/// A new artifact.
#[napi(object, object_from_js = false)]
pub struct NativeArtifact {
    pub id: String,
    pub path: String,
}

/// What keeps memory and file apart.
#[napi(object, object_from_js = false)]
pub struct NativePersistError {
    pub code: String,
    pub message: String,
}

/// A captured state.
#[napi]
pub struct NativeState {
    state: SessionState,
}

impl NativeManager {
    fn of(manager: SessionManager) -> NativeManager {
        NativeManager { manager: Arc::new(manager) }
    }

    fn job<T, F>(&self, body: F) -> AsyncTask<Job<T>>
    where
        T: Send + napi::bindgen_prelude::ToNapiValue + napi::bindgen_prelude::TypeName + 'static,
        F: FnOnce(&SessionManager) -> Answer<T> + Send + 'static,
    {
        let manager = Arc::clone(&self.manager);
        promise(move || body(&manager))
    }

    fn appended(&self, id: String) -> Appended {
        self.manager.read_numbered(|numbering, session| {
            let number = session.number_of(&id).unwrap_or(u32::MAX);
            let parent_id = session.parent_id_of(number).map(str::to_owned);
            (id, parent_id, session.time_of(number).unwrap_or_default() as f64, number, numbering as u32)
        })
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[napi]
impl NativeManager {
    #[napi(factory)]
    pub fn create(
        cwd: String,
        options: CallOptions,
        storage: Option<ClassInstance<'_, NativeStorage>>,
    ) -> napi::Result<NativeManager> {
        guard(|| SessionManager::create(cwd, options.resolve(storage.as_ref())).map(NativeManager::of))
    }

    #[napi(factory)]
    pub fn in_memory(
        cwd: String,
        options: CallOptions,
        storage: Option<ClassInstance<'_, NativeStorage>>,
    ) -> napi::Result<NativeManager> {
        guard(|| Ok(NativeManager::of(SessionManager::in_memory(cwd, options.resolve(storage.as_ref())))))
    }

    #[napi]
    pub fn reader(&self) -> NativeReader {
        NativeReader::of(&self.manager)
    }

    #[napi(ts_return_type = "[id: string, parentId: string | null, time: number, number: number, numbering: number]")]
    pub fn append_message(&self, #[napi(ts_arg_type = "string")] message: Given) -> napi::Result<Appended> {
        guard(|| Ok(self.appended(self.manager.append_message(&message.0)?)))
    }

    #[napi(ts_return_type = "[id: string, parentId: string | null, time: number, number: number, numbering: number]")]
    pub fn append(&self, entry_type: String, #[napi(ts_arg_type = "string")] fields: Given) -> napi::Result<Appended> {
        guard(|| Ok(self.appended(self.manager.append(&entry_type, &fields.0)?)))
    }

    #[napi(ts_return_type = "[id: string, parentId: string | null, time: number, number: number, numbering: number]")]
    pub fn append_behind(&self, parent: Option<String>, entry_type: String, fields: String) -> napi::Result<Appended> {
        guard(|| Ok(self.appended(self.manager.append_behind(parent.as_deref(), &entry_type, &fields)?)))
    }

    /// What an append made that could not be written.
    #[napi(ts_return_type = "[id: string, parentId: string | null, time: number, number: number, numbering: number]")]
    pub fn appended_as(&self, id: String) -> napi::Result<Appended> {
        guard(|| Ok(self.appended(id)))
    }

    #[napi]
    pub fn branch(&self, id: String) -> napi::Result<()> {
        guard(|| self.manager.branch(&id))
    }

    #[napi]
    pub fn reset_leaf(&self) -> napi::Result<()> {
        guard(|| {
            self.manager.reset_leaf();
            Ok(())
        })
    }

    #[napi]
    pub fn create_branched_session(&self, leaf: String) -> napi::Result<Option<String>> {
        guard(|| Ok(self.manager.create_branched_session(&leaf)?.map(|path| text(&path))))
    }

    #[napi]
    pub fn cwd(&self) -> napi::Result<String> {
        guard(|| Ok(text(&self.manager.cwd())))
    }

    #[napi]
    pub fn session_dir(&self) -> napi::Result<String> {
        guard(|| Ok(text(&self.manager.session_dir())))
    }

    #[napi]
    pub fn session_file(&self) -> napi::Result<Option<String>> {
        guard(|| Ok(self.manager.session_file().map(|path| text(&path))))
    }

    #[napi]
    pub fn title_source(&self) -> napi::Result<Option<String>> {
        guard(|| Ok(self.manager.title_source().map(|source| source.name().to_owned())))
    }

    #[napi]
    pub fn is_persisted(&self) -> napi::Result<bool> {
        guard(|| Ok(self.manager.is_persisted()))
    }

    #[napi]
    pub fn artifacts_dir(&self) -> napi::Result<Option<String>> {
        guard(|| Ok(self.manager.artifacts_dir().map(|path| text(&path))))
    }

    #[napi]
    pub fn moved_aside(&self) -> napi::Result<Option<String>> {
        guard(|| Ok(self.manager.moved_aside().map(|path| text(&path))))
    }

    #[napi]
    pub fn persist_error(&self) -> napi::Result<Option<NativePersistError>> {
        guard(|| {
            let error = self.manager.persist_error();
            Ok(error.map(|error| NativePersistError { code: error.code.to_owned(), message: error.message }))
        })
    }

    #[napi]
    pub fn capture_state(&self) -> napi::Result<NativeState> {
        guard(|| Ok(NativeState { state: self.manager.capture_state()? }))
    }

    #[napi]
    pub fn restore_state(&self, state: ClassInstance<'_, NativeState>) -> napi::Result<()> {
        guard(|| self.manager.restore_state(&state.state))
    }

    /// Resolves to false, and nothing has happened, where the numbering has changed.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn rewrite_entries(&self, numbering: u32, numbers: Uint32Array, texts: Vec<String>) -> AsyncTask<Job<bool>> {
        let numbers = numbers.to_vec();
        self.job(move |manager| {
            let changed: Vec<_> = numbers.iter().copied().zip(texts.iter().map(String::as_str)).collect();
            manager.rewrite_entries_of(numbering.into(), &changed)
        })
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn flush(&self) -> AsyncTask<Job<()>> {
        self.job(SessionManager::flush)
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn recover(&self) -> AsyncTask<Job<()>> {
        self.job(SessionManager::recover)
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn close(&self) -> AsyncTask<Job<()>> {
        self.job(SessionManager::close)
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn ensure_on_disk(&self) -> AsyncTask<Job<()>> {
        self.job(SessionManager::ensure_on_disk)
    }

    /// Numbers of the entries that others appended, behind the numbering.
    #[napi(ts_return_type = "Promise<ArrayLike<number>>")]
    pub fn refresh(&self) -> AsyncTask<Job<Numbers>> {
        self.job(|manager| {
            let new = manager.refresh()?;
            Ok(manager.read_numbered(|numbering, _| {
                let mut numbers = vec![numbering as u32];
                numbers.extend(new);
                Numbers(numbers)
            }))
        })
    }

    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn set_session_name(&self, name: String, source: String) -> AsyncTask<Job<bool>> {
        self.job(move |manager| {
            let source = TitleSource::of(&source)
                .ok_or_else(|| Error::InvalidArgument(format!("a title's source is auto or user, not {source:?}")))?;
            manager.set_session_name(&name, source)
        })
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn set_session_file(&self, path: String) -> AsyncTask<Job<()>> {
        self.job(move |manager| manager.set_session_file(path))
    }

    #[napi(ts_return_type = "Promise<string | null>")]
    pub fn new_session(&self, parent_session: Option<String>) -> AsyncTask<Job<Option<String>>> {
        self.job(move |manager| Ok(manager.new_session(parent_session.as_deref())?.map(|path| text(&path))))
    }

    #[napi(ts_return_type = "Promise<NativeForked | null>")]
    pub fn fork(&self) -> AsyncTask<Job<Option<NativeForked>>> {
        self.job(|manager| {
            Ok(manager.fork()?.map(|forked| NativeForked {
                old_session_file: text(&forked.old_file),
                new_session_file: text(&forked.new_file),
            }))
        })
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn move_to(&self, cwd: String) -> AsyncTask<Job<()>> {
        self.job(move |manager| manager.move_to(cwd))
    }

    #[napi(ts_return_type = "Promise<NativeArtifact | null>")]
    pub fn allocate_artifact_path(&self, tool_type: String) -> AsyncTask<Job<Option<NativeArtifact>>> {
        self.job(move |manager| {
            let allocated = manager.allocate_artifact_path(&tool_type)?;
            Ok(allocated.map(|(id, path)| NativeArtifact { id, path: text(&path) }))
        })
    }

    #[napi(ts_return_type = "Promise<string | null>")]
    pub fn save_artifact(&self, content: String, tool_type: String) -> AsyncTask<Job<Option<String>>> {
        self.job(move |manager| manager.save_artifact(content.as_bytes(), &tool_type))
    }

    #[napi(ts_return_type = "Promise<string | null>")]
    pub fn artifact_path(&self, id: String) -> AsyncTask<Job<Option<String>>> {
        self.job(move |manager| Ok(manager.artifact_path(&id)?.map(|path| text(&path))))
    }

    /// Gives hash and path of the blob.
    #[napi(ts_return_type = "Promise<Array<string>>")]
    pub fn put_blob(&self, data: Uint8Array) -> AsyncTask<Job<Vec<String>>> {
        let data = bytes(&data);
        self.job(move |manager| {
            let blob = manager.put_blob(&data)?;
            Ok(vec![blob.hex(), text(&manager.blobs().path(&blob))])
        })
    }
}

/// Opens a session file.
#[napi(ts_return_type = "Promise<NativeManager>")]
pub fn open_session(
    path: String,
    options: CallOptions,
    storage: Option<ClassInstance<'_, NativeStorage>>,
) -> AsyncTask<Job<NativeManager>> {
    let options = options.resolve(storage.as_ref());
    promise(move || SessionManager::open(path, options).map(NativeManager::of))
}

/// The session of the terminal, else the newest, else a new one.
#[napi(ts_return_type = "Promise<NativeManager>")]
pub fn continue_recent(
    cwd: String,
    options: CallOptions,
    storage: Option<ClassInstance<'_, NativeStorage>>,
) -> AsyncTask<Job<NativeManager>> {
    let options = options.resolve(storage.as_ref());
    promise(move || SessionManager::continue_recent(cwd, options).map(NativeManager::of))
}

/// A copy of a session file for a working directory.
#[napi(ts_return_type = "Promise<NativeManager>")]
pub fn fork_session(
    source: String,
    cwd: String,
    options: CallOptions,
    storage: Option<ClassInstance<'_, NativeStorage>>,
) -> AsyncTask<Job<NativeManager>> {
    let options = options.resolve(storage.as_ref());
    promise(move || SessionManager::fork_from(source, cwd, options).map(NativeManager::of))
}

/// Where new sessions of a working directory go.
#[napi]
pub fn default_session_dir(cwd: String, options: CallOptions) -> napi::Result<String> {
    guard(|| {
        let options = options.resolve(None);
        let cwd: PathBuf = std::path::absolute(cwd).map_err(|error| Error::InvalidArgument(error.to_string()))?;
        Ok(text(&options.dirs.session_dir(&cwd, options.layout)))
    })
}
