"""Opening sessions, their contexts, entries and trees."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import Round, Sides, Step, times_faster
from place import Place

from xcsh_session import Session

SPOKEN = ("message", "custom_message", "branch_summary")


def loaded(path: Path) -> list[dict[str, Any]]:
    """The header and every entry."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def plain_context(path: Path) -> int:
    """How many messages a walk from the last entry finds, back to what the last compaction kept."""
    records = loaded(path)
    by_id = {record["id"]: record for record in records[1:]}
    walk = [records[-1]]
    while (parent := by_id.get(walk[-1]["parentId"] or "")) is not None:
        walk.append(parent)
    walk.reverse()
    at = max(place for place, entry in enumerate(walk) if entry["type"] == "compaction")
    kept = next(place for place, entry in enumerate(walk) if entry["id"] == walk[at]["firstKeptEntryId"])
    return 1 + sum(entry["type"] in SPOKEN for entry in walk[kept:at] + walk[at + 1 :])


def plain_index(path: Path) -> str:
    """Every line decoded and found by its id; gives the last one's."""
    records = loaded(path)
    by_id = {record["id"]: record for record in records[1:]}
    return str(by_id[records[-1]["id"]]["id"])


def plain_iteration(path: Path) -> int:
    """Every line decoded, one after another."""
    with open(path, encoding="utf-8") as file:
        return sum("type" in json.loads(line) for line in file) - 1


def plain_children(path: Path) -> int:
    """The children of every entry, by an index of parents."""
    children = defaultdict(list)
    records = loaded(path)[1:]
    for record in records:
        children[record["parentId"]].append(record)
    return sum(len(children[record["id"]]) for record in records)


def plain_tree(path: Path) -> int:
    """The roots of the tree, whose nodes are linked."""
    nodes: dict[str, dict[str, Any]] = {}
    roots: list[dict[str, Any]] = []
    for record in loaded(path)[1:]:
        node = nodes[record["id"]] = {"entry": record, "children": []}
        parent = nodes.get(record["parentId"] or "")
        (roots if parent is None else parent["children"]).append(node)
    return len(roots)


def opened(
    name: str, ask: Callable[[Session], object], plain: Callable[[Path], object]
) -> Callable[[Place], Sides]:
    """Reads a session and asks it, against ``plain`` of its file. Both give the same."""

    def prepare(place: Place) -> Sides:
        path = place.file(name)
        seen: list[object] = []

        def same(result: object) -> None:
            seen.append(result)
            assert result == seen[0], f"{result} is not {seen[0]}"

        ours = Round(lambda: ask(Session.read(path)), same)
        return Sides(lambda: ours, lambda: Round(lambda: plain(path), same))

    return prepare


def children(place: Place) -> Sides:
    """Asks for the children of every entry."""
    ids = [entry["id"] for entry in loaded(place.file("10k.jsonl"))[1:]]
    return opened("10k.jsonl", lambda session: sum(len(session.get_children(id_)) for id_ in ids), plain_children)(place)


STEPS = {
    "open-10k": Step(
        "open, 10k entries",
        "json.loads of every line, dict of ids",
        9,
        opened("10k.jsonl", Session.get_leaf_id, plain_index),
    ),
    "open-context-10k": Step(
        "open and context as dicts, 10k entries",
        "json.loads of every line, walk",
        9,
        opened("10k.jsonl", lambda session: len(session.build_session_context()["messages"]), plain_context),
        times_faster(8),
    ),
    "open-100k": Step(
        "open, 100k entries",
        "json.loads of every line, dict of ids",
        3,
        opened("100k.jsonl", Session.get_leaf_id, plain_index),
        peak_mb=64,
    ),
    "iterate-10k": Step(
        "open and all entries as dicts, one after another, 10k entries",
        "json.loads of every line",
        9,
        opened("10k.jsonl", lambda session: sum("type" in entry for entry in session), plain_iteration),
        times_faster(1),
    ),
    "children-10k": Step(
        "open and get_children of every entry as dicts, 10k entries",
        "json.loads of every line, dict of parents",
        5,
        children,
    ),
    "tree-10k": Step(
        "open and tree of dicts, 10k entries",
        "json.loads of every line, nodes linked",
        5,
        opened("10k.jsonl", lambda session: len(session.get_tree()), plain_tree),
    ),
}
