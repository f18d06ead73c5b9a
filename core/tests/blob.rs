//! The blob store (SPEC section 9).

mod support;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use support::{Fault, FaultyDisk, PowerLossDisk, Survives};
use xcsh_session::Error;
use xcsh_session::blob::{BlobRef, BlobStore};
use xcsh_session::storage::{
    Access, Disk, DiskFile, DiskSessionStorage, FileSessionStorage, MemoryDisk, MemorySessionStorage, SessionStorage,
};

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const DIR: &str = "/agent/blobs";

fn store<D: Disk + Clone>(disk: &D) -> (BlobStore, Arc<DiskSessionStorage<D>>) {
    let storage = Arc::new(DiskSessionStorage::on(disk.clone()));
    (BlobStore::new(storage.clone(), PathBuf::from(DIR)), storage)
}

fn damaged<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    matches!(result.unwrap_err(), Error::Blob { hash, reason } if hash == ABC && reason.starts_with("damaged"))
}

#[test]
fn names_are_exactly_64_lower_case_hex_digits() {
    let blob = BlobRef::parse(&format!("blob:sha256:{ABC}")).unwrap();
    assert_eq!((blob, blob.hex()), (BlobRef::of(b"abc"), ABC.to_string()));
    assert_eq!(blob.to_string(), format!("blob:sha256:{ABC}"));
    assert_eq!(BlobRef::from_hex(ABC), Some(blob));
    let bad = [
        String::new(),
        ABC.to_string(),
        "blob:sha256:".to_string(),
        "blob:sha256:../../../etc/passwd".to_string(),
        format!("blob:sha256:{}", &ABC[1..]),
        format!("blob:sha256:{ABC}0"),
        format!("blob:sha256:{ABC}\n"),
        format!(" blob:sha256:{ABC}"),
        format!("blob:SHA256:{ABC}"),
        format!("blob:sha256:{}", ABC.to_uppercase()),
        format!("blob:sha256:{}g", &ABC[1..]),
        format!("blob:sha256:../{}", &ABC[3..]),
        format!("blob:sha256:{}/", &ABC[1..]),
        format!("blob:sha256:{}é", &ABC[2..]),
        format!("blob:sha256:{}\0", &ABC[1..]),
    ];
    for text in bad {
        assert_eq!(BlobRef::parse(&text), None, "{text:?}");
    }
}

#[test]
fn what_was_put_is_got() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = BlobStore::new(Arc::new(FileSessionStorage::new()), dir.path().join("blobs"));
    let large: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
    for bytes in [&b"abc"[..], b"", &large] {
        let name = BlobRef::of(bytes);
        assert!(!blobs.has(&name).unwrap() && !blobs.verify(&name).unwrap() && blobs.get(&name).unwrap().is_none());
        assert_eq!(blobs.put(bytes).unwrap(), name);
        assert!(blobs.has(&name).unwrap() && blobs.verify(&name).unwrap());
        assert_eq!(blobs.get(&name).unwrap().unwrap(), bytes);
    }
    assert_eq!(std::fs::read(dir.path().join("blobs").join(ABC)).unwrap(), b"abc");
    assert_eq!(blobs.dir(), dir.path().join("blobs"));
}

#[test]
fn putting_again_writes_nothing() {
    let disk = FaultyDisk::new(MemoryDisk::new());
    let (blobs, storage) = store(&disk);
    let path = blobs.path(&blobs.put(b"abc").unwrap());
    let before = storage.stat(&path).unwrap();
    disk.forget();
    blobs.put(b"abc").unwrap();
    assert_eq!(disk.ops(), ["metadata"]);
    // Another process compares once, and makes sure that it is durable.
    let (other, _) = store(&disk);
    disk.forget();
    other.put(b"abc").unwrap();
    assert!(!disk.ops().contains(&"append") && disk.ops().contains(&"fsync") && disk.ops().contains(&"sync_dir"));
    disk.forget();
    other.put(b"abc").unwrap();
    assert_eq!(disk.ops(), ["metadata"]);
    assert_eq!(storage.stat(&path).unwrap(), before);
}

#[test]
fn an_old_blob_becomes_young_again() {
    let disk = MemoryDisk::new();
    let (blobs, storage) = store(&disk);
    let path = blobs.path(&blobs.put(b"abc").unwrap());
    let now = storage.stat(&path).unwrap().modified_ns;
    let day = 24 * 3600 * 1_000_000_000;
    for other_time in [now - day, now + day, -1] {
        disk.set_modified(&path, other_time).unwrap();
        blobs.put(b"abc").unwrap();
        let renewed = storage.stat(&path).unwrap().modified_ns;
        assert!(renewed >= now && renewed < now + day);
    }
}

