//! Handles that are alive, and texts to give.

use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use std::ffi::c_char;
use std::ptr;
use xcsh_abi::blob::XcshBlobs;
use xcsh_abi::manager::{XcshManager, XcshState};
use xcsh_abi::options::XcshOptions;
use xcsh_abi::session::{XcshContext, XcshEntries, XcshSession, XcshTree};
use xcsh_abi::string::XcshStr;

/// At most this many handles of a kind are held.
const SLOTS: usize = 3;

/// Handles of one kind.
pub struct Slots<T>(Vec<Box<T>>);

impl<T> Slots<T> {
    pub fn put(&mut self, handle: Option<Box<T>>) {
        if let Some(handle) = handle {
            self.0.insert(0, handle);
            self.0.truncate(SLOTS);
        }
    }

    /// One of them, or now and then NULL.
    pub fn get(&self, input: &mut Unstructured<'_>) -> Result<Option<&T>> {
        let at = usize::from(u8::arbitrary(input)?) % (SLOTS + 1);
        Ok(if at == SLOTS { None } else { self.0.get(at.min(self.0.len().saturating_sub(1))).map(|handle| &**handle) })
    }

    pub fn take(&mut self) -> Option<Box<T>> {
        self.0.pop()
    }
}

pub struct World {
    pub options: Slots<XcshOptions>,
    pub managers: Slots<XcshManager>,
    pub sessions: Slots<XcshSession>,
    pub entries: Slots<XcshEntries>,
    pub contexts: Slots<XcshContext>,
    pub trees: Slots<XcshTree>,
    pub states: Slots<XcshState>,
    pub blobs: Slots<XcshBlobs>,
    /// Ids, paths and hashes that the library gave.
    pub known: Vec<Vec<u8>>,
}

impl World {
    pub fn new() -> World {
        let mut world = World {
            options: Slots(Vec::new()),
            managers: Slots(Vec::new()),
            sessions: Slots(Vec::new()),
            entries: Slots(Vec::new()),
            contexts: Slots(Vec::new()),
            trees: Slots(Vec::new()),
            states: Slots(Vec::new()),
            blobs: Slots(Vec::new()),
            known: Vec::new(),
        };
        crate::calls_of::begin(&mut world);
        world
    }

    pub fn learn(&mut self, bytes: Vec<u8>) {
        self.known.push(bytes);
        if self.known.len() > 16 {
            self.known.remove(0);
        }
    }
}

/// A pointer and a length, and the bytes they mean.
pub struct Given {
    bytes: Vec<u8>,
    pub data: *const c_char,
    pub len: usize,
}

const JSON: [&str; 10] = [
    r#"{"role":"user","content":"hi","timestamp":1}"#,
    r#"{"role":"assistant","content":[{"type":"text","text":"hi"}],"provider":"p","model":"m","usage":{"input":1}}"#,
    r#"{"role":"user","content":[{"type":"image","data":"blob:sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","mimeType":"image/png"}]}"#,
    r#"{"type":"custom","id":"abcdabcd","parentId":null,"customType":"t","data":"\ud83d"}"#,
    r#"{"a":[1e400,-0,{"partialJson":1}]}"#,
    r#"{"type":"session","version":1,"id":"x","cwd":"/srv/pi"}"#,
    "null",
    "/agent/sessions/--srv-pi--",
    "/srv/pi",
    "message",
];

impl Given {
    fn of(bytes: Vec<u8>) -> Given {
        let (data, len) = (bytes.as_ptr().cast(), bytes.len());
        Given { bytes, data, len }
    }

    pub fn text(input: &mut Unstructured<'_>, world: &World) -> Result<Given> {
        let choice = u8::arbitrary(input)?;
        Ok(match choice {
            0..=7 => Given { bytes: Vec::new(), data: ptr::null(), len: 0 },
            8..=11 => Given { bytes: Vec::new(), data: ptr::null(), len: usize::from(choice) },
            12..=15 => Given { bytes: Vec::new(), data: ptr::without_provenance(1), len: 0 },
            16..=17 => Given { len: usize::MAX - usize::from(choice), ..Given::of(b"x".to_vec()) },
            18..=110 if !world.known.is_empty() => {
                Given::of(world.known[usize::from(choice) % world.known.len()].clone())
            }
            111..=190 => Given::of(JSON[usize::from(choice) % JSON.len()].as_bytes().to_vec()),
            _ => {
                let len = usize::from(u8::arbitrary(input)?) * (1 + usize::from(choice % 4));
                Given::of(input.bytes(len.min(input.len()))?.to_vec())
            }
        })
    }

    /// Lines as a file has them.
    pub fn file(input: &mut Unstructured<'_>) -> Result<Given> {
        let mut text = Vec::new();
        for _ in 0..u8::arbitrary(input)? % 8 {
            let choice = u8::arbitrary(input)?;
            let id = choice % 7;
            match choice % 5 {
                0 => text.extend(br#"{"type":"session","version":3,"id":"a"}"#),
                1 => text.extend(
                    format!(
                        r#"{{"type":"message","id":"{id}","parentId":"{}","message":{{"role":"user","content":"x"}}}}"#,
                        choice / 30
                    )
                    .bytes(),
                ),
                2 => text.extend(
                    format!(
                        r#"{{"type":"label","id":"{id}","parentId":"{}","targetId":"1","label":"l"}}"#,
                        choice / 40
                    )
                    .bytes(),
                ),
                3 => text.extend(
                    format!(
                        r#"{{"type":"compaction","id":"{id}","parentId":null,"summary":"s","firstKeptEntryId":"{}"}}"#,
                        choice / 50
                    )
                    .bytes(),
                ),
                _ => {
                    let len = usize::from(choice).min(input.len());
                    text.extend(input.bytes(len)?);
                }
            }
            if choice < 240 {
                text.push(b'\n');
            }
        }
        Ok(Given::of(text))
    }

    /// As a member of a struct or list. The pointer is valid as long as this is.
    pub fn str(&self) -> XcshStr {
        XcshStr { data: self.data, len: self.len }
    }

    pub fn bytes(&self) -> *const u8 {
        if self.bytes.is_empty() { self.data.cast() } else { self.bytes.as_ptr() }
    }
}
