//! The blob store.

use crate::border::{Answer, Job, promise};
use crate::storage::{NativeStorage, bytes};
use napi::bindgen_prelude::{AsyncTask, Buffer, ClassInstance, Uint8Array};
use napi_derive::napi;
use std::path::PathBuf;
use std::sync::Arc;
use xcsh_session::Error;
use xcsh_session::blob::{BlobRef, BlobStore};

#[napi]
pub struct NativeBlobStore {
    blobs: Arc<BlobStore>,
}

#[napi]
impl NativeBlobStore {
    #[napi(constructor)]
    pub fn new(dir: String, storage: ClassInstance<'_, NativeStorage>) -> NativeBlobStore {
        NativeBlobStore { blobs: Arc::new(BlobStore::new(Arc::clone(&storage.storage), PathBuf::from(dir))) }
    }

    /// Where a blob with this hash is or would be.
    #[napi]
    pub fn path(&self, hash: String) -> Option<String> {
        BlobRef::from_hex(&hash).map(|blob| self.blobs.path(&blob).to_string_lossy().into_owned())
    }

    /// Gives the hash.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn put(&self, data: Uint8Array) -> AsyncTask<Job<String>> {
        let (blobs, data) = (Arc::clone(&self.blobs), bytes(&data));
        promise(move || Ok(blobs.put(&data)?.hex()))
    }

    /// Null where there is no such blob, or no blob can have this name.
    #[napi(ts_return_type = "Promise<Buffer | null>")]
    pub fn get(&self, hash: String) -> AsyncTask<Job<Option<Buffer>>> {
        let blobs = Arc::clone(&self.blobs);
        promise(move || Ok(find(&hash, |blob| blobs.get(blob))?.flatten().map(Buffer::from)))
    }

    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn has(&self, hash: String) -> AsyncTask<Job<bool>> {
        let blobs = Arc::clone(&self.blobs);
        promise(move || Ok(find(&hash, |blob| blobs.has(blob))?.unwrap_or(false)))
    }
}

fn find<T>(hash: &str, look: impl FnOnce(&BlobRef) -> Result<T, Error>) -> Answer<Option<T>> {
    BlobRef::from_hex(hash).map(|blob| look(&blob)).transpose()
}
