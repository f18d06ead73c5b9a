//! The blob store.

use crate::border;
use crate::discovery::{milliseconds, unreadable_json};
use crate::error::{Failure, XcshError};
use crate::input::{handle, items, text, texts};
use crate::options::XcshOptions;
use crate::output::out;
use crate::status::XcshStatus;
use crate::string::{XcshStr, XcshString};
use serde_json::{Value, json};
use session::blob::{BlobRef, BlobStore};
use session::gc::{GcOptions, GcReport, UnreferencedBlob, gc_blobs};
use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

/// The blob store: bytes under the name of their SHA-256 hash. Free it with xcsh_blobs_free(). Usable from several threads,
/// and from several processes.
pub struct XcshBlobs(Arc<BlobStore>);

/// The hash that a text names: 64 lower-case hex digits, or those behind "blob:sha256:".
fn reference(text: &str) -> Result<BlobRef, Failure> {
    let blob = BlobRef::parse(text).or_else(|| BlobRef::from_hex(text));
    blob.ok_or_else(|| Failure::argument("a blob is named by 64 lower-case hex digits".to_owned()))
}

/// The blob store in the directory that the options name. Free `blobs` with xcsh_blobs_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_blobs_new(
    options: Option<&XcshOptions>,
    blobs: *mut *mut XcshBlobs,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let blobs = out(blobs, "blobs")?;
        blobs.give(XcshBlobs(handle(options, "options")?.get().blob_store()));
        Ok(())
    })
}

/// Stores bytes. When this returns XCSH_OK they survive a power loss. `hash` is set to the 64 hex digits that name them; free
/// it with xcsh_string_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_blobs_put(
    blobs: Option<&XcshBlobs>,
    content: *const u8,
    content_len: usize,
    hash: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let hash = out(hash, "hash")?;
        let content = items(content, content_len, "content")?;
        hash.give(XcshString::new(handle(blobs, "blobs")?.0.put(content)?.hex()));
        Ok(())
    })
}

/// The bytes of a blob; NULL where there is none. `hash` is 64 lower-case hex digits, also behind "blob:sha256:". Free
/// `content` with xcsh_string_free(). Error: XCSH_BLOB where the bytes have another hash; they are not given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_blobs_get(
    blobs: Option<&XcshBlobs>,
    hash: *const c_char,
    hash_len: usize,
    content: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let content = out(content, "content")?;
        let blob = reference(text(hash, hash_len, "hash")?)?;
        content.give_some(handle(blobs, "blobs")?.0.get(&blob)?.map(XcshString::new));
        Ok(())
    })
}

/// Whether there is a blob whose bytes have the hash of its name; all of them are read. Error: XCSH_BLOB where they have
/// another hash.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_blobs_verify(
    blobs: Option<&XcshBlobs>,
    hash: *const c_char,
    hash_len: usize,
    there: *mut bool,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let there = out(there, "there")?;
        let blob = reference(text(hash, hash_len, "hash")?)?;
        there.set(handle(blobs, "blobs")?.0.verify(&blob)?);
        Ok(())
    })
}

/// Where the file of a blob is or would be. Free `path` with xcsh_string_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_blobs_path(
    blobs: Option<&XcshBlobs>,
    hash: *const c_char,
    hash_len: usize,
    path: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let path = out(path, "path")?;
        let blob = reference(text(hash, hash_len, "hash")?)?;
        path.give(XcshString::path(&handle(blobs, "blobs")?.0.path(&blob))?);
        Ok(())
    })
}

/// Frees a blob store. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_blobs_free(blobs: Option<Box<XcshBlobs>>) {
    border::free(blobs);
}

/// Finds the blobs that no session mentions and, where `delete_them` is not 0, deletes those that were last put more than
/// `min_age` seconds ago (86400 is a good value; less than 46800 is safe only while no agent runs). The `also_count` paths at
/// `also` are files and directories with sessions outside of the agent's directories. `json` is set to an object with
/// unreferenced (a list of hash, size and modifiedMs), deleted, keptYoung, bytes (of those that were or would be deleted) and
/// failed (a list of path, code and reason); free it with xcsh_string_free(). Errors: XCSH_IO and others where something
/// that must be searched cannot be read; nothing was deleted then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_gc_blobs(
    options: Option<&XcshOptions>,
    delete_them: i32,
    min_age: u64,
    also: *const XcshStr,
    also_count: usize,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let also = texts(also, also_count, "also")?.into_iter().map(Into::into).collect();
        let options = handle(options, "options")?.get();
        let how = GcOptions { dry_run: delete_them == 0, min_age: Duration::from_secs(min_age), also };
        let report = gc_blobs(&*options.storage, &options.dirs, &how)?;
        json.give(XcshString::new(report_json(&report).to_string()));
        Ok(())
    })
}

fn report_json(report: &GcReport) -> Value {
    let blob = |found: &UnreferencedBlob| json!({"hash": found.blob.hex(), "size": found.len, "modifiedMs": milliseconds(found.modified_ns)});
    json!({
        "unreferenced": report.unreferenced.iter().map(blob).collect::<Value>(),
        "deleted": report.deleted,
        "keptYoung": report.kept_young,
        "bytes": report.bytes,
        "failed": unreadable_json(&report.failed),
    })
}
