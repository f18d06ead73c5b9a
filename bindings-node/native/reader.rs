//! Looking at a session, be it one that is written or a snapshot.

use crate::border::{Answer, Job, guard, promise};
use crate::options::CallOptions;
use crate::storage::NativeStorage;
use crate::text::{JsonText, Numbers};
use napi::bindgen_prelude::{AsyncTask, ClassInstance, Uint32Array};
use napi_derive::napi;
use std::path::PathBuf;
use std::sync::Arc;
use xcsh_session::{ContextPlan, Error, Leaf, MessageSource, ReadOptions, Session, SessionManager};

/// Bytes of lines that go across at once.
const BATCH: usize = 4 << 20;

#[derive(Clone)]
enum Source {
    Manager(Arc<SessionManager>),
    Snapshot(Arc<Session>),
    Released,
}

impl Source {
    fn read<R>(&self, look: impl FnOnce(u64, &Session) -> Answer<R>) -> Answer<R> {
        match self {
            Source::Manager(manager) => manager.read_numbered(look),
            Source::Snapshot(session) => look(0, session),
            Source::Released => Err(Error::Closed),
        }
    }
}

/// Answers about a session. Lists of entries are numbers behind the numbering they belong to.
#[napi]
pub struct NativeReader {
    source: Source,
}

impl NativeReader {
    pub(crate) fn of(manager: &Arc<SessionManager>) -> NativeReader {
        NativeReader { source: Source::Manager(Arc::clone(manager)) }
    }

    fn look<R>(&self, look: impl FnOnce(&Session) -> R) -> napi::Result<R> {
        guard(|| self.source.read(|_, session| Ok(look(session))))
    }

    fn numbers<I: IntoIterator<Item = u32>>(&self, look: impl FnOnce(&Session) -> I) -> napi::Result<Numbers> {
        guard(|| {
            self.source.read(|numbering, session| {
                let mut numbers = vec![numbering as u32];
                numbers.extend(look(session));
                Ok(Numbers(numbers))
            })
        })
    }
}

#[napi]
impl NativeReader {
    /// Lets go of the session.
    #[napi]
    pub fn release(&mut self) {
        self.source = Source::Released;
    }

    /// `[numbering, number of entries]`.
    #[napi(ts_return_type = "ArrayLike<number>")]
    pub fn extent(&self) -> napi::Result<Numbers> {
        self.numbers(|session| [session.len() as u32])
    }

    /// Lines of entries from `numbers[from]` on as the text of a JSON array, as many as fit in one batch but at least
    /// one. Null where the numbering has changed.
    #[napi(ts_return_type = "string | null")]
    pub fn lines(&self, numbering: u32, numbers: Uint32Array, from: u32) -> napi::Result<Option<JsonText>> {
        guard(|| {
            self.source.read(|current, session| {
                if current as u32 != numbering {
                    return Ok(None);
                }
                let mut text = String::from("[");
                for line in session.resolved_lines_of(numbers.iter().skip(from as usize).copied()) {
                    let line = line?;
                    if text.len() > 1 {
                        if text.len() + line.len() > BATCH {
                            break;
                        }
                        text.push(',');
                    }
                    text.push_str(&line);
                }
                text.push(']');
                Ok(Some(JsonText(text)))
            })
        })
    }

    /// Of texts of entries the places in the list whose text is not the entry's line. Null where the numbering has
    /// changed.
    #[napi]
    pub fn differing(
        &self,
        numbering: u32,
        numbers: Uint32Array,
        texts: Vec<String>,
    ) -> napi::Result<Option<Uint32Array>> {
        guard(|| {
            self.source.read(|current, session| {
                if current as u32 != numbering {
                    return Ok(None);
                }
                let mut places = Vec::new();
                for (place, (&number, text)) in numbers.iter().zip(&texts).enumerate() {
                    if session.resolved_line(number)?.as_ref() != Some(text) {
                        places.push(place as u32);
                    }
                }
                Ok(Some(Uint32Array::new(places)))
            })
        })
    }

    /// `[numbering, number]`, without the number where no entry has this id.
    #[napi(ts_return_type = "ArrayLike<number>")]
    pub fn find(&self, id: String) -> napi::Result<Numbers> {
        self.numbers(|session| session.number_of(&id))
    }

    /// `[numbering, ...]` with one more than the number of each id, 0 where no entry has it.
    #[napi(ts_return_type = "ArrayLike<number>")]
    pub fn find_all(&self, ids: Vec<String>) -> napi::Result<Numbers> {
        self.numbers(|session| ids.iter().map(|id| session.number_of(id).map_or(0, |n| n + 1)).collect::<Vec<_>>())
    }

    /// From the root to an entry, or to the leaf; nothing where no entry has this id.
    #[napi(ts_return_type = "ArrayLike<number>")]
    pub fn branch(&self, from: Option<String>) -> napi::Result<Numbers> {
        self.numbers(|session| session.branch(from.as_deref()).unwrap_or_default())
    }

