"""Finding sessions, and collecting blobs."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import SAMPLE

import xcsh_session
from xcsh_session import AgentDirs, BlobStore, errors


@pytest.fixture
def stored(dirs: AgentDirs) -> Path:
    """The sample where the agent keeps the sessions of /srv/pi, and beside it a file that is no session."""
    folder = dirs.session_dir("/srv/pi")
    folder.mkdir(parents=True)
    (folder / "2026-02-16T10-20-31-000Z_ffff.jsonl").write_text("no session\n")
    path = folder / "2026-02-16T10-20-30-000Z_1f9d2a6b9c0d1234.jsonl"
    path.write_text("\n".join(SAMPLE) + "\n")
    os.utime(path, ns=(10**18, 10**18))
    return path


def test_lists(dirs: AgentDirs, stored: Path) -> None:
    found = xcsh_session.list_sessions("/srv/pi", dirs=dirs, with_texts=True)
    (info,) = found
    assert (info.path, info.id, info.cwd, info.title) == (stored, "1f9d2a6b9c0d1234", "/srv/pi", "Fix the parser")
    assert info.created == datetime(2026, 2, 16, 10, 20, 30, tzinfo=UTC)
    assert info.modified == datetime.fromtimestamp(10**9, UTC)
    assert (info.message_count, info.first_message) == (5, "Why does the parser fail?")
    assert info.all_messages_text is not None and "A brace is missing." in info.all_messages_text
    assert [left_out.code for left_out in found.unreadable] == ["NotASession"]
    assert found[0] == info and found[:1] == (info,) and len(found) == 1
    assert [info.id for info in xcsh_session.list_all(dirs=dirs)] == [info.id]
    assert xcsh_session.list_all(dirs=dirs)[0].all_messages_text is None
    assert len(xcsh_session.list_sessions("/srv/other", dirs=dirs)) == 0


def test_recent_and_resolved(dirs: AgentDirs, stored: Path) -> None:
    (recent,) = xcsh_session.recent_sessions(stored.parent)
    assert (recent.name, recent.time_ago, recent.path) == ("Fix the parser", "2001-09-09", stored)
    assert recent.created == datetime(2026, 2, 16, 10, 20, 30, tzinfo=UTC)
    assert xcsh_session.find_most_recent_session(stored.parent) == stored
    assert xcsh_session.find_most_recent_session(dirs.agent / "nothing") is None
    resolved = xcsh_session.resolve_resumable_session("1F9D", "/srv/other", dirs=dirs)
    assert resolved is not None and resolved.session.path == stored and resolved.is_global
    assert xcsh_session.resolve_resumable_session("2000", dirs=dirs) is None
    with pytest.raises(errors.InvalidArgumentError):
        xcsh_session.resolve_resumable_session(" ", dirs=dirs)


def test_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_DIR", os.fspath(tmp_path))
    assert AgentDirs.from_env() == AgentDirs.at(tmp_path) != AgentDirs.at("/other")
    dirs = AgentDirs.from_env({"HOME": "/home/ana"})
    assert dirs.agent == Path("/home/ana/.xcsh/agent") and dirs.sessions == dirs.agent / "sessions"
    assert dirs.session_dir("/srv/pi").name == "--srv-pi--"
    assert dirs.session_dir("/home/ana/x", home_relative=True).name == "-x"
    assert dirs.session_dirs("/home/ana/x")[0].name == "--home-ana-x--"


def test_blobs_are_collected_only_when_told_to(dirs: AgentDirs, stored: Path) -> None:
    blobs = BlobStore(dirs=dirs)
    needed, old, young = (blobs.put(content) for content in (b"needed", b"old", b"young"))
    with stored.open("a") as file:
        file.write('{"type":"custom","id":"c","parentId":null,"customType":"x","data":"%s"}\n' % needed.ref)
    for blob in (needed, old):
        os.utime(blob.path, (10**9, 10**9))
    looked = xcsh_session.gc_blobs(dirs=dirs)
    assert {blob.hash for blob in looked.unreferenced} == {old.hash, young.hash}
    assert (looked.deleted, looked.kept_young, looked.bytes) == (0, 1, 3) and old.path.exists()
    done = xcsh_session.gc_blobs(dirs=dirs, dry_run=False)
    assert (done.deleted, done.kept_young, done.failed) == (1, 1, [])
    assert (needed.path.exists(), old.path.exists(), young.path.exists()) == (True, False, True)
    with pytest.raises(ValueError):
        xcsh_session.gc_blobs(dirs=dirs, min_age=timedelta(seconds=-1))
