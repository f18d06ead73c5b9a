"""Time and memory against the plain way, in one run.

    python bench/compare.py [--check] [--entries N] [--large N] [--rounds N]

The plain way is what a script without this library does: ``json.loads`` of every line, then a walk. Both ways run in
turn, in one process, and the best of several rounds counts, since other work on the machine only ever slows down.
``--check`` fails where a goal is missed. Files are made by the repository's generator and kept in the target directory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xcsh_session import Session

ROOT = Path(__file__).resolve().parents[2]


def generate(entries: int) -> Path:
    """A session file of so many entries of about 5 KB."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    out = target / f"bench-{entries}.jsonl"
    if not out.exists():
        part = out.with_suffix(".part")
        command = ["cargo", "run", "-q", "-p", "xcsh-session-testdata", "--release", "--bin", "make-session", "--"]
        subprocess.run([*command, "--entries", str(entries), "--out", str(part)], check=True, cwd=ROOT)
        part.rename(out)
    return out


def plain_context(path: Path) -> int:
    """Every line decoded, then the walk from the last entry to the root."""
    with open(path, encoding="utf-8") as file:
        entries: list[dict[str, Any]] = [json.loads(line) for line in file]
    by_id = {entry["id"]: entry for entry in entries[1:]}
    at: dict[str, Any] | None = entries[-1]
    messages = []
    while at is not None:
        if at["type"] == "message":
            messages.append(at["message"])
        at = by_id.get(at["parentId"] or "")
    return len(messages)


def library_context(path: Path) -> int:
    """Open and build the context."""
    return len(Session.read(path).build_session_context()["messages"])


def plain_iteration(path: Path) -> int:
    """Every line decoded, one after another."""
    with open(path, encoding="utf-8") as file:
        return sum(int("type" in json.loads(line)) for line in file)


def library_iteration(path: Path) -> int:
    """Open and iterate over all entries as dicts."""
    return sum(int("type" in entry) for entry in Session.read(path))


def best(rounds: int, path: Path, ways: list[Callable[[Path], int]]) -> list[float]:
    """The best time of each way, in milliseconds."""
    times = [float("inf")] * len(ways)
    for _ in range(rounds):
        for at, way in enumerate(ways):
            start = time.perf_counter()
            way(path)
            times[at] = min(times[at], (time.perf_counter() - start) * 1000)
    return times


PEAK = """
import sys
if len(sys.argv) > 1:
    from xcsh_session import Session
    session = Session.read(sys.argv[1])
    assert len(session) == int(sys.argv[2])
    if "context" in sys.argv:
        session.build_session_context()
for line in open("/proc/self/status"):
    if line.startswith("VmHWM"):
        print(line.split()[1])
"""


def peak(*args: str) -> float:
    """The most memory that a fresh interpreter was seen to take, in MB."""
    done = subprocess.run([sys.executable, "-c", PEAK, *args], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1000


def main() -> int:
    """Measures, prints, checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=100_000, help="entries of the file whose memory is measured")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    path = generate(args.entries)
    missed = []

    def row(name: str, plain: float, ours: float, goal: float) -> None:
        ok = plain / ours >= goal
        print(f"{name:45} {plain:8.1f} ms {ours:8.1f} ms {plain / ours:6.1f} times faster, goal {goal:g}")
        if not ok:
            missed.append(name)

    print(f"{path.stat().st_size / 1e6:.0f} MB, {args.entries} entries; Python {sys.version.split()[0]}")
    print(f"{'':45} {'plain':>11} {'library':>11}")
    plain, ours = best(args.rounds, path, [plain_context, library_context])
    row("open + context", plain, ours, 8)
    plain, ours = best(args.rounds, path, [plain_iteration, library_iteration])
    row("all entries as dicts", plain, ours, 1)
    if os.path.exists("/proc/self/status"):
        large = generate(args.large)
        bare = peak()
        opened = peak(str(large), str(args.large)) - bare
        context = peak(str(large), str(args.large), "context") - bare
        print(f"memory of an opened session of {large.stat().st_size / 1e6:.0f} MB: {opened:.0f} MB above the")
        print(f"interpreter's {bare:.0f} MB, goal 64; with its context built {context:.0f} MB")
        if opened > 64:
            missed.append("memory")
    for name in missed:
        print(f"missed: {name}")
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
