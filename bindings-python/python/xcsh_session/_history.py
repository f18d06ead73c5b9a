"""Prompt history: what the user typed."""

from __future__ import annotations

import os
import weakref
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Self

from . import _native
from ._native import AgentDirs
from ._time import from_milliseconds
from .errors import SessionError


class HistoryEntry(NamedTuple):
    """One prompt."""

    id: int
    """Ascends in the order of writing."""
    prompt: str
    created_at: datetime
    """When it was added, in UTC, to the second."""
    cwd: str | None
    """The working directory it was typed in."""


def _close(history: _native.History) -> None:
    try:
        history.close()
    except SessionError:
        pass


_open: weakref.WeakSet[HistoryStorage] = weakref.WeakSet()


def _settle() -> None:
    """Before a fork: SQLite in the child would take a transaction that is under way here for one of its own."""
    for history in list(_open):
        try:
            history.flush()
        except SessionError:
            pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_settle)


class HistoryStorage:
    """The prompt history database, by default the agent's. Usable from several threads and processes at once.

    As a context manager it writes what is queued and closes at the end; so does the end of the program.
    """

    __slots__ = ("__weakref__", "_finalizer", "_history")

    def __init__(self, path: str | os.PathLike[str] | None = None, *, dirs: AgentDirs | None = None) -> None:
        if path is None:
            path = (dirs or AgentDirs.from_env()).history_db
        self._history = _native.History(path)
        _open.add(self)
        self._finalizer = weakref.finalize(self, _close, self._history)

    @property
    def path(self) -> Path:
        """The database file."""
        return self._history.path()

    def add(self, prompt: str, cwd: str | os.PathLike[str] | None = None) -> None:
        """Adds a prompt. An empty one, and one that equals the last one, are ignored.

        Returns at once: a background thread writes; :meth:`flush` waits for it.
        """
        self._history.add(prompt, None if cwd is None else os.fspath(cwd))

    def get_recent(self, limit: int = 100) -> list[HistoryEntry]:
        """The newest prompts, newest first; at most 1,000."""
        return _entries(self._history.recent(max(limit, 0)))

    def search(self, query: str, limit: int = 100) -> list[HistoryEntry]:
        """The newest prompts that have every word of the query, newest first; at most 1,000. No query is an error."""
        return _entries(self._history.search(query, max(limit, 0)))

    def flush(self) -> None:
        """Waits until every prompt added before is in the database."""
        self._history.flush()

    def close(self) -> None:
        """Writes what is queued and closes the database. Closing again does nothing."""
        self._history.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
        except Exception:
            if kind is None:
                raise

    def __repr__(self) -> str:
        return f"HistoryStorage({os.fspath(self.path)!r})"


def _entries(rows: list[tuple[int, str, int, str | None]]) -> list[HistoryEntry]:
    return [HistoryEntry(row, prompt, from_milliseconds(at * 1000), cwd) for row, prompt, at, cwd in rows]


