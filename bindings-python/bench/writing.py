"""Appending, and writing a file anew."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from typing import Any

from measure import Figures, Goal, Round, Sides, Step
from place import Place

from xcsh_session import SessionManager

COUNT = 10_000
TEXT = 'The quick brown fox jumps over the lazy dog, "quoted" and\nbroken. ' * 29


def message(number: int) -> dict[str, Any]:
    """A message of 2 KB."""
    content = [{"type": "text", "text": f"{number} {TEXT}"}]
    return {"role": "assistant", "content": content, "provider": "p", "model": "m", "timestamp": number}


def now() -> str:
    """The time as entries have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def appends(place: Place) -> Sides:
    """Appends every message to a new file, and syncs it."""
    messages = [message(number) for number in range(COUNT)]

    def plain() -> Round:
        file = os.open(place.fresh() / "plain.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def work() -> None:
            parent = None
            for number, message in enumerate(messages):
                entry = {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": now()}
                text = json.dumps({**entry, "message": message}, ensure_ascii=False, separators=(",", ":"))
                os.write(file, (text + "\n").encode())
                parent = entry["id"]
            os.fsync(file)

        return Round(work, lambda _: os.close(file))

    def ours() -> Round:
        session = SessionManager.create(place.fresh())

        def work() -> None:
            for message in messages:
                session.append_message(message)
            session.flush()

        return Round(work, lambda _: session.close())

    return Sides(ours, plain)


def append_goals(ours: Figures, plain: Figures) -> list[Goal]:
    """Half of the plain rate."""
    return [{"figure": "of the plain rate", "value": plain.ms / ours.ms, "at_least": 0.5}]


def renames(place: Place) -> Sides:
    """Sets another title, which writes the file anew."""
    path = place.copy("10k.jsonl")
    copy = path.with_suffix(".copy")
    session = SessionManager.open(path)
    titles = iter(f"title {number}" for number in range(1000))

    def copied() -> None:
        shutil.copyfile(path, copy)
        with open(copy, "r+b") as file:
            os.fsync(file.fileno())

    def plain() -> Round:
        copy.unlink(missing_ok=True)
        return Round(copied)

    return Sides(lambda: Round(lambda: session.set_session_name(next(titles))), plain)


def rename_goals(ours: Figures, plain: Figures) -> list[Goal]:
    """At most twice the copy."""
    return [{"figure": "times the copy", "value": ours.ms / plain.ms, "at_most": 2}]


STEPS = {
    "append-2k": Step(
        "10,000 appends of 2 KB and a flush", "json.dumps, os.write, one fsync", 7, appends, append_goals
    ),
    "rename-10k": Step("rename (file written anew), 10k entries", "copyfile and fsync", 9, renames, rename_goals),
}
