"""What the commands print, and how."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from .._blobs import BlobStore
from .._discovery import resolve_resumable_session
from .._native import AgentDirs
from .._session import Session
from ..errors import MissingFileError

_Item = TypeVar("_Item")


def open_session(name: str, dirs: AgentDirs) -> Session:
    """The session that an argument names: a file, or the beginning of an id or file name."""
    path = Path(name)
    if not path.exists() and path.name == name:
        resolved = resolve_resumable_session(name, dirs=dirs) if name else None
        if resolved is None:
            raise MissingFileError(f"no such file, and no session begins like this: {name}", path=path)
        path = resolved.session.path
    return Session.read(path, blobs=BlobStore(dirs=dirs))


def one_line(text: str, width: int) -> str:
    """Fit for a line of a terminal: no control characters, no runs of spaces, cut to a width."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * width + 1000]).split())
    return shown if len(shown) <= width else shown[: max(width - 1, 0)] + "…"


def width() -> int:
    """Characters in a line."""
    return max(shutil.get_terminal_size((100, 24)).columns, 40)


def print_json(value: Any) -> None:
    """A value for other programs."""
    json.dump(value, sys.stdout, ensure_ascii=True, indent=2, default=_plain)
    print()


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"no JSON form: {value!r}")


def size(count: float) -> str:
    """A number of bytes as a person reads it."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def progress(items: Iterable[_Item], what: str) -> Iterator[_Item]:
    """Tells on a terminal how far the work is, if it takes long."""
    if not sys.stderr.isatty():
        yield from items
        return
    total = f"/{len(items)}" if isinstance(items, Sized) else ""
    shown, last = False, time.monotonic()
    try:
        for number, item in enumerate(items, 1):
            now = time.monotonic()
            if now - last > (0.1 if shown else 0.5):
                shown, last = True, now
                sys.stderr.write(f"\r\x1b[K{number}{total} {what}")
                sys.stderr.flush()
            yield item
    finally:
        if shown:
            with suppress(OSError):
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Tells on a terminal that one long step is under way."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def tell() -> None:
        start = time.monotonic()
        if done.wait(0.5):
            return
        while True:
            sys.stderr.write(f"\r\x1b[K{what}, {time.monotonic() - start:.0f} s")
            sys.stderr.flush()
            if done.wait(0.5):
                break
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
