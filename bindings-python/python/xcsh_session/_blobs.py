"""The blob store: contents under the hash of their bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from . import _native
from ._native import AgentDirs


class Blob(NamedTuple):
    """A stored content."""

    hash: str
    """SHA-256 of the bytes, 64 lower-case hex digits."""
    path: Path
    """The file."""

    @property
    def ref(self) -> str:
        """How sessions refer to it: ``blob:sha256:<hash>``."""
        return f"blob:sha256:{self.hash}"


class BlobStore:
    """A directory of blobs, by default the agent's. Usable from several threads and processes at once.

    Blobs are named by their hash or by a reference (``blob:sha256:<hash>``).
    """

    __slots__ = ("_blobs",)

    def __init__(self, directory: str | os.PathLike[str] | None = None, *, dirs: AgentDirs | None = None) -> None:
        if directory is None:
            directory = (dirs or AgentDirs.from_env()).blobs
        self._blobs = _native.BlobStore(directory)

    @property
    def dir(self) -> Path:
        """The directory."""
        return self._blobs.dir()

    def put(self, data: bytes) -> Blob:
        """Stores bytes, durably. Storing the same bytes again costs little."""
        name = self._blobs.put(data)
        return Blob(name, self._blobs.path(name))

    def get(self, name: str) -> bytes | None:
        """The bytes of a blob; None where it is missing.

        :raises BlobError: the bytes that are there have another hash.
        """
        return self._blobs.get(name)

    def has(self, name: str) -> bool:
        """Whether there is a file for the blob, whatever is in it."""
        return self._blobs.has(name)

    def verify(self, name: str) -> bool:
        """Whether the blob is there and sound, looked at without holding it in memory.

        :raises BlobError: the bytes that are there have another hash.
        """
        return self._blobs.verify(name)

    def path(self, name: str) -> Path:
        """Where a blob is or would be."""
        return self._blobs.path(name)

    def __contains__(self, name: str) -> bool:
        return self.has(name)

    def __repr__(self) -> str:
        return f"BlobStore({os.fspath(self.dir)!r})"