    #[napi(ts_return_type = "ArrayLike<number>")]
    pub fn children(&self, id: String) -> napi::Result<Numbers> {
        self.numbers(|session| session.children(&id))
    }

    #[napi(ts_return_type = "ArrayLike<number>")]
    pub fn leaf(&self) -> napi::Result<Numbers> {
        self.numbers(|session| session.leaf_id().and_then(|id| session.number_of(&id)))
    }

    /// `[numbering, entry, depth, entry, depth, ...]`, every entry before its children.
    #[napi(ts_return_type = "ArrayLike<number>")]
    pub fn tree(&self) -> napi::Result<Numbers> {
        self.numbers(|session| {
            session.tree().depth_first().flat_map(|(entry, depth)| [entry, depth as u32]).collect::<Vec<_>>()
        })
    }

    /// The context of the leaf as JSON; in the place of the messages `[numbering, entry, source, entry, source, ...]`.
    #[napi(ts_return_type = "string")]
    pub fn context(&self) -> napi::Result<JsonText> {
        guard(|| {
            self.source.read(|numbering, session| {
                let leaf = session.leaf_id();
                let plan = session.context(leaf.as_deref().map_or(Leaf::None, Leaf::Id))?;
                Ok(JsonText(plan_json(numbering as u32, &plan)))
            })
        })
    }

    #[napi]
    pub fn leaf_id(&self) -> napi::Result<Option<String>> {
        self.look(Session::leaf_id)
    }

    #[napi]
    pub fn session_id(&self) -> napi::Result<String> {
        self.look(|session| session.header().id())
    }

    #[napi]
    pub fn path(&self) -> napi::Result<String> {
        self.look(|session| session.path().to_string_lossy().into_owned())
    }

    /// The header's JSON.
    #[napi]
    pub fn header(&self) -> napi::Result<String> {
        self.look(|session| session.header().json().to_owned())
    }

    #[napi]
    pub fn title(&self) -> napi::Result<Option<String>> {
        self.look(Session::title)
    }

    #[napi]
    pub fn label(&self, id: String) -> napi::Result<Option<String>> {
        self.look(|session| session.label(&id).map(str::to_owned))
    }

    /// Ids and labels in turn.
    #[napi]
    pub fn labels(&self) -> napi::Result<Vec<String>> {
        self.look(|session| {
            session.labels().into_iter().flat_map(|(id, label)| [id.to_owned(), label.to_owned()]).collect()
        })
    }

    /// The sums as JSON.
    #[napi]
    pub fn usage(&self) -> napi::Result<String> {
        self.look(|session| serde_json::json!(session.usage()).to_string())
    }

    #[napi]
    pub fn ttsr_rules(&self) -> napi::Result<Vec<String>> {
        guard(|| self.source.read(|_, session| session.injected_ttsr_rules()))
    }

    #[napi]
    pub fn last_model_change_role(&self) -> napi::Result<Option<String>> {
        guard(|| self.source.read(|_, session| session.last_model_change_role()))
    }

    /// The report as JSON.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn diagnostics(&self) -> AsyncTask<Job<String>> {
        let source = self.source.clone();
        promise(move || source.read(|_, session| Ok(serde_json::json!(session.diagnostics()?).to_string())))
    }
}

/// Reads a snapshot.
#[napi(ts_return_type = "Promise<NativeReader>")]
pub fn read_session(
    path: String,
    options: CallOptions,
    storage: Option<ClassInstance<'_, NativeStorage>>,
) -> AsyncTask<Job<NativeReader>> {
    let options = options.resolve(storage.as_ref());
    promise(move || snapshot(PathBuf::from(path), &options))
}

fn snapshot(path: PathBuf, options: &xcsh_session::ManagerOptions) -> Answer<NativeReader> {
    let path = std::path::absolute(&path).map_err(|error| Error::InvalidArgument(error.to_string()))?;
    let read = ReadOptions { model_resolution: options.model_resolution, blobs: Some(options.blob_store()) };
    let session = Session::read_from(&*options.storage, &path, read)?;
    Ok(NativeReader { source: Source::Snapshot(Arc::new(session)) })
}

/// A plan as JSON, messages as numbers of entries and how they are made.
pub(crate) fn plan_json(numbering: u32, plan: &ContextPlan) -> String {
    let mut numbers = vec![numbering];
    for message in &plan.messages {
        let source = match message.source {
            MessageSource::Message => 0,
            MessageSource::Custom => 1,
            MessageSource::BranchSummary => 2,
            MessageSource::CompactionSummary { remote: false } => 3,
            MessageSource::CompactionSummary { remote: true } => 4,
        };
        numbers.extend([message.entry, source]);
    }
    plan.json_with(&serde_json::json!(numbers).to_string())
}
