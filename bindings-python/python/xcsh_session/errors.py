"""Everything this package raises on its own account.

One base, :class:`SessionError`, with a class per family below it. Where the operating system is the cause, the
class is also the fitting :class:`OSError`, so ``except FileNotFoundError`` works as it does for :func:`open`.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, ClassVar

__all__ = [
    "AccessError",
    "BlobError",
    "ClosedError",
    "EntryNotFoundError",
    "HistoryError",
    "InvalidArgumentError",
    "InvalidJsonError",
    "LockedError",
    "MissingFileError",
    "NotADirectoryStorageError",
    "NotASessionError",
    "ReadOnlyError",
    "ReplacedError",
    "SessionError",
    "StorageError",
    "UnsupportedVersionError",
    "VanishedError",
    "WrongKindOfFileError",
]


class SessionError(Exception):
    """Base of all errors of this package."""

    _code: ClassVar[str] = "Error"

    code: str
    """Stable name of the kind of error, the same in all languages."""
    path: Path | None
    """The file or directory it is about."""
    line: int | None
    """The line in the file, counted from 1."""
    entry_id: str | None
    """Of an append that could not be written yet: the entry is in memory with this id, and written later."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        entry_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self._code
        self.path = None if path is None else Path(path)
        self.line = line
        self.entry_id = entry_id

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        state = dict(self.__dict__)
        if isinstance(self, OSError):
            state.update(errno=self.errno, strerror=self.strerror, filename=self.filename)
        return _rebuild, (type(self), self.message), state


def _rebuild(cls: type[SessionError], message: str) -> SessionError:
    return cls(message)


class StorageError(SessionError, OSError):
    """The operating system refused a file operation; ``errno`` says why."""

    _code = "Io"


class MissingFileError(StorageError, FileNotFoundError):
    """There is no such file."""

    _code = "NotFound"


class AccessError(StorageError, PermissionError):
    """The file may not be read or written."""


class WrongKindOfFileError(StorageError, IsADirectoryError):
    """A directory is where a file should be."""


class NotADirectoryStorageError(StorageError, NotADirectoryError):
    """A file is where a directory should be."""


class NotASessionError(SessionError, ValueError):
    """The file holds something else than a session."""

    _code = "NotASession"


class UnsupportedVersionError(SessionError):
    """A newer agent wrote the session: it can be read, not changed."""

    _code = "UnsupportedVersion"


class EntryNotFoundError(SessionError, LookupError):
    """No entry has this id."""

    _code = "EntryNotFound"


class InvalidArgumentError(SessionError, ValueError):
    """An argument makes no sense."""

    _code = "InvalidArgument"


class InvalidJsonError(SessionError, ValueError):
    """A value cannot be JSON, or a text is not."""

    _code = "InvalidJson"


class LockedError(SessionError, TimeoutError):
    """Another writer held the file for longer than the bound; what was appended is written once it is free."""

    _code = "Locked"


class ReplacedError(SessionError):
    """Another session took the file's place; nothing was overwritten."""

    _code = "Replaced"


class ReadOnlyError(SessionError):
    """The session was opened for reading."""

    _code = "ReadOnly"


class ClosedError(SessionError, ValueError):
    """The session or history was closed, or belongs to the process that this one was forked from."""

    _code = "Closed"


class VanishedError(SessionError):
    """Another program cut the file short while it was in use."""

    _code = "Vanished"


class BlobError(SessionError):
    """A blob is missing or damaged."""

    _code = "Blob"


class HistoryError(SessionError):
    """The prompt history database refused."""

    _code = "History"


_BY_CODE: dict[str, type[SessionError]] = {
    cls._code: cls
    for cls in (
        NotASessionError,
        UnsupportedVersionError,
        EntryNotFoundError,
        InvalidArgumentError,
        InvalidJsonError,
        LockedError,
        ReplacedError,
        ReadOnlyError,
        ClosedError,
        VanishedError,
        BlobError,
        HistoryError,
    )
}

_BY_CAUSE: dict[type[OSError], type[StorageError]] = {
    FileNotFoundError: MissingFileError,
    PermissionError: AccessError,
    IsADirectoryError: WrongKindOfFileError,
    NotADirectoryError: NotADirectoryStorageError,
}


_BY_KIND = {
    "NotFound": errno.ENOENT,
    "PermissionDenied": errno.EACCES,
    "IsADirectory": errno.EISDIR,
    "NotADirectory": errno.ENOTDIR,
    "AlreadyExists": errno.EEXIST,
    "ReadOnlyFilesystem": errno.EROFS,
    "StorageFull": errno.ENOSPC,
}


def _make(
    code: str,
    message: str,
    path: str | os.PathLike[str] | None,
    line: int | None,
    entry_id: str | None,
    kind: str | None,
    os_error: int | None,
) -> SessionError:
    """The exception for an error of the native module; ``kind`` names the cause where the system gave no number."""
    number = os_error if os_error is not None and os.name == "posix" else _BY_KIND.get(kind or "", os_error)
    cls = _BY_CODE.get(code)
    if cls is None:
        cause = OSError if number is None else type(OSError(number, ""))
        cls = _BY_CAUSE.get(cause, StorageError)
    error = cls(message, code=code, path=path, line=line, entry_id=entry_id)
    if isinstance(error, OSError):
        error.errno = number
        error.strerror = message if number is None else os.strerror(number)
        error.filename = None if path is None else os.fspath(path)
    return error
