"""The exception tree."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import pytest

from xcsh_session import AgentDirs, Session, SessionManager, errors


def test_oserrors_are_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    with pytest.raises(FileNotFoundError) as caught:
        Session.read(path)
    error = caught.value
    assert isinstance(error, errors.SessionError) and isinstance(error, errors.StorageError)
    assert (error.code, error.path, error.line, error.errno) == ("NotFound", path, None, errno.ENOENT)
    assert error.filename == os.fspath(path) and str(path) in str(error)
    with pytest.raises(errors.StorageError) as caught_dir:
        Session.read(tmp_path)
    assert caught_dir.value.errno == errno.EISDIR and isinstance(caught_dir.value, IsADirectoryError)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        Session.read(tmp_path / "file" / "x.jsonl")


def test_the_cause_picks_the_class() -> None:
    for number, cls in (
        (errno.EACCES, PermissionError),
        (errno.EPERM, PermissionError),
        (errno.ENOENT, FileNotFoundError),
        (errno.EISDIR, IsADirectoryError),
        (errno.ENOSPC, errors.StorageError),
    ):
        error = errors._make("Io", "no", "/x", None, None, "Other", number)
        assert isinstance(error, cls) and isinstance(error, errors.StorageError)
        assert (error.errno, error.strerror) == (number, os.strerror(number))
    full = errors._make("Io", "/x: not written yet", "/x", None, "abc", "StorageFull", errno.ENOSPC)
    assert (full.code, full.entry_id, str(full)) == ("Io", "abc", "/x: not written yet")


def test_families(sample: Path, tmp_path: Path, dirs: AgentDirs) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"type":"message"}\n')
    with pytest.raises(errors.NotASessionError) as caught:
        Session.read(bad)
    assert (caught.value.code, caught.value.path, caught.value.line) == ("NotASession", bad, 1)
    with pytest.raises(errors.NotASessionError):
        SessionManager.open(bad, dirs=dirs, on_invalid="refuse")
    with SessionManager.in_memory() as manager:
        with pytest.raises(LookupError):
            manager.branch("nope")
        with pytest.raises(errors.InvalidJsonError) as invalid:
            manager.append_message(b'{"role":')
        assert invalid.value.code == "InvalidJson"
        with pytest.raises(errors.InvalidJsonError):
            manager.append("custom", b"\xff")
        with pytest.raises(ValueError):
            manager.append_custom_entry("nan", float("nan"))
        with pytest.raises(TypeError):
            manager.append_custom_entry("object", object())
        with pytest.raises(ValueError):
            manager.append("session", {})
        assert len(manager) == 0
    with pytest.raises(errors.InvalidArgumentError, match="profile"):
        SessionManager.in_memory(profile="other")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no such option: color"):
        SessionManager.in_memory(color="red")  # type: ignore[call-arg]
    with pytest.raises(errors.ReadOnlyError):
        SessionManager.open(sample, dirs=dirs, read_only=True).append_model_change("p/m")


def test_newer_versions_can_be_read(tmp_path: Path, dirs: AgentDirs) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text('{"type":"session","version":9,"id":"x"}\n')
    with pytest.raises(errors.UnsupportedVersionError):
        SessionManager.open(path, dirs=dirs).append_model_change("p/m")
    assert len(Session.read(path)) == 0


def test_errors_survive_pickling(tmp_path: Path) -> None:
    with pytest.raises(errors.SessionError) as caught:
        Session.read(tmp_path / "none.jsonl")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is errors.MissingFileError and str(copy) == str(caught.value)
    assert (copy.path, copy.code, copy.errno) == (caught.value.path, "NotFound", errno.ENOENT)


def test_every_code_has_a_class() -> None:
    def below(cls: type[errors.SessionError]) -> set[type[errors.SessionError]]:
        return {cls}.union(*(below(child) for child in cls.__subclasses__()))

    names = {cls.__name__ for cls in below(errors.SessionError)}
    assert names == set(errors.__all__)
