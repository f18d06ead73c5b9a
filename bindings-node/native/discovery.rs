//! Finding sessions, and blobs that none of them needs.

use crate::border::{Job, promise};
use crate::options::CallOptions;
use crate::storage::NativeStorage;
use crate::text::JsonText;
use napi::bindgen_prelude::{AsyncTask, ClassInstance};
use napi_derive::napi;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::mem;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xcsh_session::discovery::{self, ListOptions, Listing, Recent, RecentSessionInfo, Unreadable};
use xcsh_session::gc::{GcOptions, gc_blobs};

/// A list of sessions; their texts are fetched one by one.
#[napi]
pub struct NativeListing {
    overview: String,
    texts: Vec<String>,
}

/// What is shown of a session at once.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    path: Cow<'a, str>,
    id: &'a str,
    cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session_path: Option<&'a str>,
    created: i64,
    modified: i64,
    message_count: u64,
    size: u64,
    first_message: &'a str,
}

impl Shown<'_> {
    fn of(info: &discovery::SessionInfo) -> Shown<'_> {
        Shown {
            path: info.path.to_string_lossy(),
            id: &info.id,
            cwd: &info.cwd,
            title: info.title.as_deref(),
            parent_session_path: info.parent_session_path.as_deref(),
            created: info.created_ms,
            modified: info.modified_ns.div_euclid(1_000_000),
            message_count: info.message_count,
            size: info.size,
            first_message: &info.first_message,
        }
    }
}

#[derive(Serialize)]
struct Overview<'a> {
    sessions: Vec<Shown<'a>>,
    unreadable: Vec<Value>,
}

impl NativeListing {
    fn of(listing: Listing) -> NativeListing {
        let sessions = listing.sessions.iter().map(Shown::of).collect();
        let overview = Overview { sessions, unreadable: reports(&listing.unreadable) };
        NativeListing {
            overview: serde_json::to_string(&overview).unwrap_or_default(),
            texts: listing.sessions.into_iter().map(|info| info.all_messages_text.unwrap_or_default()).collect(),
        }
    }
}

#[napi]
impl NativeListing {
    /// Everything but the texts, as JSON, once. It is made on the pool.
    #[napi(ts_return_type = "string")]
    pub fn overview(&mut self) -> JsonText {
        JsonText(mem::take(&mut self.overview))
    }

    /// The texts of the messages of one session.
    #[napi]
    pub fn all_messages_text(&self, place: u32) -> &str {
        self.texts.get(place as usize).map(String::as_str).unwrap_or_default()
    }
}

fn reports(unreadable: &[Unreadable]) -> Vec<Value> {
    let report = |at: &Unreadable| json!({ "path": at.path.to_string_lossy(), "code": at.code, "reason": at.reason });
    unreadable.iter().map(report).collect()
}

/// The sessions of a working directory, or of all where none is given.
#[napi(ts_return_type = "Promise<NativeListing>")]
pub fn list_sessions(
    cwd: Option<String>,
    options: CallOptions,
    storage: Option<ClassInstance<'_, NativeStorage>>,
) -> AsyncTask<Job<NativeListing>> {
    let options = options.resolve(storage.as_ref());
    promise(move || {
        let with = ListOptions { with_texts: true };
        let (storage, dirs) = (&*options.storage, &options.dirs);
        let listing = match cwd {
            Some(cwd) => discovery::list(storage, dirs, Path::new(&cwd), options.session_dir.as_deref(), &with)?,
            None => discovery::list_all(storage, dirs, &with)?,
        };
        Ok(NativeListing::of(listing))
    })
}

/// A session as the beginning of its file shows it.
#[napi]
pub struct NativeRecent {
    info: RecentSessionInfo,
}

#[napi]
impl NativeRecent {
    /// What is known, as JSON.
    #[napi]
    pub fn facts(&self) -> String {
        let info = &self.info;
        json!({
            "path": info.path.to_string_lossy(),
            "id": info.id,
            "cwd": info.cwd,
            "title": info.title,
            "firstPrompt": info.first_prompt,
            "parentSession": info.parent_session,
            "created": info.created_ms,
            "mtime": info.modified_ns as f64 / 1e6,
            "size": info.size,
        })
        .to_string()
    }

    #[napi]
    pub fn name(&self) -> String {
        self.info.name()
    }

