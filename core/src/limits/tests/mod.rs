//! The whole of the module: the recorded cases, a naive implementation beside it, and hostile input.

mod cases;
mod conformance;
mod naive;

use super::persist::persist_within;
use super::{LIMITS, Limits};
use crate::{Error, Result};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// A blob store in memory.
#[derive(Default)]
struct Blobs(HashMap<String, Vec<u8>>);

impl Blobs {
    fn put(&mut self, bytes: &[u8]) -> Result<String> {
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.insert(hash.clone(), bytes.to_vec());
        Ok(hash)
    }

    fn persist_within(&mut self, line: &[u8], limits: Limits) -> Option<Vec<u8>> {
        persist_within(line, limits, &mut |bytes| self.put(bytes)).unwrap()
    }

    /// The line as it goes to the file.
    fn persist(&mut self, line: &str) -> String {
        let form = self.persist_within(line.as_bytes(), LIMITS);
        form.map_or_else(|| line.to_owned(), |form| String::from_utf8(form).unwrap())
    }

    fn resolve(&self, line: &str) -> String {
        let form = super::resolve_blobs(line.as_bytes(), &mut |hash| self.0.get(hash).cloned());
        form.map_or_else(|| line.to_owned(), |form| String::from_utf8(form).unwrap())
    }
}

fn full_disk() -> Error {
    Error::InvalidArgument("full".into())
}

fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}
