"""Finding sessions, and collecting blobs that none of them mentions."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from . import _native
from ._native import AgentDirs
from ._time import from_milliseconds


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that was left out of a result."""

    path: Path
    """The file or directory."""
    code: str
    """Code of the cause, as in :attr:`SessionError.code`."""
    reason: str
    """The cause in words."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session of a list."""

    path: Path
    id: str
    cwd: str
    """The working directory that the header names; empty where it names none."""
    title: str | None
    """The title, else what the last compaction says in short."""
    parent_session_path: str | None
    """Lineage: an id or a path."""
    created: datetime
    modified: datetime
    """When the file was last changed."""
    message_count: int
    first_message: str
    """Text of the first user message; ``(no messages)`` where there is none."""
    all_messages_text: str | None
    """The texts of all user and assistant messages, if they were asked for."""
    size: int
    """Length of the file in bytes."""


@dataclass(frozen=True, slots=True)
class RecentSession:
    """A session as its file's beginning shows it."""

    path: Path
    id: str
    name: str
    """What to call it, in at most 40 characters: title, else first prompt, else id."""
    full_name: str
    """The same, whole."""
    time_ago: str
    """How long ago the file was changed: ``5m ago``."""
    cwd: str | None
    title: str | None
    first_prompt: str | None
    parent_session: str | None
    created: datetime | None
    modified: datetime
    size: int


_Item = TypeVar("_Item")


class Found(Sequence[_Item], Generic[_Item]):
    """What was found, newest first, and what could not be looked at."""

    __slots__ = ("_items", "unreadable")

    def __init__(self, items: Iterable[_Item], unreadable: Iterable[Unreadable]) -> None:
        self._items = tuple(items)
        self.unreadable = tuple(unreadable)
        """What was left out because it could not be read."""

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_Item, ...]: ...
    def __getitem__(self, index: int | slice) -> _Item | tuple[_Item, ...]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"Found({list(self._items)!r}, unreadable={list(self.unreadable)!r})"


@dataclass(frozen=True, slots=True)
class Resolved:
    """The session that an argument names."""

    session: RecentSession
    """Of several the most recently changed one."""
    others: list[Path]
    """The files of the others, newest first."""
    is_global: bool
    """Whether it is a session of another working directory."""
    unreadable: list[Unreadable]
    """What could not be looked at and so may have been meant."""


@dataclass(frozen=True, slots=True)
class UnreferencedBlob:
    """A blob that no session mentions."""

    hash: str
    size: int
    modified: datetime
    """When it was last put."""


@dataclass(frozen=True, slots=True)
class GcReport:
    """What :func:`gc_blobs` found and did."""

    unreferenced: list[UnreferencedBlob]
    """The blobs that nothing mentions, young ones included."""
    deleted: int
    """How many of them were deleted."""
    kept_young: int
    """How many of them are too young to be deleted."""
    bytes: int
    """Bytes of those that were deleted, or in a dry run would be."""
    failed: list[Unreadable]
    """Those that could not be deleted."""


def _times(fields: dict[str, Any]) -> dict[str, Any]:
    created = fields.pop("created_ms", None)
    modified = from_milliseconds(fields.pop("modified_ns") / 1e6)
    return {**fields, "created": None if created is None else from_milliseconds(created), "modified": modified}


def _info(fields: dict[str, Any]) -> SessionInfo:
    return SessionInfo(**_times(fields))


def _recent(fields: dict[str, Any]) -> RecentSession:
    return RecentSession(**_times(fields))


def _unreadable(report: list[dict[str, Any]]) -> list[Unreadable]:
    return [Unreadable(**left_out) for left_out in report]


def _now_ms() -> int:
    return int(time.time() * 1000)


def _cwd(cwd: str | os.PathLike[str] | None) -> str:
    return os.path.abspath(os.getcwd() if cwd is None else cwd)


def list_sessions(
    cwd: str | os.PathLike[str] | None = None,
    *,
    session_dir: str | os.PathLike[str] | None = None,
    with_texts: bool = False,
    dirs: AgentDirs | None = None,
) -> Found[SessionInfo]:
    """The sessions of a working directory, by default the current one; newest first.

    What cannot be read fails nothing: it is in ``unreadable`` of the result.

    :param session_dir: look there, instead of in all directories that can hold sessions of ``cwd``.
    :param with_texts: whether to fill ``all_messages_text``.
    """
    found, report = _native.list_sessions(dirs or AgentDirs.from_env(), _cwd(cwd), session_dir, with_texts)
    return Found(map(_info, found), _unreadable(report))


def list_all(*, with_texts: bool = False, dirs: AgentDirs | None = None) -> Found[SessionInfo]:
    """The sessions of all working directories; newest first."""
    found, report = _native.list_all(dirs or AgentDirs.from_env(), with_texts)
    return Found(map(_info, found), _unreadable(report))


def recent_sessions(directory: str | os.PathLike[str], limit: int = 10) -> Found[RecentSession]:
    """The most recently changed sessions of a directory of session files. Only their beginnings are read."""
    found, report = _native.recent_sessions(directory, max(limit, 0), _now_ms())
    return Found(map(_recent, found), _unreadable(report))


def find_most_recent_session(directory: str | os.PathLike[str]) -> Path | None:
    """The most recently changed session of a directory of session files."""
    return _native.find_most_recent_session(directory)


def resolve_resumable_session(
    arg: str,
    cwd: str | os.PathLike[str] | None = None,
    *,
    session_dir: str | os.PathLike[str] | None = None,
    dirs: AgentDirs | None = None,
) -> Resolved | None:
    """The session that the beginning of an id or of a file name means; None where there is none.

    Sessions of ``cwd``, by default the current directory, come first, then those of all.

    :raises InvalidArgumentError: for an empty argument.
    """
    resolved = _native.resolve_resumable_session(
        dirs or AgentDirs.from_env(), arg, _cwd(cwd), session_dir, _now_ms()
    )
    if resolved is None:
        return None
    session, others, is_global, report = resolved
    return Resolved(_recent(session), others, is_global, _unreadable(report))


def gc_blobs(
    *,
    dry_run: bool = True,
    min_age: timedelta = timedelta(hours=24),
    also: Iterable[str | os.PathLike[str]] = (),
    dirs: AgentDirs | None = None,
) -> GcReport:
    """Finds blobs that no session mentions and, unless it is a dry run, deletes those older than ``min_age``.

    Where any file that may mention blobs cannot be read, that is an error and nothing is deleted.

    :param also: files and directories with sessions outside of the agent's directories.
    """
    done = _native.gc_blobs(dirs or AgentDirs.from_env(), dry_run, min_age.total_seconds(), list(also))
    blobs = [
        UnreferencedBlob(found["hash"], found["size"], from_milliseconds(found["modified_ns"] / 1e6))
        for found in done["unreferenced"]
    ]
    return GcReport(
        unreferenced=blobs,
        deleted=done["deleted"],
        kept_young=done["kept_young"],
        bytes=done["bytes"],
        failed=_unreadable(done["failed"]),
    )
