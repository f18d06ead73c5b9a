"""``doctor FILE|DIR``: what is wrong with sessions."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._blobs import BlobStore
from .._session import Session
from ..errors import SessionError
from . import output

_SAYINGS = {
    "recovered": "entry {id} was taken out of a damaged line",
    "orphans": "entry {id} follows {target}, which is not there",
    "cycles": "entry {id} follows itself",
    "duplicateIds": "entry {id} has the id of an entry before it",
    "withoutId": "an entry has no id",
    "badBlobRefs": "entry {id} refers to {target}, which is no blob's name",
    "missingBlobs": "entry {id} refers to {target}, which is missing",
    "damagedBlobs": "entry {id} refers to {target}, which is damaged",
    "danglingFirstKept": "compaction {id} keeps from {target} on, which is not there",
}


def _problems(path: Path, blobs: BlobStore) -> list[dict[str, Any]]:
    try:
        report: Any = Session.read(path, blobs=blobs).diagnostics()
    except SessionError as error:
        text = str(error).removeprefix(f"{path}:").removeprefix(f"{error.line}:").strip()
        return [{"kind": error.code, "line": error.line, "message": text}]
    found = [
        {"kind": "malformedLines", "line": at["line"], "message": f"malformed: {at['reason']}", **at}
        for at in report.pop("malformedLines")
    ]
    for kind, findings in report.items():
        for at in findings:
            message = _SAYINGS.get(kind, kind).format(id=at.get("id"), target=at.get("target"))
            found.append({"kind": kind, "message": message, **at})
    return sorted(found, key=lambda problem: problem["line"])


def _files(directory: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise error

    for parent, folders, names in os.walk(directory, onerror=fail):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names) if name.endswith(".jsonl"))


def run(args: argparse.Namespace) -> int:
    """Examines sessions."""
    path = Path(args.path)
    blobs = BlobStore(dirs=args.dirs)
    if not path.is_dir():
        path.stat()
        files = [path]
    else:
        files = list(_files(path))
    wrong = {}
    for file in output.progress(files, "files"):
        if problems := _problems(file, blobs):
            wrong[file] = problems
            if not args.json:
                for problem in problems:
                    line = f":{problem['line']}" if problem["line"] else ""
                    print(f"{file}{line}: {output.one_line(problem['message'], 500)}")
    if args.json:
        found = [{"path": file, "problems": problems} for file, problems in wrong.items()]
        output.print_json({"files": len(files), "ok": not wrong, "wrong": found})
    else:
        print(f"{len(files)} session{'s' if len(files) != 1 else ''}, {len(wrong)} with something wrong")
    return 1 if wrong else 0
