"""The library's log in Python's."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from xcsh_session import AgentDirs, BlobStore, Session, SessionManager

REFERENCE = "blob:sha256:" + "0" * 64
IMAGE = '{"role":"assistant","content":[{"type":"image","data":"%s","mimeType":"image/png"}]}' % REFERENCE


def damaged(dirs: AgentDirs) -> BlobStore:
    blobs = BlobStore(dirs=dirs)
    blobs.dir.mkdir(parents=True)
    blobs.path(REFERENCE).write_bytes(b"not what it should be")
    return blobs


def session_file(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"type":"session","version":3,"id":"x"}\n{"type":"message","id":"a","parentId":null,"message":%s}\n' % IMAGE
    )
    return path


def test_records_arrive(tmp_path: Path, dirs: AgentDirs, caplog: pytest.LogCaptureFixture) -> None:
    session = Session.read(session_file(tmp_path), blobs=damaged(dirs))
    with caplog.at_level(logging.DEBUG, "xcsh_session"):
        list(session)
    assert [(record.name, record.levelname) for record in caplog.records] == [("xcsh_session", "WARNING")]
    assert "damaged" in caplog.text


def test_a_handler_may_use_the_session_it_hears_about(tmp_path: Path, dirs: AgentDirs) -> None:
    blobs = damaged(dirs)
    session = SessionManager.open(session_file(tmp_path), dirs=dirs)
    heard: list[int] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(len(session))
            session.append_custom_entry("log", record.getMessage())

    logger, handler = logging.getLogger("xcsh_session"), Handler()
    logger.addHandler(handler)
    try:
        session.get_entry("a")
    finally:
        logger.removeHandler(handler)
    assert heard == [1] and len(session) == 2 and blobs.dir == dirs.blobs
    session.close()


def test_what_a_handler_raises_does_not_change_the_result(
    tmp_path: Path, dirs: AgentDirs, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.read(session_file(tmp_path), blobs=damaged(dirs))
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda hooked: unraisable.append(hooked.exc_value))

    class Refuse(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("from the filter")

    logger, refuse = logging.getLogger("xcsh_session"), Refuse()
    logger.addFilter(refuse)
    try:
        assert session.get_entry("a") is not None
    finally:
        logger.removeFilter(refuse)
    assert [str(error) for error in unraisable] == ["from the filter"]


def test_without_a_handler_nothing_is_printed(tmp_path: Path, dirs: AgentDirs) -> None:
    damaged(dirs)
    script = (
        "import sys; from xcsh_session import *; "
        "list(Session.read(sys.argv[1], blobs=BlobStore(dirs=AgentDirs.at(sys.argv[2]))))"
    )
    command = [sys.executable, "-c", script, str(session_file(tmp_path)), str(dirs.agent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("", "")
