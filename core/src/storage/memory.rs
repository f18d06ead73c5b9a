//! A file system in memory, with what the protocols rely on: contents that outlive their names, links, modes, locks
//! between handles.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use super::FileId;
use super::disk::{Access, Disk, DiskEntry, DiskFile, DiskStat, Kind};
use super::shared::lock;

const MAX_LINKS: usize = 40;
const OWNER_READ: u32 = 0o400;
const OWNER_WRITE: u32 = 0o200;

/// A file system in memory. Clones share it. Relative paths start at the root, which is there from the start.
/// The owner's permission bits count, for everybody: a file without `0o200` cannot be opened for writing, and the
/// names in a directory without it cannot be changed. Nothing has to be synced.
#[derive(Clone)]
pub struct MemoryDisk {
    tree: Arc<Mutex<Tree>>,
}

struct Tree {
    root: Arc<Dir>,
}

#[derive(Clone)]
enum Node {
    Dir(Arc<Dir>),
    File(Arc<Inode>),
    Link(PathBuf),
}

struct Dir {
    id: u64,
    mode: AtomicU32,
    modified_ns: AtomicI64,
    /// Never locked while another directory's names are.
    names: Mutex<BTreeMap<OsString, Node>>,
}

struct Inode {
    id: u64,
    mode: AtomicU32,
    modified_ns: AtomicI64,
    links: AtomicU64,
    /// The number of the handle that has the lock; 0: nobody.
    locked_by: AtomicU64,
    data: RwLock<Vec<u8>>,
}

/// An open file of a [`MemoryDisk`].
pub struct MemoryFile {
    handle: u64,
    inode: Arc<Inode>,
    writable: bool,
}

fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

impl Dir {
    fn new() -> Arc<Dir> {
        Arc::new(Dir {
            id: next_number(),
            mode: AtomicU32::new(0o700),
            modified_ns: AtomicI64::new(now_ns()),
            names: Mutex::default(),
        })
    }

    fn get(&self, name: &OsString) -> Option<Node> {
        lock(&self.names).get(name).cloned()
    }

    /// Refuses a change of names if the mode does.
    fn check_writable(&self) -> io::Result<()> {
        match self.mode.load(Ordering::Relaxed) & OWNER_WRITE {
            0 => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(()),
        }
    }

    /// Gives the name to `node`, or to nothing; the content that had it has one name less.
    fn set(&self, name: OsString, node: Option<Node>) {
        let mut names = lock(&self.names);
        let old = match node {
            Some(node) => names.insert(name, node),
            None => names.remove(&name),
        };
        if let Some(Node::File(inode)) = old {
            inode.links.fetch_sub(1, Ordering::Relaxed);
        }
        self.modified_ns.store(now_ns(), Ordering::Relaxed);
    }

    fn stat(&self) -> DiskStat {
        DiskStat {
            kind: Kind::Dir,
            len: 0,
            modified_ns: self.modified_ns.load(Ordering::Relaxed),
            id: FileId(0, self.id),
            links: 1,
            mode: self.mode.load(Ordering::Relaxed),
        }
    }
}

impl Inode {
    fn stat(&self) -> DiskStat {
        DiskStat {
            kind: Kind::File,
            len: self.data.read().unwrap_or_else(PoisonError::into_inner).len() as u64,
            modified_ns: self.modified_ns.load(Ordering::Relaxed),
            id: FileId(0, self.id),
            links: self.links.load(Ordering::Relaxed),
            mode: self.mode.load(Ordering::Relaxed),
        }
    }

    fn open(self: Arc<Self>, writable: bool) -> MemoryFile {
        MemoryFile { handle: next_number(), inode: self, writable }
    }
}

impl Tree {
    /// The directory that holds the path's last name, and that name; links of the directories are followed. The root
    /// has no name.
    fn locate(&self, path: &Path, links: &mut usize) -> io::Result<(Arc<Dir>, Option<OsString>)> {
        let root = &self.root;
        let mut chain = vec![Arc::clone(root)];
        let mut names = path.components().peekable();
        while let Some(component) = names.next() {
            let here = Arc::clone(chain.last().unwrap_or(root));
            match component {
                Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
                Component::ParentDir => {
                    if chain.len() > 1 {
                        chain.pop();
                    }
                }
                Component::Normal(name) if names.peek().is_none() => return Ok((here, Some(name.into()))),
                Component::Normal(name) => match here.get(&name.into()) {
                    Some(Node::Dir(dir)) => chain.push(dir),
                    Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                    None => return Err(io::ErrorKind::NotFound.into()),
                    // A link in the middle: go on from where it leads, as one path.
                    Some(Node::Link(target)) => {
                        count_link(links)?;
                        let before = prefix(path, names.clone().count() + 1);
                        let rest: PathBuf = names.collect();
                        return self.locate(&before.join(target).join(rest), links);
                    }
                },
            }
        }
        Ok((Arc::clone(chain.last().unwrap_or(root)), None))
    }

