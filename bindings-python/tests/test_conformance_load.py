"""The cases of tests/conformance/load.json and robust.json through the public surface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import conformance

from xcsh_session import Session, build_session_context, load_entries_from_file, parse_session_entries
from xcsh_session.errors import NotASessionError

LOAD = conformance("load.json")
ROBUST = conformance("robust.json")


def write(tmp_path: Path, case: Any) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(case["file"].encode("utf-8"))
    return path


class Shown:
    """Ids as the cases show them: fresh ids of migrated files as ``#<index of the entry>``."""

    def __init__(self, session: Session, fresh: bool) -> None:
        self.session = session
        self.entries: list[Any] = session.get_entries()
        self.names = {entry["id"]: f"#{i}" for i, entry in enumerate(self.entries)} if fresh else {}

    def id(self, entry_id: str | None) -> str | None:
        return None if entry_id is None else self.names.get(entry_id, entry_id)

    def real(self, shown: str) -> str:
        return {name: entry_id for entry_id, name in self.names.items()}.get(shown, shown)

    def tree(self) -> list[Any]:
        roots: list[Any] = []
        pending = [(node, roots) for node in self.session.get_tree()]
        while pending:
            node, siblings = pending.pop(0)
            shown: list[Any] = [self.id(node["entry"].get("id")), []]
            siblings.append(shown)
            pending.extend((child, shown[1]) for child in node["children"])
        return roots

    def branch(self) -> list[str | None]:
        return [self.id(entry.get("id")) for entry in self.session.get_branch()]


@pytest.mark.parametrize("case", LOAD, ids=[case["name"] for case in LOAD])
def test_load(case: Any, tmp_path: Path) -> None:
    path = write(tmp_path, case)
    before = path.stat()
    records = load_entries_from_file(path)
    assert bool(records) == case["loads"]
    assert records == parse_session_entries(case["file"])
    if not case["loads"]:
        with pytest.raises(NotASessionError):
            Session.read(path)
        return
    session = Session.read(path)
    shown = Shown(session, bool(case["entries"]) and str(case["entries"][0]["id"]).startswith("#"))
    assert session.get_header() == case["header"]
    assert session.is_migrated() == case["migrated"]
    listed = [
        {"type": e["type"], "id": shown.id(e.get("id")), "parentId": shown.id(e.get("parentId"))}
        for e in shown.entries
    ]
    assert listed == case["entries"]
    for index, first in case.get("firstKept", []):
        assert shown.id(shown.entries[index].get("firstKeptEntryId")) == first
    assert shown.id(session.get_leaf_id()) == case["leaf"]
    assert shown.branch() == case["branch"]
    assert session.get_labels() == case["labels"]
    assert shown.tree() == case["tree"]
    assert session.get_usage_statistics() == case["usage"]
    for expected in case["contexts"]:
        check_context(session, shown, expected)
    assert (path.stat().st_mtime_ns, path.read_bytes()) == (before.st_mtime_ns, case["file"].encode("utf-8"))


def check_context(session: Session, shown: Shown, expected: Any) -> None:
    leaf = expected["leaf"] if "leaf" in expected else ...
    if isinstance(leaf, str):
        leaf = shown.real(leaf)
    if "rawMessages" in expected:
        assert session.raw_context_messages(leaf) == [text.encode() for text in expected["rawMessages"]]
    if "expect" in expected:
        whole = expected["expect"]
        assert session.build_session_context(leaf) == whole
        latest = session.build_session_context(leaf, model_resolution="latest")
        assert latest["models"] == expected.get("modelsLatest", whole["models"])
        assert build_session_context(shown.entries, leaf) == whole, "from the entries alone"


def text_of(message: Any) -> Any:
    content = message["content"]
    if isinstance(content, str):
        return content
    return next((block["text"] for block in content if block["type"] == "text"), None)


@pytest.mark.parametrize("case", ROBUST, ids=[case["name"] for case in ROBUST])
def test_robust(case: Any, tmp_path: Path) -> None:
    path = write(tmp_path, case)
    assert bool(load_entries_from_file(path)) == case["loads"]
    session = Session.read(path)
    shown = Shown(session, fresh=False)
    context = session.build_session_context(session.get_leaf_id())
    raw = session.raw_context_messages(session.get_leaf_id())
    found = {
        "ids": [entry.get("id") for entry in shown.entries],
        "leaf": session.get_leaf_id(),
        "branch": shown.branch(),
        "tree": shown.tree(),
        "texts": [text_of(message) for message in context["messages"]],
        "usage": session.get_usage_statistics(),
        "title": session.get_session_name(),
    }
    for key, value in found.items():
        if key in case:
            assert value == case[key], key
    if "contains" in case:
        assert any(case["contains"].encode() in message for message in raw)
    report: Any = session.diagnostics()
    for key, expected in case.get("diagnostics", {}).items():
        lines = [at["line"] for at in report[key]]
        assert (lines if key == "malformedLines" else len(lines)) == expected, key


@pytest.mark.parametrize("case", LOAD + ROBUST, ids=[case["name"] for case in LOAD + ROBUST])
def test_dicts_equal_what_json_gives(case: Any, tmp_path: Path) -> None:
    """Lone surrogates, duplicate keys, numbers of any size; and the raw lines are the bytes of the file."""
    path = write(tmp_path, case)
    if not case["loads"]:
        return
    session = Session.read(path)
    lines = list(session.iter_raw())
    assert len(lines) == len(session)
    for entry, line in zip(session, lines, strict=True):
        try:
            expected = json.loads(line)
        except RecursionError:
            continue
        assert entry == expected
        assert repr(entry) == repr(expected), "of the same types"
        if not session.is_migrated():
            assert line in case["file"].encode("utf-8")
