"""``python -m xcsh_session``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLE

from xcsh_session import AgentDirs, BlobStore, HistoryStorage


def run(dirs: AgentDirs, *args: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "xcsh_session", "--agent-dir", str(dirs.agent), *args]
    env = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env, **kwargs)


@pytest.fixture
def stored(dirs: AgentDirs) -> Path:
    folder = dirs.session_dir("/srv/pi")
    folder.mkdir(parents=True)
    path = folder / "2026-02-16T10-20-30-000Z_1f9d2a6b9c0d1234.jsonl"
    path.write_text("\n".join(SAMPLE) + "\n")
    return path


def test_inspect(dirs: AgentDirs, stored: Path) -> None:
    done = run(dirs, "inspect", str(stored))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        " a0000000 model_change: p/large",
        " a0000001 user: Why does the parser fail?",
        " a0000002 assistant: [read {'path': 'a.rs'}]",
    ]
    assert "   a0000003 toolResult read: fn parse() { café }" in lines
    assert "   a0000004 assistant [answer]: A brace is missing." in lines and "   a0000006 user: another branch" in lines
    assert any(line.startswith("  >a0000007 telemetry: n=inf") for line in lines)
    assert "session  Fix the parser (1f9d2a6b9c0d1234)" in lines
    assert "context  4 messages, thinking off, mode none" in lines
    assert "usage    30 in, 12 out, 0 read from the cache, 0 written to it, cost 0.75" in lines
    report = json.loads(run(dirs, "inspect", "1f9d", "--json").stdout)
    assert report["entries"] == 8 and report["usage"]["cost"] == 0.75 and report["tree"][0]["id"] == "a0000000"


def test_list(dirs: AgentDirs, stored: Path) -> None:
    done = run(dirs, "list", "--cwd", "/srv/pi")
    assert done.returncode == 0 and done.stdout.startswith("1f9d2a6b9c0d1234  ") and "Fix the parser" in done.stdout
    assert run(dirs, "list", cwd="/").stdout == "" and "/srv/pi" in run(dirs, "list", "--all").stdout
    (stored.parent / "2026-02-16T10-20-31-000Z_ffff.jsonl").write_text("no session\n")
    report = json.loads(run(dirs, "list", "--all", "--json").stdout)
    assert report["sessions"][0]["created"] == "2026-02-16T10:20:30+00:00" and len(report["unreadable"]) == 1
    assert "ffff.jsonl" in run(dirs, "list", "--all").stderr
    assert run(dirs, "list", "--all", "--limit", "0").stdout == ""
    assert run(dirs, "list", "--all", "--cwd", "x").returncode == 2


def test_search(dirs: AgentDirs, stored: Path) -> None:
    with HistoryStorage(dirs=dirs) as history:
        history.add("why is the brace missing?")
    done = run(dirs, "search", "Missing", "BRACE")
    assert (done.returncode, done.stderr) == (0, "")
    assert "a0000004 assistant: A brace is missing." in done.stdout and "why is the brace missing?" in done.stdout
    assert "café" in run(dirs, "search", "CAFÉ").stdout
    found = json.loads(run(dirs, "search", "brace", "--json").stdout)
    assert [hit["entry"] for hit in found["messages"]] == ["a0000004"] and len(found["prompts"]) == 1
    nothing = run(dirs, "search", "absent")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (1, "", "")


def test_doctor(dirs: AgentDirs, stored: Path, tmp_path: Path) -> None:
    assert run(dirs, "doctor", str(dirs.sessions)).stdout == "1 session, 0 with something wrong\n"
    bad = tmp_path / "bad" / "deep" / "bad.jsonl"
    bad.parent.mkdir(parents=True)
    reference = "blob:sha256:" + "0" * 64
    bad.write_text(
        "\n".join(
            [
                '{"type":"session","version":3,"id":"x"}',
                '{"type":"custom","id":"a","parentId":"gone","customType":"x"}',
                "half a li",
                '{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":[{"type":"image",'
                '"data":"%s","mimeType":"image/png"}]}}' % reference,
            ]
        )
        + "\n"
    )
    (tmp_path / "bad" / "no.jsonl").write_text("{}\n")
    done = run(dirs, "doctor", str(tmp_path / "bad"))
    assert done.returncode == 1 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert f"{bad}:2: entry a follows gone, which is not there" in lines
    assert any(line.startswith(f"{bad}:3: malformed: ") for line in lines)
    assert f"{bad}:4: entry a refers to {reference}, which is missing" in lines
    assert any(line.startswith(f"{tmp_path / 'bad' / 'no.jsonl'}:1: not a session file") for line in lines)
    assert lines[-1] == "2 sessions, 2 with something wrong"
    report = json.loads(run(dirs, "doctor", str(bad), "--json").stdout)
    assert not report["ok"] and {problem["kind"] for problem in report["wrong"][0]["problems"]} == {
        "orphans",
        "malformedLines",
        "duplicateIds",
        "missingBlobs",
    }


def test_context(dirs: AgentDirs, stored: Path) -> None:
    done = run(dirs, "context", str(stored))
    assert done.returncode == 0 and "caf\\u00e9 \\ud83d" in done.stdout, "as it is in the file"
    assert len(json.loads(done.stdout)["messages"]) == 4
    assert len(json.loads(run(dirs, "context", str(stored), "--leaf", "a0000001").stdout)["messages"]) == 1
    missing = run(dirs, "context", str(stored), "--leaf", "nope")
    assert missing.returncode == 2 and missing.stderr.count("\n") == 1 and "there is no entry nope" in missing.stderr


def test_gc(dirs: AgentDirs, stored: Path) -> None:
    blob = BlobStore(dirs=dirs).put(b"x" * 2000)
    os.utime(blob.path, (10**9, 10**9))
    assert run(dirs, "gc").stdout.splitlines() == [
        f"{blob.hash}  2.0 KB",
        "1 unmentioned, 0 too young, 1 would be deleted (with --apply), 2.0 KB",
    ]
    assert blob.path.exists()
    assert json.loads(run(dirs, "gc", "--json").stdout)["unreferenced"][0]["hash"] == blob.hash
    assert run(dirs, "gc", "--apply").returncode == 0 and not blob.path.exists()


def test_errors_are_one_line(dirs: AgentDirs, tmp_path: Path) -> None:
    for args in (
        ["inspect", str(tmp_path / "none.jsonl")],
        ["inspect", "none"],
        ["inspect", ""],
        ["context", str(tmp_path)],
        ["doctor", str(tmp_path / "none")],
        ["search", " "],
        ["gc", "--min-age", "-1"],
    ):
        done = run(dirs, *args)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), args
        assert done.stderr.startswith("xcsh-session: ")
    assert run(dirs).returncode == 2 and run(dirs, "--version").stdout.startswith("xcsh-session 0")


def test_a_closed_pipe_is_no_error(dirs: AgentDirs, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    entry = '{"type":"custom","id":"%08x","parentId":null,"customType":"x","data":"' + "x" * 200 + '"}\n'
    path.write_text('{"type":"session","version":3,"id":"x"}\n' + "".join(entry % i for i in range(5000)))
    for args in (["inspect", str(path)], ["inspect", str(path), "--json"]):
        command = [sys.executable, "-m", "xcsh_session", "--agent-dir", str(dirs.agent), *args]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(60) == 0 and process.stderr.read() == b""
        process.stderr.close()
