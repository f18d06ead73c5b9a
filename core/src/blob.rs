//! The blob store: contents under the hash of their bytes (SPEC section 9).

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::storage::{FileStat, ReadAt, SessionStorage};
use crate::{Error, Result};

/// What a reference to a blob begins with; 64 lower-case hex digits follow.
pub(crate) const PREFIX: &str = "blob:sha256:";
const STEP: usize = 256 * 1024;

/// How many contents are remembered as good. Forgetting one costs a comparison.
const REMEMBERED: usize = 4096;

/// A blob older than this is written anew by [`BlobStore::put`]: a collector that spares young blobs must not take
/// one whose new reference is about to be written.
const YOUNG: Duration = Duration::from_secs(12 * 3600);

/// The SHA-256 hash that names a blob. Displayed as `blob:sha256:<64 lower-case hex digits>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobRef {
    hash: [u8; 32],
}

impl BlobRef {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        BlobRef { hash: Sha256::digest(bytes).into() }
    }

    /// Reads `blob:sha256:<64 lower-case hex digits>`. Anything else, also with a part before or after it, is no
    /// reference.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_hex(text.strip_prefix(PREFIX)?)
    }

    /// Reads 64 lower-case hex digits, the name of a blob's file.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let hex: &[u8; 64] = hex.as_bytes().try_into().ok()?;
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(BlobRef { hash })
    }

    /// The 64 lower-case hex digits.
    pub fn hex(&self) -> String {
        self.hash
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .map(|digit| char::from(HEX[usize::from(digit)]))
            .collect()
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

impl fmt::Display for BlobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl fmt::Debug for BlobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A directory of blobs, each in a file that is named by the hash of its bytes. Usable from several threads and
/// processes at once: equal names have equal contents, so nobody waits for anybody.
pub struct BlobStore {
    storage: Arc<dyn SessionStorage>,
    dir: PathBuf,
    /// What the file of a blob was when this process knew its content to be right and durable.
    good: Mutex<HashMap<BlobRef, FileStat>>,
}

impl BlobStore {
    /// The blobs in `dir` (`<agent>/blobs`), which is made when the first one is put there.
    pub fn new(storage: Arc<dyn SessionStorage>, dir: PathBuf) -> Self {
        BlobStore { storage, dir, good: Mutex::default() }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a blob is or would be.
    pub fn path(&self, blob: &BlobRef) -> PathBuf {
        self.dir.join(blob.hex())
    }

    /// Stores the bytes and returns their name. Once it has returned, they survive a power loss. A blob that is there
    /// is not written again, unless its content is not what its name says, or it is older than 12 hours (so that no
    /// collector takes it before the new reference is written).
    pub fn put(&self, bytes: &[u8]) -> Result<BlobRef> {
        let blob = BlobRef::of(bytes);
        let path = self.path(&blob);
        if self.is_good(&blob, &path, bytes) {
            return Ok(blob);
        }
        self.storage
            .ensure_dir(&self.dir)
            .and_then(|()| self.storage.write_text(&path, bytes, true))
            .map_err(Error::io_at("write", &path))?;
        if let Ok(stat) = self.storage.stat(&path) {
            self.remember(blob, stat);
        }
        Ok(blob)
    }

    /// The bytes of a blob; `None` if there is no such blob. [`Error::Blob`] if the bytes that are there have another
    /// hash: they are not returned.
    pub fn get(&self, blob: &BlobRef) -> Result<Option<Vec<u8>>> {
        let path = self.path(blob);
        let bytes = match self.storage.read_text(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(Error::io_at("read", &path))?,
        };
        if BlobRef::of(&bytes) != *blob {
            return Err(self.damaged(blob, &path));
        }
        Ok(Some(bytes))
    }

    /// Whether there is a file for the blob. Its content is not looked at.
    pub fn has(&self, blob: &BlobRef) -> Result<bool> {
        let path = self.path(blob);
        self.storage.exists(&path).map_err(Error::io_at("look for", path))
    }

    /// Reads the blob in constant memory. `true`: its content is what its name says; `false`: there is none;
    /// [`Error::Blob`]: it is damaged.
    pub fn verify(&self, blob: &BlobRef) -> Result<bool> {
        let path = self.path(blob);
        let reader = match self.storage.open_reader(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            reader => reader.map_err(Error::io_at("open", &path))?,
        };
        let mut hasher = Sha256::new();
        in_steps(&*reader, |part| {
            hasher.update(part);
            true
        })
        .map_err(Error::io_at("read", &path))?;
        let hash: [u8; 32] = hasher.finalize().into();
        if hash != blob.hash {
            return Err(self.damaged(blob, &path));
        }
        Ok(true)
    }

    /// Whether the file at the path has these bytes, durably, and need not be written again. What cannot be told is
    /// not good: then the blob is written, and that gives the error, if there still is one.
    fn is_good(&self, blob: &BlobRef, path: &Path, bytes: &[u8]) -> bool {
        let Ok(stat) = self.storage.stat(path) else { return false };
        if stat.len != bytes.len() as u64 || !is_young(stat.modified_ns) {
            return false;
        }
        if self.good.lock().unwrap_or_else(PoisonError::into_inner).get(blob) == Some(&stat) {
            return true;
        }
        // Somebody else may have put it there without having synced it yet, hence the sync.
        let good = self.equals(path, bytes).unwrap_or(false) && self.storage.sync(path).is_ok();
        if good {
            self.remember(*blob, stat);
        }
        good
    }

    fn equals(&self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        let mut rest = Some(bytes);
        in_steps(&*self.storage.open_reader(path)?, |part| {
            rest = rest.and_then(|rest| rest.strip_prefix(part));
            rest.is_some()
        })?;
        Ok(rest.is_some_and(|rest| rest.is_empty()))
    }

    fn remember(&self, blob: BlobRef, stat: FileStat) {
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if good.len() >= REMEMBERED {
            good.clear();
        }
        good.insert(blob, stat);
    }

    fn damaged(&self, blob: &BlobRef, path: &Path) -> Error {
        self.good.lock().unwrap_or_else(PoisonError::into_inner).remove(blob);
        Error::Blob { hash: blob.hex(), reason: format!("damaged: {} has other bytes", path.display()) }
    }
}

/// Whether a time in nanoseconds since 1970 is less than [`YOUNG`] ago. One in the future is not: nobody knows when.
fn is_young(modified_ns: i64) -> bool {
    let modified = UNIX_EPOCH + Duration::from_nanos(modified_ns.max(0).unsigned_abs());
    SystemTime::now().duration_since(modified).is_ok_and(|age| age < YOUNG)
}

/// Hands a content to `take` in parts, from the start, until that returns false.
fn in_steps(reader: &dyn ReadAt, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let len = reader.stat()?.len;
    let mut buf = vec![0; usize::try_from(len).map_or(STEP, |len| len.clamp(1, STEP))];
    let mut offset = 0;
    loop {
        match reader.read_at(&mut buf, offset) {
            Ok(0) => return Ok(()),
            Ok(count) if !take(&buf[..count]) => return Ok(()),
            Ok(count) => offset += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