#[test]
fn damage_is_told_and_repaired() {
    let disk = MemoryDisk::new();
    let (blobs, storage) = store(&disk);
    let blob = blobs.put(b"abc").unwrap();
    for wrong in [&b"abd"[..], b"", b"ab", b"abcd", b"a much longer content"] {
        storage.write_text(&blobs.path(&blob), wrong, false).unwrap();
        assert!(damaged(blobs.get(&blob)) && damaged(blobs.verify(&blob)) && blobs.has(&blob).unwrap());
        assert_eq!(blobs.put(b"abc").unwrap(), blob);
        assert_eq!(blobs.get(&blob).unwrap().unwrap(), b"abc");
    }
    // Also for a store that never read the damaged one, and where the file may not be read.
    storage.write_text(&blobs.path(&blob), b"abd", false).unwrap();
    store(&disk).0.put(b"abc").unwrap();
    assert!(blobs.verify(&blob).unwrap());
    storage.write_text(&blobs.path(&blob), b"abd", false).unwrap();
    disk.set_mode(&blobs.path(&blob), 0).unwrap();
    assert!(matches!(blobs.get(&blob), Err(Error::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied));
    blobs.put(b"abc").unwrap();
    assert_eq!(blobs.get(&blob).unwrap().unwrap(), b"abc");
}

#[test]
fn a_blob_that_went_away_is_put_again() {
    let disk = MemoryDisk::new();
    let (blobs, storage) = store(&disk);
    let blob = blobs.put(b"abc").unwrap();
    storage.unlink(&blobs.path(&blob)).unwrap();
    blobs.put(b"abc").unwrap();
    storage.remove_dir_all(Path::new("/agent")).unwrap();
    blobs.put(b"abc").unwrap();
    assert!(blobs.verify(&blob).unwrap());
}

#[test]
fn a_blob_is_durable_before_its_name_is_known() {
    let disk = PowerLossDisk::new();
    let (blobs, _) = store(&disk);
    let blob = blobs.put(b"abc").unwrap();
    for survives in Survives::ALL {
        assert_eq!(store(&disk.crash_as(survives)).0.get(&blob).unwrap().unwrap(), b"abc");
    }
}

/// A blob that another process has put there and not synced yet.
#[test]
fn a_blob_that_is_there_already_is_durable_too() {
    let disk = PowerLossDisk::new();
    let (blobs, storage) = store(&disk);
    storage.ensure_dir(Path::new(DIR)).unwrap();
    let blob = BlobRef::of(b"abc");
    storage.write_text(&blobs.path(&blob), b"abc", false).unwrap();
    assert!(store(&disk.crash()).0.get(&blob).unwrap().is_none());
    blobs.put(b"abc").unwrap();
    assert_eq!(store(&disk.crash()).0.get(&blob).unwrap().unwrap(), b"abc");
}

/// Cut short by another program between two looks at it.
#[test]
fn a_blob_that_shrinks_meanwhile_is_put_again() {
    let disk = FaultyDisk::new(MemoryDisk::new());
    let blob = store(&disk).0.put(b"abc").unwrap();
    let (blobs, _) = store(&disk);
    let (memory, path) = (disk.inner().clone(), blobs.path(&blob));
    disk.before("open", move || memory.open(&path, Access::Append).unwrap().set_len(2).unwrap());
    blobs.put(b"abc").unwrap();
    assert!(blobs.verify(&blob).unwrap());
}

/// Whatever step fails: an error or a durable blob, nothing half done that counts later, no debris.
#[test]
fn every_step_of_put_fails() {
    let steps = {
        let disk = FaultyDisk::new(PowerLossDisk::new());
        store(&disk).0.put(b"abc").unwrap();
        disk.count()
    };
    for fault in Fault::ALL {
        for step in 1..=steps {
            for for_good in [false, true] {
                let disk = FaultyDisk::new(PowerLossDisk::new());
                let (blobs, storage) = store(&disk);
                if for_good {
                    disk.fail_from(step, fault)
                } else {
                    disk.fail_once(step, fault)
                }
                let first = blobs.put(b"abc");
                disk.heal();
                let check = |when: &str| {
                    let after = store(&disk.inner().crash()).0;
                    let kept = after.get(&BlobRef::of(b"abc")).unwrap();
                    assert_eq!(kept.as_deref(), Some(&b"abc"[..]), "{when}: {:#?}", disk.calls());
                };
                if first.is_ok() {
                    check("first");
                }
                blobs.put(b"abc").unwrap();
                check("second");
                blobs.put(b"other").unwrap();
                assert_eq!(storage.list_files(Path::new(DIR)).unwrap().len(), 2, "{:#?}", disk.calls());
            }
        }
    }
}

#[test]
fn many_threads_put_the_same() {
    let storage = Arc::new(MemorySessionStorage::new());
    let blobs = BlobStore::new(storage.clone(), PathBuf::from(DIR));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..100u32 {
                    let blob = blobs.put(&(i % 10).to_le_bytes()).unwrap();
                    assert_eq!(blobs.get(&blob).unwrap().unwrap(), (i % 10).to_le_bytes());
                }
            });
        }
    });
    assert_eq!(storage.list_files(Path::new(DIR)).unwrap().len(), 10);
}