    /// What the path leads to, links followed.
    fn find(&self, path: &Path) -> io::Result<Node> {
        let mut links = 0;
        let mut path = path.to_path_buf();
        loop {
            let (dir, name) = self.locate(&path, &mut links)?;
            let Some(name) = name else { return Ok(Node::Dir(dir)) };
            match dir.get(&name) {
                None => return Err(io::ErrorKind::NotFound.into()),
                Some(Node::Link(target)) => {
                    count_link(&mut links)?;
                    path = prefix(&path, 1).join(target);
                }
                Some(node) => return Ok(node),
            }
        }
    }

    fn find_dir(&self, path: &Path) -> io::Result<Arc<Dir>> {
        match self.find(path)? {
            Node::Dir(dir) => Ok(dir),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The directory and the name that a path has or is to have.
    fn place(&self, path: &Path) -> io::Result<(Arc<Dir>, OsString)> {
        let (dir, name) = self.locate(path, &mut 0)?;
        Ok((dir, name.ok_or(io::ErrorKind::InvalidInput)?))
    }

    /// Gives a free name to `node`.
    fn add(&self, path: &Path, node: Node) -> io::Result<()> {
        let (dir, name) = self.place(path)?;
        if dir.get(&name).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        dir.check_writable()?;
        dir.set(name, Some(node));
        Ok(())
    }
}

fn count_link(links: &mut usize) -> io::Result<()> {
    *links += 1;
    match *links > MAX_LINKS {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, "too many symbolic links")),
        false => Ok(()),
    }
}

/// The path without its last `count` components.
fn prefix(path: &Path, count: usize) -> PathBuf {
    let components = path.components();
    let keep = components.clone().count().saturating_sub(count);
    components.take(keep).collect()
}

impl Default for MemoryDisk {
    fn default() -> Self {
        MemoryDisk { tree: Arc::new(Mutex::new(Tree { root: Dir::new() })) }
    }
}

