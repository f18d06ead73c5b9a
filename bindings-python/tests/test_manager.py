"""Writing, one manager at a time."""

from __future__ import annotations

import gc
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from xcsh_session import (
    AgentDirs,
    BlobStore,
    Session,
    SessionManager,
    errors,
    sanitize_loaded_openai_responses_replay_metadata,
)

ASSISTANT: Any = {"role": "assistant", "content": [], "provider": "p", "model": "m"}


def lines(manager: SessionManager) -> list[Any]:
    file = manager.get_session_file()
    assert file is not None
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_a_session_from_start_to_end(dirs: AgentDirs) -> None:
    with SessionManager.create("/srv/pi", dirs=dirs) as session:
        file = session.get_session_file()
        assert file is not None and file.parent == dirs.session_dir("/srv/pi") and not file.exists()
        user = session.append_message({"role": "user", "content": "hi \ud83d"})
        assert not file.exists() and session.get_leaf_id() == user
        answer = session.append_message(ASSISTANT)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        session.append_label_change(answer, "done")
        assert session.get_label(answer) == "done"
        session.branch(user)
        summary = session.branch_with_summary(user, "tried", details={"files": []})
        assert session.get_entry(summary)["fromId"] == user  # type: ignore[typeddict-item, index]
        session.flush()
        assert [entry["type"] for entry in lines(session)] == [
            "session",
            "message",
            "message",
            "label",
            "branch_summary",
        ]
        assert b"\\ud83d" in file.read_bytes()
        assert session.set_session_name("A  title\n") and session.get_session_name() == "A title"
        assert session.title_source == "user" and not session.set_session_name("other", "auto")
        assert session.get_cwd() == Path("/srv/pi") and session.is_persisted()
    with pytest.raises(errors.ClosedError):
        session.append_message(ASSISTANT)
    assert len(session) == 4, "reading goes on"
    with SessionManager.continue_recent("/srv/pi", dirs=dirs) as again:
        assert again.get_session_file() == file and len(again) == 4
    with SessionManager.fork_from(file, "/srv/other", dirs=dirs) as fork:
        assert fork.get_header()["parentSession"] == session.get_session_id()
        assert list(fork) == list(session)


def test_exact_json_goes_through(dirs: AgentDirs) -> None:
    with SessionManager.create("/srv/pi", dirs=dirs) as session:
        message = b'{"role":"assistant","n":1e400,"t":"\\ud83d\\u00e9","big":12345678901234567890,"a":-0}'
        entry_id = session.append_message(message)
        assert message in (session.raw(entry_id) or b"")
        custom = session.append("telemetry", b'{"x":1.0,"x":1.00}')
        assert b'"x":1.0,"x":1.00' in (session.raw(custom) or b"")
        assert [message] == session.raw_context_messages()
        file = session.get_session_file()
    assert file is not None and message in file.read_bytes()


def test_none_and_absent_differ_where_they_should(dirs: AgentDirs) -> None:
    with SessionManager.in_memory() as session:
        session.append_thinking_level_change(None)
        session.append_service_tier_change(None)
        session.append_custom_entry("x", None)
        session.append_custom_entry("x")
        session.append_mode_change("plan")
        assert [sorted(entry) for entry in session] == [
            ["id", "parentId", "thinkingLevel", "timestamp", "type"],
            ["id", "parentId", "serviceTier", "timestamp", "type"],
            ["customType", "data", "id", "parentId", "timestamp", "type"],
            ["customType", "id", "parentId", "timestamp", "type"],
            ["id", "mode", "parentId", "timestamp", "type"],
        ]
        assert session.get_session_file() is None and not session.is_persisted()
        assert session.save_artifact("x", "bash") is None and session.fork() is None


def test_contexts_follow_the_leaf() -> None:
    with SessionManager.in_memory() as session:
        first = session.append_message({"role": "user", "content": "1"})
        session.append_message({"role": "user", "content": "2"})
        assert len(session.build_session_context()["messages"]) == 2
        session.branch(first)
        assert len(session.build_session_context()["messages"]) == 1
        session.reset_leaf()
        assert session.build_session_context()["messages"] == []
        assert len(session.build_session_context(first)["messages"]) == 1


def test_rewriting_changes_only_what_it_is_given(sample: Path, dirs: AgentDirs) -> None:
    before = sample.read_bytes().split(b"\n")
    with SessionManager.open(sample, dirs=dirs) as session:
        entry: Any = session.get_entry("a0000001")
        entry["message"]["content"] = "shorter"
        session.rewrite_entries([entry])
        assert session.get_entry("a0000001") == entry
        with pytest.raises(errors.EntryNotFoundError):
            session.rewrite_entries([{"id": "nope"}])
        session.replace_entry("a0000006", {"type": "custom", "id": "a0000006", "parentId": None, "customType": "x"})
    after = sample.read_bytes().split(b"\n")
    assert [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new] == [2, 7]


def test_states_forks_moves_and_branches(dirs: AgentDirs) -> None:
    with SessionManager.create("/srv/pi", dirs=dirs) as session:
        first = session.append_message(ASSISTANT)
        session.append_message(ASSISTANT)
        state = session.capture_state()
        forked = session.fork()
        assert forked is not None and forked.old_file.exists() and forked.new_file == session.get_session_file()
        branched = session.create_branched_session(first)
        assert branched is not None and len(session) == 1
        assert session.save_artifact("output", "bash") == "0"
        session.move_to("/srv/elsewhere")
        moved = session.get_session_file()
        assert moved is not None and moved.parent == dirs.session_dir("/srv/elsewhere") and not branched.exists()
        artifact = session.get_artifact_path("0")
        assert artifact is not None and artifact.read_text() == "output"
        session.restore_state(state)
        assert session.get_session_file() == forked.old_file and len(session) == 2
        assert session.new_session(parent_session="x") != forked.old_file and len(session) == 0


