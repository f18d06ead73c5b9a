"""Whatever comes: values come back equal, files never crash the interpreter."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xcsh_session import Session, SessionError, SessionManager, load_entries_from_file, parse_session_entries
from xcsh_session._json import _encode_any, dumps
from xcsh_session._native import loads

# Lone surrogates included, which hypothesis leaves out unless told.
texts = st.text(st.characters(exclude_categories=()))
numbers = st.integers() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)


def same(a: Any, b: Any) -> bool:
    """Equal, of the same types, zeros of the same sign."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return bool(a == b)


def through_json(value: Any) -> Any:
    """Two surrogates that make a pair are one character in any JSON."""
    return json.loads(json.dumps(value))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(values, max_size=5))
def test_values_come_back_equal(data: list[Any]) -> None:
    with SessionManager.in_memory() as session:
        ids = [session.append_custom_entry("any", value) for value in data]
        for entry_id, value in zip(ids, data, strict=True):
            entry: Any = session.get_entry(entry_id)
            assert same(entry["data"], through_json(value))
            assert same(json.loads(session.raw(entry_id) or b""), entry)
        assert [entry["id"] for entry in session] == ids


@settings(deadline=None)
@given(values)
def test_json_is_what_json_makes_of_it(value: Any) -> None:
    text = dumps(value)
    expected = through_json(value)
    assert same(json.loads(text.encode()), expected)
    assert same(json.loads("".join(_encode_any(value)).encode("utf-8", "surrogatepass")), value)
    spellings = [text, " \r\t" + text + "\n", json.dumps(value), json.dumps(value, indent=1)]
    # Python's own spelling of an infinity is no JSON.
    for spelled in spellings[: 2 if "Infinity" in spellings[2] else 4]:
        assert same(loads(spelled.encode()), expected)


json_lines = values.map(lambda value: json.dumps(value).encode())
names = st.sampled_from(["type", "id", "parentId", "timestamp", "message", "role", "content", "firstKeptEntryId"])
kinds = st.sampled_from(["message", "compaction", "label", "model_change", "custom", "session", "title", "a", "b"])
entry_lines = st.dictionaries(names, kinds | values, max_size=8).map(lambda entry: json.dumps(entry).encode())
header = st.sampled_from([b'{"type":"session","version":3,"id":"x"}', b'{"type":"session","id":"x"}', b"{}", b""])
lines = st.lists(json_lines | entry_lines | st.binary(max_size=40), max_size=12)


def torn(pieces: tuple[bytes, list[bytes], int, bytes]) -> bytes:
    start, rest, cut, end = pieces
    file = b"\n".join([start, *rest])
    return file[: len(file) - cut] + end


files = st.tuples(header, lines, st.integers(0, 3), st.sampled_from([b"", b"\n", b"\0\n", b'{"ty'])).map(torn)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(file=files)
def test_no_file_crashes_anything(tmp_path_factory: Any, file: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(file)
    records = load_entries_from_file(path)
    assert records == parse_session_entries(file)
    try:
        session = Session.read(path)
    except SessionError:
        assert records == []
        return
    entries: list[Any] = session.get_entries()
    raw = list(session.iter_raw())
    assert len(entries) == len(raw) == len(session) == len(list(session.walk_tree()))
    assert all(same(entry, json.loads(line)) for entry, line in zip(entries, raw, strict=True))
    session.get_tree(), session.diagnostics(), session.get_usage_statistics(), session.get_branch()
    context = session.build_session_context()
    messages = [json.loads(message) for message in session.raw_context_messages()]
    assert len(context["messages"]) == len(messages)
    assert path.read_bytes() == file


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(file=files)
def test_no_file_crashes_a_manager(tmp_path_factory: Any, file: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "any.jsonl"
    path.write_bytes(file)
    try:
        with SessionManager.open(path, breadcrumb=False) as session:
            entry_id = session.append_custom_entry("x", 1)
    except SessionError:
        return
    assert Session.read(path).get_entry(entry_id) is not None
