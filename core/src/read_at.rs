//! Positioned reading: all that loading and looking up bodies need of a file.

use std::io;

/// Content that can be read at any place, from several threads.
pub trait ReadAt: Send + Sync {
    /// Reads into `buf` from `offset` on; fewer bytes than `buf` holds only at the end, 0 past it.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
}

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

impl ReadAt for Vec<u8> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}
