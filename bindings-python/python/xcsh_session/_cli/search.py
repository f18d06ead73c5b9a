"""``search WORD...``: messages and prompts that have all the words."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._discovery import SessionInfo, list_all, list_sessions
from .._history import HistoryEntry, HistoryStorage
from .._native import loads
from .._session import Session
from ..errors import SessionError
from . import output
from .text import entry_text, kind


def _complain(error: object) -> None:
    print(f"xcsh-session: {output.one_line(str(error), 500)}", file=sys.stderr)


def _hits(info: SessionInfo, words: list[str]) -> Iterator[Any]:
    """The entries that say all the words."""
    # JSON spells these words as they are, so a line without one of them need not be decoded.
    plain = [word.encode() for word in words if word.isascii() and word.isalnum()]
    for line in Session.read(info.path).iter_raw():
        folded = line.lower()
        if all(word in folded for word in plain):
            entry = loads(line)
            text = entry_text(entry).casefold()
            if all(word in text for word in words):
                yield entry


def _snippet(entry: Any, words: list[str], width: int) -> str:
    text = " ".join(entry_text(entry).split())
    at = text.casefold().find(words[0])
    start = max(0, at - width // 3)
    return ("…" if start else "") + output.one_line(text[start:], width - 1)


def _prompts(args: argparse.Namespace) -> list[HistoryEntry]:
    database: Path = args.dirs.history_db
    if args.limit == 0 or not database.exists():
        return []
    with HistoryStorage(database) as history:
        found = history.search(" ".join(args.words), 1000)
    if args.cwd is not None:
        found = [prompt for prompt in found if prompt.cwd == str(Path(args.cwd).resolve())]
    return found[: args.limit]


def run(args: argparse.Namespace) -> int:
    """Searches."""
    words = [word.casefold() for word in " ".join(args.words).split()]
    if not words:
        raise SessionError("there is nothing to search for")
    with output.waiting("reading sessions"):
        found = list_all(dirs=args.dirs) if args.cwd is None else list_sessions(args.cwd, dirs=args.dirs)
    for unreadable in found.unreadable:
        _complain(unreadable.reason)
    width, count, report = output.width(), 0, []
    for info in output.progress(found, "sessions"):
        if count >= args.limit:
            break
        try:
            shown = False
            for entry in _hits(info, words):
                snippet = _snippet(entry, words, 200 if args.json else width - 30)
                if args.json:
                    where = {"path": info.path, "session": info.id, "entry": entry.get("id")}
                    report.append({**where, "kind": kind(entry), "text": snippet})
                else:
                    if not shown:
                        print(output.one_line(f"{info.title or info.first_message}", width - 20), info.id)
                        print(f"  {info.path}")
                        shown = True
                    print(f"    {entry.get('id')} {kind(entry)}: {snippet}")
                count += 1
                if count >= args.limit:
                    break
        except SessionError as error:
            _complain(error)
    prompts: list[HistoryEntry] = []
    try:
        prompts = _prompts(args)
    except SessionError as error:
        _complain(error)
    if args.json:
        output.print_json({"messages": report, "prompts": [prompt._asdict() for prompt in prompts]})
    elif prompts:
        print("prompts")
        for prompt in prompts:
            print(f"    {prompt.created_at.astimezone():%Y-%m-%d %H:%M}  {output.one_line(prompt.prompt, width - 24)}")
    return 0 if count or prompts else 1