    #[napi]
    pub fn full_name(&self) -> String {
        self.info.full_name()
    }

    #[napi]
    pub fn time_ago(&self, now_ms: f64) -> String {
        self.info.time_ago(now_ms as i64)
    }
}

/// Recent sessions, handed over one by one.
#[napi]
pub struct NativeRecents {
    recent: Recent,
}

#[napi]
impl NativeRecents {
    #[napi]
    pub fn count(&self) -> u32 {
        self.recent.sessions.len() as u32
    }

    #[napi]
    pub fn at(&self, place: u32) -> Option<NativeRecent> {
        self.recent.sessions.get(place as usize).map(|info| NativeRecent { info: info.clone() })
    }

    /// What was left out, as JSON.
    #[napi]
    pub fn unreadable(&self) -> String {
        json!(reports(&self.recent.unreadable)).to_string()
    }
}

#[napi(ts_return_type = "Promise<NativeRecents>")]
pub fn recent_sessions(
    dir: String,
    limit: u32,
    storage: ClassInstance<'_, NativeStorage>,
) -> AsyncTask<Job<NativeRecents>> {
    let storage = storage.storage.clone();
    promise(move || {
        let recent = discovery::get_recent_sessions(&*storage, Path::new(&dir), limit as usize)?;
        Ok(NativeRecents { recent })
    })
}

#[napi(ts_return_type = "Promise<string | null>")]
pub fn most_recent_session(dir: String, storage: ClassInstance<'_, NativeStorage>) -> AsyncTask<Job<Option<String>>> {
    let storage = storage.storage.clone();
    promise(move || {
        let found = discovery::find_most_recent_session(&*storage, Path::new(&dir))?;
        Ok(found.map(|path| path.to_string_lossy().into_owned()))
    })
}

/// The session that an argument names.
#[napi]
pub struct NativeResolved {
    resolved: discovery::Resolved,
}

#[napi]
impl NativeResolved {
    #[napi]
    pub fn session(&self) -> NativeRecent {
        NativeRecent { info: self.resolved.session.clone() }
    }

    #[napi]
    pub fn is_global(&self) -> bool {
        self.resolved.global
    }

    #[napi]
    pub fn others(&self) -> Vec<String> {
        self.resolved.others.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    /// What could not be looked at, as JSON.
    #[napi]
    pub fn unreadable(&self) -> String {
        json!(reports(&self.resolved.unreadable)).to_string()
    }
}

#[napi(ts_return_type = "Promise<NativeResolved | null>")]
pub fn resolve_session(
    arg: String,
    cwd: String,
    options: CallOptions,
    storage: Option<ClassInstance<'_, NativeStorage>>,
) -> AsyncTask<Job<Option<NativeResolved>>> {
    let options = options.resolve(storage.as_ref());
    promise(move || {
        let dir = options.session_dir.as_deref();
        let found = discovery::resolve_resumable_session(&*options.storage, &options.dirs, &arg, Path::new(&cwd), dir)?;
        Ok(found.map(|resolved| NativeResolved { resolved }))
    })
}

/// Finds blobs that no session mentions, and deletes old ones unless it is a dry run. The report as JSON.
#[napi(ts_return_type = "Promise<string>")]
pub fn collect_blobs(
    dry_run: bool,
    min_age_ms: Option<f64>,
    also: Vec<String>,
    options: CallOptions,
    storage: Option<ClassInstance<'_, NativeStorage>>,
) -> AsyncTask<Job<String>> {
    let options = options.resolve(storage.as_ref());
    let mut gc = GcOptions { dry_run, also: also.into_iter().map(PathBuf::from).collect(), ..GcOptions::default() };
    if let Some(age) = min_age_ms {
        gc.min_age = Duration::from_millis(age.max(0.0) as u64);
    }
    promise(move || {
        let report = gc_blobs(&*options.storage, &options.dirs, &gc)?;
        let unreferenced: Vec<Value> = report
            .unreferenced
            .iter()
            .map(|found| {
                let mtime = found.modified_ns as f64 / 1e6;
                json!({ "hash": found.blob.hex(), "size": found.len, "mtime": mtime })
            })
            .collect();
        Ok(json!({
            "unreferenced": unreferenced,
            "deleted": report.deleted,
            "keptYoung": report.kept_young,
            "bytes": report.bytes,
            "failed": reports(&report.failed),
        })
        .to_string())
    })
}
