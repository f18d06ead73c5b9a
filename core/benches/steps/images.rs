//! Images in messages: to the blob store and back, against the bare steps that this takes.

use crate::case::{Case, timed};
use crate::data::{Data, options};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tempfile::TempDir;
use xcsh_session::{Leaf, ManagerOptions, Session, SessionManager};

pub(crate) fn images(data: &Data, what: &str) -> Case {
    let messages: Rc<[String]> = messages(data).into();
    let pictures: Rc<[String]> = messages.iter().map(|message| picture(message)).collect();
    let scratch = Rc::clone(&data.scratch);
    match what {
        "append" => {
            let plain_in = Rc::clone(&scratch);
            Case::new("append of 200 images of 200 KB", Box::new(move || appended(&fresh(&scratch), &messages).0))
                .plain(
                    "decode, hash, write, fsync, rename, fsync of the directory",
                    Box::new(move || stored(fresh(&plain_in).path(), &pictures)),
                )
        }
        "again" => {
            let there = fresh(&scratch);
            appended(&there, &messages);
            let ours = move || appended(&there, &messages).0;
            let plain = move || timed(|| pictures.iter().map(|text| hash(&decode(text))).collect::<Vec<_>>());
            Case::new("append of 200 images that are stored already", Box::new(ours))
                .plain("decode, hash", Box::new(plain))
        }
        _ => {
            let (dir, plain_dir) = (fresh(&scratch), fresh(&scratch));
            let (_, path) = appended(&dir, &messages);
            stored(plain_dir.path(), &pictures);
            let ours = move || timed(|| read(&path, options(dir.path())));
            Case::new("open, context with 200 images of 200 KB", Box::new(ours))
                .plain("read, hash, encode", Box::new(move || timed(|| encoded(plain_dir.path()))))
        }
    }
}

fn fresh(scratch: &TempDir) -> TempDir {
    tempfile::tempdir_in(scratch.path()).expect("DATA can be written to")
}

/// The messages of the generated session that have an image.
fn messages(data: &Data) -> Vec<String> {
    let session = Session::read(data.session("images")).expect("a generated session can be read");
    let entries = session.entries().flatten();
    let messages = entries.filter_map(|entry| Some(entry.raw().get("message")?.text().to_owned()));
    messages.filter(|message| message.len() > 100_000).collect()
}

fn picture(message: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(message).expect("generated lines are JSON");
    value["content"][1]["data"].as_str().expect("the image of a generated message").to_owned()
}

/// Appends to a new session below the directory, up to a flush.
fn appended(dir: &TempDir, messages: &[String]) -> (Duration, PathBuf) {
    let session = SessionManager::create("/srv/pi", options(dir.path())).expect("a new session");
    session.ensure_on_disk().expect("the disk takes it");
    let time = timed(|| {
        messages.iter().for_each(|message| drop(session.append_message(message).expect("the disk takes it")));
        session.flush().expect("the disk takes it");
    });
    (time, session.session_file().expect("it was made"))
}

fn read(path: &Path, options: ManagerOptions) -> usize {
    let session = SessionManager::open(path, options).expect("it was written");
    let messages = session.read(|session| session.messages(&session.context(Leaf::Last)?));
    messages.expect("blobs can be read").iter().map(String::len).sum()
}

fn decode(text: &str) -> Vec<u8> {
    base64_simd::STANDARD.decode_to_vec(text).expect("generated images are base64")
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn stored(dir: &Path, pictures: &[String]) -> Duration {
    timed(|| {
        for text in pictures {
            let bytes = decode(text);
            let (part, path) = (dir.join("part"), dir.join(hash(&bytes)));
            let mut file = File::create(&part).expect("DATA can be written to");
            file.write_all(&bytes).and_then(|()| file.sync_all()).expect("the disk takes it");
            std::fs::rename(part, path).expect("the disk takes it");
            File::open(dir).and_then(|dir| dir.sync_all()).expect("the disk takes it");
        }
    })
}

fn encoded(dir: &Path) -> Vec<String> {
    let files = std::fs::read_dir(dir).expect("it was made").flatten();
    files
        .map(|file| {
            let bytes = std::fs::read(file.path()).expect("it was written");
            assert_eq!(hash(&bytes), file.file_name().to_string_lossy());
            base64_simd::STANDARD.encode_to_string(bytes)
        })
        .collect()
}
