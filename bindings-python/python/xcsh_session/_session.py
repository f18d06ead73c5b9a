"""The read-only snapshot of a session file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, Self

from . import _native
from ._blobs import BlobStore
from ._reading import SessionReader


class Session(SessionReader):
    """A session file as it was when it was read. This is what scripts should use.

    Reading changes nothing: nothing is migrated in the file, no lock is taken, no time changes, and it works on a
    file that an agent is writing to. Sessions of older versions read as if they had been migrated.

    >>> session = Session.read("2026-02-16T10-20-30-000Z_1f9d2a6b9c0d1234.jsonl")  # doctest: +SKIP
    >>> for entry in session:  # doctest: +SKIP
    ...     if entry["type"] == "message":
    ...         print(entry["message"]["role"])
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("use Session.read(path) or Session.parse(text)")

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        blobs: BlobStore | None = None,
        model_resolution: Literal["model_change", "latest"] = "model_change",
    ) -> Self:
        """Reads a session file.

        :param blobs: where images are taken from that were moved out of the file; without it their references stay.
        :raises FileNotFoundError: there is no such file.
        :raises NotASessionError: the file holds something else.
        """
        return cls._of(_native.Store.read(path, None if blobs is None else blobs._blobs, model_resolution))

    @classmethod
    def parse(cls, text: str | bytes, *, path: str | os.PathLike[str] = "") -> Self:
        """Reads a session from its text; ``path`` stands in errors.

        :raises NotASessionError: the text is something else.
        """
        return cls._of(_native.Store.parse(text.encode() if isinstance(text, str) else text, path))

    @classmethod
    def _of(cls, store: _native.Store) -> Self:
        self = cls.__new__(cls)
        self._store = store
        return self

    @property
    def path(self) -> Path:
        """The file that was read."""
        return self._store.path()

    def get_cwd(self) -> Path | None:
        """The working directory that the header names."""
        cwd = self.get_header().get("cwd")
        return None if cwd is None else Path(cwd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to let go of: the file is closed with the last reference."""

    def __repr__(self) -> str:
        return f"<Session {os.fspath(self.path)!r}, {len(self)} entries>"
