"""The README's examples, run on sample data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, SAMPLE

from xcsh_session import Session, list_sessions

README = (ROOT / "bindings-python" / "README.md").read_text(encoding="utf-8")
READING, WRITING = re.findall(r"```python\n(.*?)```", README, re.S)


def test_the_script_to_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("a", "b"):
        (tmp_path / "sessions" / folder).mkdir(parents=True)
        (tmp_path / "sessions" / folder / f"{folder}.jsonl").write_text("\n".join(SAMPLE) + "\n")
    (tmp_path / "sessions" / "notes.jsonl").write_text("no session\n")
    monkeypatch.chdir(tmp_path)
    exec(compile(READING, "README.md", "exec"), {})
    left_out, cost, first, second, *hits = capsys.readouterr().out.splitlines()
    assert left_out.startswith("left out: sessions/notes.jsonl:1: not a session file")
    assert cost == "    1.5000  p/large"
    assert {first, second} == {"        21  read  a.jsonl a0000003", "        21  read  b.jsonl a0000003"}
    assert hits == [f"{name}.jsonl a0000001: Why does the parser fail?" for name in "ab"]


def test_the_writing_example(monkeypatch: pytest.MonkeyPatch) -> None:
    exec(compile(WRITING, "README.md", "exec"), {})
    (info,) = list_sessions("/srv/pi")
    session = Session.read(info.path)
    assert session.get_labels() == {session.get_entries()[0]["id"]: "start here"} and len(session) == 3
