"""Reading: entries as dicts and as exact bytes, the tree, contexts, and that nothing is touched."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import xcsh_session
from xcsh_session import Session, errors
from xcsh_session._json import dumps
from xcsh_session._native import loads


def test_entries_are_plain_dicts_and_raw_lines_are_exact(sample: Path) -> None:
    session = Session.read(sample)
    lines = sample.read_bytes().split(b"\n")
    assert (len(session), bool(session), session.path) == (8, True, sample)
    assert [session.raw_header(), *session.iter_raw(), b""] == lines
    assert [json.loads(line) for line in lines[1:-1]] == list(session) == session.get_entries()
    assert session.raw("a0000003") == lines[4]
    assert b"\\u00e9 \\ud83d" in lines[4]
    entry: Any = session.get_entry("a0000003")
    assert entry["message"]["content"][0]["text"] == "fn parse() { café \ud83d }"
    telemetry: Any = session.get_leaf_entry()
    assert (telemetry["n"], telemetry["big"], telemetry["dup"]) == (float("inf"), 12345678901234567890123, 2)
    assert session.raw("missing") is None and session.get_entry("missing") is None


def test_an_empty_session_is_true(tmp_path: Path) -> None:
    session = Session.parse('{"type":"session","version":3,"id":"x"}\n')
    assert session and len(session) == 0 and list(session) == [] and session.get_leaf_entry() is None
    assert session.get_cwd() is None


def test_tree_and_labels(sample: Path) -> None:
    session = Session.read(sample)
    assert session.get_labels() == {"a0000004": "answer"} and session.get_label("a0000004") == "answer"
    depths = [(depth, entry["id"]) for depth, entry in session.walk_tree()]
    assert depths[:3] == [(0, "a0000000"), (1, "a0000001"), (2, "a0000002")]
    node = session.get_tree()[0]["children"][0]["children"][0]
    assert [child["entry"]["id"] for child in node["children"]] == ["a0000003", "a0000006"]
    assert node["children"][0]["children"][0]["label"] == "answer"
    assert [entry["id"] for entry in session.get_children("a0000002")] == ["a0000003", "a0000006"]
    assert session.get_branch("a0000006")[-1]["id"] == "a0000006"
    with pytest.raises(errors.EntryNotFoundError, match="Entry nope not found"):
        session.get_branch("nope")


def test_contexts(sample: Path) -> None:
    session = Session.read(sample)
    context = session.build_session_context()
    assert [message["role"] for message in context["messages"]] == ["user", "assistant", "toolResult", "assistant"]
    assert context["models"] == {"default": "p/large"}
    assert session.build_session_context(None)["messages"] == []
    assert len(session.build_session_context("a0000001")["messages"]) == 1
    assert session.raw_context_messages()[2] in sample.read_bytes()
    assert session.get_usage_statistics()["cost"] == 0.75


def test_a_deep_value_is_decoded_without_recursion(tmp_path: Path) -> None:
    deep = 10_000
    line = '{"type":"custom","id":"a","parentId":null,"data":%s{"k":[1,"x",-2.5e3,true,null]}%s}'
    text = line % ('{"a":[' * deep, "]}" * deep)
    session = Session.parse('{"type":"session","version":3,"id":"x"}\n' + text + "\n")
    entry: Any = session.get_entries()[0]
    value = entry.pop("data")
    assert entry == {"type": "custom", "id": "a", "parentId": None}
    for _ in range(deep):
        (value,) = value["a"]
    assert value == {"k": [1, "x", -2500.0, True, None]}
    assert session.raw("a") == text.encode()


def test_deep_and_infinite_values_are_encoded() -> None:
    value: Any = [float("-inf"), {"a": (), "b": {}}, {1: True, None: [1, [2], []]}]
    for _ in range(5_000):
        value = {"a": [value]}
    text = dumps(value)
    assert text == '{"a":[' * 5_000 + '[-1e400,{"a":[],"b":{}},{"1":true,"null":[1,[2],[]]}]' + "]}" * 5_000
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(errors.InvalidArgumentError, match="contains itself"):
        dumps(loop)


def test_integers_beyond_the_interpreters_limit_become_floats() -> None:
    for number in ("0", "-0", "9223372036854775808", "-9223372036854775809", "1" * 400, "1e400", "-0.0", "1E-2"):
        value = loads(number.encode())
        assert repr(value) == repr(json.loads(number))
    assert loads(b"1" * 5000) == float("inf")


def test_strings_are_what_json_makes_of_them() -> None:
    for text in (
        r'"\\"',
        r'"\"\\\""',
        r'"\/\b\f\n\r\t"',
        r'"\u00e9\u0000\uD83D\uDE00\ud83d"',
        r'"\ud83d\ud83d\ude00x\ude00\ud83d\n"',
        r'"\ud83d\\ude00"',
        '"caf\\u00e9 \\u20ac 日本 \x7f \u2028"',
        '{"":1,"a":{"":[]},"%s":2,"\\u0061":3,"a\\"":4}' % ("k" * 40),
    ):
        value = loads(text.encode())
        assert value == json.loads(text) and repr(value) == repr(json.loads(text))


def test_the_decoder_survives_what_is_no_json() -> None:
    for text in (b"", b"[", b"}", b'"', b'"\\', b'"\\u12', b"tru", b"-", b"1.2.3", b'{"a"', b"[1,", b"{1:2}", b"\xff", b"\0"):
        with pytest.raises(ValueError):
            loads(text)


def test_reading_leaves_no_trace(sample: Path) -> None:
    os.chmod(sample, 0o400)
    os.utime(sample, ns=(1_000, 2_000))
    before = sample.read_bytes()
    os.utime(sample, ns=(1_000, 2_000))
    session = Session.read(sample)
    list(session), session.get_tree(), session.diagnostics()
    assert sample.stat().st_mtime_ns == 2_000 and sample.read_bytes() == before
    assert os.listdir(sample.parent) == [sample.name]


def test_paths_can_be_anything_that_names_a_file(sample: Path) -> None:
    class Named:
        def __fspath__(self) -> str:
            return os.fspath(sample)

    for path in (sample, os.fspath(sample), Named()):
        assert Session.read(path).get_session_id() == "1f9d2a6b9c0d1234"
    odd = Path(os.fsdecode(os.fsencode(sample.parent) + b"/\xff odd\n.jsonl"))
    odd.write_bytes(sample.read_bytes())
    assert Session.read(odd).path == odd


def test_functions_over_lists(sample: Path) -> None:
    records: list[Any] = xcsh_session.load_entries_from_file(sample)
    assert records[0]["type"] == "session" and len(records) == 9
    assert xcsh_session.parse_session_entries(sample.read_text()) == records
    assert xcsh_session.load_entries_from_file(sample.parent / "none.jsonl") == []
    assert xcsh_session.get_latest_compaction_entry(records) is None
    assert not xcsh_session.migrate_session_entries(records)
    context = xcsh_session.build_session_context(records[1:], "a0000004")
    assert context == Session.read(sample).build_session_context("a0000004")
    old: list[Any] = [
        {"type": "session", "id": "x"},
        {"type": "message", "timestamp": "t", "message": {"role": "hookMessage", "content": "\ud83d"}},
    ]
    first = old[1]
    assert xcsh_session.migrate_session_entries(old)
    assert old[0]["version"] == 3 and old[1] is first and first["message"] == {"role": "custom", "content": "\ud83d"}


def test_message_constructors() -> None:
    at = datetime(2026, 2, 16, 10, 20, 30, 500_000, tzinfo=UTC)
    custom = xcsh_session.create_custom_message("note", "hi", display=True, timestamp=at)
    assert custom == {
        "role": "custom",
        "customType": "note",
        "content": "hi",
        "display": True,
        "timestamp": 1771237230500,
    }
    branch = xcsh_session.create_branch_summary_message("left", "root", timestamp="2026-02-16T10:20:30.500Z")
    assert branch == {"role": "branchSummary", "summary": "left", "fromId": "root", "timestamp": 1771237230500}
    compaction = xcsh_session.create_compaction_summary_message("all", 7, timestamp=at, short_summary="a")
    assert compaction == {
        "role": "compactionSummary",
        "summary": "all",
        "shortSummary": "a",
        "tokensBefore": 7,
        "timestamp": 1771237230500,
    }
