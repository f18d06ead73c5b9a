"""Finding sessions among 2,000 files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from measure import Round, Sides, Step
from place import Place
from reading import loaded

from xcsh_session import list_sessions, recent_sessions

CWD = "/srv/pi"
RECENT = 10


def newest_first(directory: Path) -> list[tuple[float, str]]:
    """Times and paths of all session files."""
    with os.scandir(directory) as files:
        found = [(file.stat().st_mtime, file.path) for file in files if file.name.endswith(".jsonl")]
    return sorted(found, reverse=True)


def text_of(message: dict[str, Any]) -> str:
    """The text of a message."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return " ".join(block["text"] for block in content if block["type"] == "text")


def plain_list(directory: Path) -> list[dict[str, Any]]:
    """What a list shows of every session."""
    sessions = []
    for modified, path in newest_first(directory):
        header, *entries = loaded(Path(path))
        messages = [entry["message"] for entry in entries if entry["type"] == "message"]
        first = next((text_of(message) for message in messages if message["role"] == "user"), "(no messages)")
        own = {"modified": modified, "path": path, "count": len(messages), "first": first}
        sessions.append({**own, "id": header["id"], "cwd": header["cwd"], "title": header.get("title")})
    return sessions


def plain_recent(directory: Path) -> list[dict[str, Any]]:
    """What the first line says of the newest sessions."""
    sessions = []
    for modified, path in newest_first(directory)[:RECENT]:
        with open(path, encoding="utf-8") as file:
            header = json.loads(file.readline())
        sessions.append({"modified": modified, "path": path, "id": header["id"], "title": header.get("title")})
    return sessions


def compared(
    ours: Callable[[Path], Iterable[Any]], plain: Callable[[Path], list[dict[str, Any]]]
) -> Callable[[Place], Sides]:
    """Both of one directory; they must find the same sessions in the same order."""

    def prepare(place: Place) -> Sides:
        directory = place.session_dir()
        expected = [session["id"] for session in plain(directory)]

        def check(found: Iterable[Any]) -> None:
            assert [session.id for session in found] == expected

        our_round = Round(lambda: ours(directory), check)
        return Sides(lambda: our_round, lambda: Round(lambda: plain(directory)))

    return prepare


STEPS = {
    "list-2000": Step(
        "list, 2,000 files",
        "scandir, open, json.loads of every line",
        7,
        compared(lambda directory: list_sessions(CWD, session_dir=directory), plain_list),
        lambda ours, plain: [{"figure": "ms", "value": ours.ms, "at_most": 70}],
    ),
    "recent-2000": Step(
        "the 10 most recent sessions of 2,000 files",
        "scandir, stat of all, json.loads of 10 headers",
        25,
        compared(lambda directory: recent_sessions(directory, RECENT), plain_recent),
        lambda ours, plain: [{"figure": "ms", "value": ours.ms, "at_most": 10}],
    ),
}
