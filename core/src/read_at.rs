//! Helpers over [`ReadAt`]: filling a buffer, and sources that are no open file.

use crate::storage::{FileId, FileStat, ReadAt, SessionStorage};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Fills `buf` from `offset` on as far as the content goes and returns how many bytes that were.
pub(crate) fn fill(source: &dyn ReadAt, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buf.len() {
        match source.read_at(&mut buf[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A text that is wholly in memory.
pub(crate) struct TextSource(pub(crate) Vec<u8>);

impl ReadAt for TextSource {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn stat(&self) -> io::Result<FileStat> {
        Ok(FileStat { len: self.0.len() as u64, modified_ns: 0, id: FileId(0, 0) })
    }
}

/// A content that is opened for each read and not held in between. Once something else is at the path, this one is
/// empty; more behind what was there is not something else.
pub(crate) struct OnDemand {
    pub(crate) storage: Arc<dyn SessionStorage>,
    pub(crate) path: PathBuf,
    pub(crate) known: FileStat,
}

impl ReadAt for OnDemand {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let reader = self.storage.open_reader(&self.path)?;
        let found = reader.stat()?;
        // Nobody holds the file, so its identity alone can be that of a later one.
        let same = found == self.known || (found.id == self.known.id && found.len > self.known.len);
        if same { reader.read_at(buf, offset) } else { Ok(0) }
    }

    fn stat(&self) -> io::Result<FileStat> {
        self.storage.stat(&self.path)
    }
}
