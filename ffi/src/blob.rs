//! The blob store.

use crate::border;
use crate::error::{Failure, XcshError};
use crate::input::{handle, items, text};
use crate::options::XcshOptions;
use crate::output::out;
use crate::status::XcshStatus;
use crate::string::XcshString;
use session::blob::{BlobRef, BlobStore};
use std::ffi::c_char;
use std::sync::Arc;

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