def test_a_file_that_is_no_session_is_moved_aside(tmp_path: Path, dirs: AgentDirs) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("my notes\n")
    with SessionManager.open(path, dirs=dirs) as session:
        aside = session.moved_aside()
        assert aside is not None and aside.read_text() == "my notes\n"
        assert len(Session.read(path)) == 0


def test_what_cannot_be_written_is_kept_and_written_later(dirs: AgentDirs) -> None:
    fcntl = pytest.importorskip("fcntl")
    with SessionManager.create("/srv/pi", dirs=dirs, lock_timeout=0.05) as session:
        session.append_message(ASSISTANT)
        session.flush()
        file = session.get_session_file()
        assert file is not None
        with file.open("rb") as held:
            # The manager may keep its lock for a moment after an append.
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(errors.LockedError) as caught:
                session.append_model_change("p/m")
            assert isinstance(caught.value, TimeoutError) and caught.value.entry_id == session.get_leaf_id()
            problem = session.persist_error()
            assert problem is not None and problem.code == "Locked"
        session.recover()
        assert session.persist_error() is None and len(lines(session)) == 3


def test_what_others_appended_is_taken_in(dirs: AgentDirs) -> None:
    with SessionManager.create("/srv/pi", dirs=dirs) as one:
        one.append_message(ASSISTANT)
        file = one.get_session_file()
        assert file is not None
        with SessionManager.open(file, dirs=dirs) as two:
            theirs = one.append_message(ASSISTANT)
            assert [entry["id"] for entry in two.refresh()] == [theirs] and two.refresh() == []


def test_images_go_to_the_blob_store_and_come_back(dirs: AgentDirs) -> None:
    import base64

    data = base64.b64encode(os.urandom(3000)).decode()
    message = {"role": "assistant", "content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
    with SessionManager.create("/srv/pi", dirs=dirs) as session:
        entry_id = session.append_message(message)
        file = session.get_session_file()
    assert file is not None and data not in file.read_text()
    blobs = BlobStore(dirs=dirs)

    def image(session: Session) -> str:
        entry: Any = session.get_entry(entry_id)
        assert session.build_session_context()["messages"] == [entry["message"]]
        return str(entry["message"]["content"][0]["data"])

    reference = image(Session.read(file))
    assert reference.startswith("blob:sha256:") and reference in blobs
    assert blobs.get(reference) == base64.b64decode(data) and blobs.verify(reference)
    resolved = Session.read(file, blobs=blobs)
    assert image(resolved) == data and reference.encode() in (resolved.raw(entry_id) or b"")
    os.chmod(blobs.path(reference), 0o600)
    blobs.path(reference).write_bytes(b"other")
    assert image(Session.read(file, blobs=blobs)) == reference
    assert Session.read(file, blobs=blobs).diagnostics()["damagedBlobs"][0]["id"] == entry_id
    with pytest.raises(errors.BlobError):
        blobs.get(reference)
    put = blobs.put(b"bytes")
    assert put.ref == f"blob:sha256:{put.hash}" and put.path.read_bytes() == b"bytes"
    with pytest.raises(ValueError):
        blobs.get("../../etc/passwd")


def test_names_and_ids_with_lone_surrogates_are_no_errors() -> None:
    with SessionManager.in_memory() as session:
        session.append_message({"role": "user", "content": "x"})
        assert session.get_entry("\ud83d") is None and session.get_label("\ud83d") is None
        with pytest.raises(errors.EntryNotFoundError):
            session.branch("\ud83d\ude00\ud83d")
        assert session.set_session_name("a\ud83db") and session.get_session_name() == "a\ufffdb"
    text = '{"type":"session","version":3,"id":"x"}\n{"type":"custom","id":"a\\ud83d","parentId":null}\n'
    odd = Session.parse(text)
    (entry,) = odd
    assert entry["id"] == "a\ud83d" and odd.get_entry(entry["id"]) == entry


def test_replay_metadata_can_be_taken_out(dirs: AgentDirs) -> None:
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}
    payload = {"type": "openaiResponsesHistory", "items": []}
    with SessionManager.create("/srv/pi", dirs=dirs) as session:
        session.append_message({**ASSISTANT, "content": [thought], "providerPayload": payload})
        session.append_message({**ASSISTANT, "content": [thought]})
        entries: Any = session.get_entries()
        changed = sanitize_loaded_openai_responses_replay_metadata(entries)
        assert len(changed) == 1 and changed[0] is entries[0]
        session.rewrite_entries(changed)
        after: Any = session.get_entries()
        assert after == entries and "thinkingSignature" not in after[0]["message"]["content"][0]
        assert "providerPayload" not in after[0]["message"] and after[1]["message"]["content"] == [thought]


def test_iteration_notices_another_session(dirs: AgentDirs) -> None:
    with SessionManager.in_memory() as session:
        session.append_model_change("p/m")
        iterator = iter(session)
        next(iterator)
        assert session.new_session() is None
        with pytest.raises(RuntimeError, match="took the place"):
            next(iterator)


def test_dropped_managers_let_go_of_their_file(dirs: AgentDirs) -> None:
    session = SessionManager.create("/srv/pi", dirs=dirs)
    session.append_message(ASSISTANT)
    file = session.get_session_file()
    del session
    gc.collect()
    if os.path.isdir("/proc/self/fd"):
        targets = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{fd}")]
        assert os.fspath(file or "") not in targets
