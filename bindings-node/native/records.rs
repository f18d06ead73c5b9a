//! The functions over lists of records.

use crate::border::{Job, guard, promise};
use crate::options::CallOptions;
use crate::reader::plan_json;
use crate::storage::NativeStorage;
use napi::bindgen_prelude::{AsyncTask, ClassInstance};
use napi_derive::napi;
use std::path::PathBuf;
use xcsh_session::Leaf;

/// The version that sessions are written in.
#[napi]
pub fn current_session_version() -> u32 {
    xcsh_session::CURRENT_SESSION_VERSION
}

/// Header and entries of a file, one JSON text each.
#[napi(ts_return_type = "Promise<Array<string>>")]
pub fn load_entries_from_file(path: String, storage: ClassInstance<'_, NativeStorage>) -> AsyncTask<Job<Vec<String>>> {
    let storage = storage.storage.clone();
    promise(move || xcsh_session::load_entries_from(&*storage, &PathBuf::from(path)))
}

/// Header and entries of a text, one JSON text each.
#[napi]
pub fn parse_session_entries(text: String) -> napi::Result<Vec<String>> {
    guard(|| Ok(xcsh_session::parse_session_entries(text.as_bytes())))
}

/// Header and entries as the current version has them; null where they are that already.
#[napi]
pub fn migrate_session_entries(records: Vec<String>) -> napi::Result<Option<Vec<String>>> {
    guard(|| xcsh_session::migrate_session_entries(&records))
}

/// What `NativeReader.context` says, of entries that JavaScript holds. `leaf`: absent is the last
/// entry, an empty list is none, else the id in the list.
#[napi]
pub fn plan_session_context(
    entries: Vec<String>,
    leaf: Option<Vec<String>>,
    options: CallOptions,
) -> napi::Result<String> {
    guard(|| {
        let leaf = leaf.as_deref().map_or(Leaf::Last, |ids| ids.first().map_or(Leaf::None, |id| Leaf::Id(id)));
        let resolution = options.profile().model_resolution();
        Ok(plan_json(0, &xcsh_session::plan_session_context(&entries, leaf, resolution)?))
    })
}
