use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::rng::{Ids, Rng};
use crate::time::Iso;
use crate::{SessionSpec, Summary, session};

/// What [`directory`] made.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// The session files, oldest first.
    pub files: Vec<PathBuf>,
    /// Their sizes together.
    pub bytes: u64,
    /// How many of them have a title in the header.
    pub titled: usize,
}

/// Fills `dir` (made where missing) with `count` session files of about 78 KB each, a third of them
/// with a title. Their modification times rise with their names, so that newest-first is no accident
/// of the machine.
///
/// # Errors
/// Whatever the file system returns.
pub fn directory(dir: &Path, count: usize, cwd: &str, seed: u64) -> io::Result<Directory> {
    fs::create_dir_all(dir)?;
    let mut rng = Rng::new(seed);
    let mut start_ms = SessionSpec::default().start_ms;
    let mut made = Directory::default();
    for number in 0..count {
        start_ms += 60_000 + rng.below(3_600_000);
        let spec = SessionSpec {
            entries: 10 + rng.below(13) as usize,
            seed: rng.next(),
            cwd: cwd.to_owned(),
            title: (number % 3 == 0).then(|| format!("Session {number}: naïve → exact")),
            start_ms,
            ..SessionSpec::default()
        };
        let path = dir.join(spec.file_name());
        let mut file = BufWriter::new(File::create(&path)?);
        made.bytes += session(&spec, &mut file)?.bytes;
        let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(start_ms);
        file.into_inner()?.set_modified(modified)?;
        made.titled += usize::from(spec.title.is_some());
        made.files.push(path);
    }
    Ok(made)
}

/// Writes a session of `count` user messages, each with an own image of `size` bytes inline as
/// base64, and an answer to each.
///
/// # Errors
/// Whatever `out` returns.
pub fn images(count: usize, size: usize, seed: u64, out: &mut dyn Write) -> io::Result<Summary> {
    let mut rng = Rng::new(seed);
    let mut writer = Messages::new(seed, out)?;
    for number in 0..count {
        let mut image = b"\x89PNG\r\n\x1a\n".to_vec();
        image.resize_with(image.len().max(size), || rng.next() as u8);
        image.truncate(size);
        writer.add(&format!(
            r#""role":"user","content":[{{"type":"text","text":"screenshot {number}"}},{{"type":"image","data":"{}","mimeType":"image/png"}}]"#,
            base64(&image)
        ))?;
        writer.add(
            r#""role":"assistant","content":[{"type":"text","text":"I see it."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":900,"output":6,"cacheRead":0,"cacheWrite":0,"totalTokens":906,"cost":{"input":0.0027,"output":0.00009,"cacheRead":0,"cacheWrite":0,"total":0.00279}},"stopReason":"stop""#,
        )?;
    }
    Ok(writer.summary)
}

/// Writes a session of `count` tiny messages, each the child of the one before.
///
/// # Errors
/// Whatever `out` returns.
pub fn chain(count: usize, seed: u64, out: &mut dyn Write) -> io::Result<Summary> {
    let mut writer = Messages::new(seed, out)?;
    for number in 0..count {
        writer.add(&format!(r#""role":"user","content":"{number}""#))?;
    }
    Ok(writer.summary)
}

/// A session of nothing but messages in one chain.
struct Messages<'a> {
    out: &'a mut dyn Write,
    ids: Ids,
    clock: u64,
    summary: Summary,
}

impl<'a> Messages<'a> {
    fn new(seed: u64, out: &'a mut dyn Write) -> io::Result<Self> {
        let spec = SessionSpec { seed, ..SessionSpec::default() };
        let header = spec.header(false);
        out.write_all(header.as_bytes())?;
        let bytes = header.len() as u64;
        Ok(Self { out, ids: Ids::new(seed), clock: spec.start_ms, summary: Summary { bytes, ..Summary::default() } })
    }

    /// `fields` are the message's, without its timestamp.
    fn add(&mut self, fields: &str) -> io::Result<()> {
        self.clock += 7;
        let id = format!("{:08x}", self.ids.next());
        let parent = match &self.summary.last_id {
            Some(parent) => format!("\"{parent}\""),
            None => "null".to_owned(),
        };
        let line = format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{}\",\"message\":{{{fields},\"timestamp\":{}}}}}\n",
            Iso(self.clock),
            self.clock
        );
        self.out.write_all(line.as_bytes())?;
        self.summary.bytes += line.len() as u64;
        self.summary.entries += 1;
        self.summary.path_entries += 1;
        self.summary.context_messages += 1;
        self.summary.last_id = Some(id);
        Ok(())
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = (at(0) << 16) | (at(1) << 8) | at(2);
        for i in 0..4 {
            let symbol = ALPHABET[(bits >> (18 - 6 * i)) as usize & 63];
            text.push(if i <= chunk.len() { char::from(symbol) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_of_known_texts() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfb]), "//77");
    }
}
