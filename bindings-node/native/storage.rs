//! The storages, for managers and for callers who use them by themselves.

use napi::bindgen_prelude::{AsyncTask, Uint8Array};
use napi::{Env, Status, Task};
use napi_derive::napi;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use xcsh_session::storage::{FileSessionStorage, MemorySessionStorage, SessionStorage, SessionStorageWriter};

/// A storage on files or in memory.
#[napi]
pub struct NativeStorage {
    pub(crate) storage: Arc<dyn SessionStorage>,
}

/// What `statSync` tells.
#[napi(object, object_from_js = false)]
pub struct NativeStat {
    pub size: f64,
    pub mtime_ms: f64,
}

/// How long a writer waits for another one.
const WAIT: Duration = Duration::from_secs(5);

/// Storage errors cross as `<code of errno.h>\n<operation>\n<path>\n<text>`.
fn crossing(op: &str, path: &Path, error: &io::Error) -> napi::Error {
    let code = error.raw_os_error().map_or_else(|| format!("{:?}", error.kind()), |number| number.to_string());
    napi::Error::new(Status::GenericFailure, format!("io\n{code}\n{op}\n{}\n{error}", path.display()))
}

fn run<T>(op: &'static str, path: &Path, body: impl FnOnce() -> io::Result<T>) -> napi::Result<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(done) => done.map_err(|error| crossing(op, path, &error)),
        Err(_) => Err(crossing(op, path, &io::Error::other("a fault in the session library"))),
    }
}

type Body<T> = Box<dyn FnOnce(&Path) -> io::Result<T> + Send>;

/// One storage call on the pool.
pub struct StorageJob<T> {
    op: &'static str,
    path: PathBuf,
    body: Option<Body<T>>,
}

impl<T: Send + napi::bindgen_prelude::ToNapiValue + napi::bindgen_prelude::TypeName + 'static> Task for StorageJob<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let StorageJob { op, path, body } = self;
        let body = body.take();
        run(op, path, || body.map_or_else(|| Err(io::ErrorKind::Other.into()), |body| body(path)))
    }

    fn resolve(&mut self, _env: Env, output: T) -> napi::Result<T> {
        Ok(output)
    }
}

impl NativeStorage {
    fn job<T, F>(&self, op: &'static str, path: String, body: F) -> AsyncTask<StorageJob<T>>
    where
        T: Send + napi::bindgen_prelude::ToNapiValue + napi::bindgen_prelude::TypeName + 'static,
        F: FnOnce(&dyn SessionStorage, &Path) -> io::Result<T> + Send + 'static,
    {
        let storage = Arc::clone(&self.storage);
        AsyncTask::new(StorageJob { op, path: path.into(), body: Some(Box::new(move |path| body(&*storage, path))) })
    }
}

#[napi]
impl NativeStorage {
    #[napi(factory)]
    pub fn files() -> NativeStorage {
        NativeStorage { storage: Arc::new(FileSessionStorage::new()) }
    }

    #[napi(factory)]
    pub fn memory() -> NativeStorage {
        NativeStorage { storage: Arc::new(MemorySessionStorage::new()) }
    }

    #[napi]
    pub fn ensure_dir(&self, dir: String) -> napi::Result<()> {
        let dir = PathBuf::from(dir);
        run("mkdir", &dir, || self.storage.ensure_dir(&dir))
    }

    #[napi]
    pub fn exists_now(&self, path: String) -> napi::Result<bool> {
        let path = PathBuf::from(path);
        run("access", &path, || self.storage.exists(&path))
    }

    #[napi]
    pub fn write_text_now(&self, path: String, text: String) -> napi::Result<()> {
        let path = PathBuf::from(path);
        run("open", &path, || self.storage.write_text(&path, text.as_bytes(), false))
    }

    #[napi]
    pub fn stat(&self, path: String) -> napi::Result<NativeStat> {
        let path = PathBuf::from(path);
        run("stat", &path, || {
            let stat = self.storage.stat(&path)?;
            Ok(NativeStat { size: stat.len as f64, mtime_ms: stat.modified_ns as f64 / 1e6 })
        })
    }

