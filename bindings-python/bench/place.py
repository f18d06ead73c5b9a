"""The data of a measurement, and where it may write."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self


class Place:
    """The data, which stays as it is, and a directory for what is written, gone at the end."""

    def __init__(self, data: Path) -> None:
        self.data = data.absolute()
        self._dir = Path(tempfile.mkdtemp(prefix="bench-", dir=self.data.parent))
        self._made = 0
        os.environ["PI_CODING_AGENT_DIR"] = os.fspath(self._dir)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        shutil.rmtree(self._dir, ignore_errors=True)

    def file(self, name: str) -> Path:
        """A file of the data, to be read only."""
        return self.data / name

    def copy(self, name: str) -> Path:
        """A copy that may be changed."""
        return Path(shutil.copyfile(self.file(name), self.fresh() / name))

    def fresh(self) -> Path:
        """A new directory."""
        self._made += 1
        fresh = self._dir / str(self._made)
        fresh.mkdir()
        return fresh

    def session_dir(self) -> Path:
        """The directory below ``files`` that holds the session files."""
        return next(self.file("files").rglob("*.jsonl")).parent