impl MemoryDisk {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a symbolic link at `path` that points to `target`, which need not exist.
    pub fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        lock(&self.tree).add(path, Node::Link(target.to_path_buf()))
    }

    /// Sets the permission bits of a file or directory, links followed.
    pub fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        match lock(&self.tree).find(path)? {
            Node::Dir(dir) => dir.mode.store(mode, Ordering::Relaxed),
            Node::File(inode) => inode.mode.store(mode, Ordering::Relaxed),
            Node::Link(_) => {}
        }
        Ok(())
    }

    /// Sets the time of the last change of a file or directory, in nanoseconds since 1970, links followed.
    pub fn set_modified(&self, path: &Path, modified_ns: i64) -> io::Result<()> {
        match lock(&self.tree).find(path)? {
            Node::Dir(dir) => dir.modified_ns.store(modified_ns, Ordering::Relaxed),
            Node::File(inode) => inode.modified_ns.store(modified_ns, Ordering::Relaxed),
            Node::Link(_) => {}
        }
        Ok(())
    }
}

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn open(&self, path: &Path, access: Access) -> io::Result<MemoryFile> {
        let Node::File(inode) = lock(&self.tree).find(path)? else { return Err(io::ErrorKind::IsADirectory.into()) };
        let needed = if access == Access::Append { OWNER_READ | OWNER_WRITE } else { OWNER_READ };
        if inode.mode.load(Ordering::Relaxed) & needed != needed {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(inode.open(access == Access::Append))
    }

    fn create_new(&self, path: &Path) -> io::Result<MemoryFile> {
        let inode = Arc::new(Inode {
            id: next_number(),
            mode: AtomicU32::new(0o600),
            modified_ns: AtomicI64::new(now_ns()),
            links: AtomicU64::new(1),
            locked_by: AtomicU64::new(0),
            data: RwLock::default(),
        });
        lock(&self.tree).add(path, Node::File(Arc::clone(&inode)))?;
        Ok(inode.open(true))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        lock(&self.tree).add(dir, Node::Dir(Dir::new()))
    }

    fn metadata(&self, path: &Path) -> io::Result<DiskStat> {
        match lock(&self.tree).find(path)? {
            Node::Dir(dir) => Ok(dir.stat()),
            Node::File(inode) => Ok(inode.stat()),
            Node::Link(_) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn read_link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let tree = lock(&self.tree);
        match tree.locate(path, &mut 0) {
            Ok((dir, Some(name))) => match dir.get(&name) {
                Some(Node::Link(target)) => Ok(Some(target)),
                _ => Ok(None),
            },
            Ok((_, None)) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_dir(&self, dir: &Path) -> io::Result<Vec<DiskEntry>> {
        let dir = lock(&self.tree).find_dir(dir)?;
        if dir.mode.load(Ordering::Relaxed) & OWNER_READ == 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let kind = |node: &Node| match node {
            Node::Dir(_) => Kind::Dir,
            Node::File(_) => Kind::File,
            Node::Link(_) => Kind::Link,
        };
        let names = lock(&dir.names);
        Ok(names.iter().map(|(name, node)| DiskEntry { name: name.clone(), kind: kind(node) }).collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let tree = lock(&self.tree);
        let (old_dir, old_name) = tree.place(from)?;
        let node = old_dir.get(&old_name).ok_or(io::ErrorKind::NotFound)?;
        let (new_dir, new_name) = tree.place(to)?;
        match (&node, new_dir.get(&new_name)) {
            (Node::File(old), Some(Node::File(new))) if Arc::ptr_eq(old, &new) => return Ok(()),
            (Node::Dir(old), Some(Node::Dir(new))) if Arc::ptr_eq(old, &new) => return Ok(()),
            (Node::Dir(_), Some(Node::Dir(new))) if !lock(&new.names).is_empty() => {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            (Node::Dir(_), Some(Node::File(_) | Node::Link(_))) => return Err(io::ErrorKind::NotADirectory.into()),
            (Node::File(_) | Node::Link(_), Some(Node::Dir(_))) => return Err(io::ErrorKind::IsADirectory.into()),
            (Node::Dir(_), _) if to.starts_with(from) => return Err(io::ErrorKind::InvalidInput.into()),
            _ => {}
        }
        old_dir.check_writable()?;
        new_dir.check_writable()?;
        // One name more until the old one goes, so that the count never shows 0.
        if let Node::File(inode) = &node {
            inode.links.fetch_add(1, Ordering::Relaxed);
        }
        new_dir.set(new_name, Some(node));
        old_dir.set(old_name, None);
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let tree = lock(&self.tree);
        let (dir, name) = tree.place(path)?;
        match dir.get(&name) {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(Node::Dir(_)) => return Err(io::ErrorKind::IsADirectory.into()),
            Some(_) => dir.check_writable()?,
        }
        dir.set(name, None);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let tree = lock(&self.tree);
        let (dir, name) = tree.place(path)?;
        match dir.get(&name) {
            None => return Err(io::ErrorKind::NotFound.into()),
            Some(Node::Dir(old)) if !lock(&old.names).is_empty() => {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            Some(Node::Dir(_)) => dir.check_writable()?,
            Some(_) => return Err(io::ErrorKind::NotADirectory.into()),
        }
        dir.set(name, None);
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        lock(&self.tree).find_dir(dir).map(drop)
    }
}

impl DiskFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let data = self.inode.data.read().unwrap_or_else(PoisonError::into_inner);
        let rest = usize::try_from(offset).ok().and_then(|offset| data.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.check_writable()?;
        let mut data = self.inode.data.write().unwrap_or_else(PoisonError::into_inner);
        data.try_reserve(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        data.extend_from_slice(bytes);
        self.inode.modified_ns.store(now_ns(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut data = self.inode.data.write().unwrap_or_else(PoisonError::into_inner);
        data.resize(len, 0);
        self.inode.modified_ns.store(now_ns(), Ordering::Relaxed);
        Ok(())
    }

    fn stat(&self) -> io::Result<DiskStat> {
        Ok(self.inode.stat())
    }

    fn fsync(&self) -> io::Result<()> {
        Ok(())
    }

    fn copy_access(&self, other: &MemoryFile) -> io::Result<()> {
        self.inode.mode.store(other.inode.mode.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let taken = self.inode.locked_by.compare_exchange(0, self.handle, Ordering::Acquire, Ordering::Relaxed);
        Ok(taken.is_ok_and(|_| true) || taken == Err(self.handle))
    }

    fn unlock(&self) -> io::Result<()> {
        let _ = self.inode.locked_by.compare_exchange(self.handle, 0, Ordering::Release, Ordering::Relaxed);
        Ok(())
    }
}

impl MemoryFile {
    fn check_writable(&self) -> io::Result<()> {
        // What the system says of a handle that is open for reading only.
        if self.writable { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let _ = self.unlock();
    }
}