    #[napi]
    pub fn list_files(&self, dir: String) -> napi::Result<Vec<String>> {
        let dir = PathBuf::from(dir);
        run("scandir", &dir, || {
            let mut files: Vec<String> =
                self.storage.list_files(&dir)?.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
            files.sort_unstable();
            Ok(files)
        })
    }

    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn exists(&self, path: String) -> AsyncTask<StorageJob<bool>> {
        self.job("access", path, |storage, path| storage.exists(path))
    }

    #[napi(ts_return_type = "Promise<string>")]
    pub fn read_text(&self, path: String) -> AsyncTask<StorageJob<String>> {
        self.job("open", path, |storage, path| Ok(String::from_utf8_lossy(&storage.read_text(path)?).into_owned()))
    }

    #[napi(ts_return_type = "Promise<string>")]
    pub fn read_text_prefix(&self, path: String, max: u32) -> AsyncTask<StorageJob<String>> {
        self.job("open", path, move |storage, path| {
            Ok(String::from_utf8_lossy(&storage.read_text_prefix(path, max as usize)?).into_owned())
        })
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn write_text(&self, path: String, text: String) -> AsyncTask<StorageJob<()>> {
        self.job("open", path, move |storage, path| storage.write_text(path, text.as_bytes(), false))
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn rename(&self, path: String, to: String) -> AsyncTask<StorageJob<()>> {
        self.job("rename", path, move |storage, path| storage.rename(path, Path::new(&to)).and_then(|synced| synced))
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn unlink(&self, path: String) -> AsyncTask<StorageJob<()>> {
        self.job("unlink", path, |storage, path| storage.unlink(path))
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn remove_dir_all(&self, dir: String) -> AsyncTask<StorageJob<()>> {
        self.job("rm", dir, |storage, dir| storage.remove_dir_all(dir))
    }

    #[napi]
    pub fn open_writer(&self, path: String) -> napi::Result<NativeStorageWriter> {
        let path = PathBuf::from(path);
        let writer = run("open", &path, || self.storage.open_writer(&path))?;
        Ok(NativeStorageWriter { writer: Arc::new(Mutex::new(writer)), path })
    }
}

/// Appends to one content.
#[napi]
pub struct NativeStorageWriter {
    writer: Arc<Mutex<Box<dyn SessionStorageWriter>>>,
    path: PathBuf,
}

impl NativeStorageWriter {
    fn job<F>(&self, op: &'static str, body: F) -> AsyncTask<StorageJob<()>>
    where
        F: FnOnce(&mut dyn SessionStorageWriter) -> io::Result<()> + Send + 'static,
    {
        let writer = Arc::clone(&self.writer);
        let body = Box::new(move |_: &Path| body(&mut **writer.lock().unwrap_or_else(PoisonError::into_inner)));
        AsyncTask::new(StorageJob { op, path: self.path.clone(), body: Some(body) })
    }
}

#[napi]
impl NativeStorageWriter {
    /// Starts an empty content where `truncate` is set, else makes sure that there is one.
    #[napi]
    pub fn start(&self, truncate: bool) -> napi::Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        run("open", &self.path, || {
            let found = writer.begin(WAIT)?;
            let done = match found {
                None => writer.create(b"").map(|_| ()),
                Some(_) if truncate => writer.replace(&mut |_| Ok(())).map(|_| ()),
                Some(_) => Ok(()),
            };
            writer.end();
            done
        })
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn write_line(&self, line: String) -> AsyncTask<StorageJob<()>> {
        self.job("write", move |writer| {
            let done = match writer.begin(WAIT)? {
                Some(_) => writer.write_line(line.as_bytes()).map(|_| ()),
                None => writer.create(line.as_bytes()).map(|_| ()),
            };
            writer.end();
            done
        })
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn fsync(&self) -> AsyncTask<StorageJob<()>> {
        self.job("fsync", |writer| writer.fsync().map_or(Ok(()), |job| job()))
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn close(&self) -> AsyncTask<StorageJob<()>> {
        self.job("close", |writer| {
            writer.close();
            Ok(())
        })
    }
}

/// Bytes of JavaScript, for another thread.
pub(crate) fn bytes(data: &Uint8Array) -> Vec<u8> {
    data.to_vec()
}

/// The directory of a session's artifacts.
#[napi]
pub fn artifacts_dir(session_file: String) -> String {
    xcsh_session::artifacts::artifacts_dir(Path::new(&session_file)).to_string_lossy().into_owned()
}
