"""What a step is, and how its two sides are measured."""

from __future__ import annotations

import gc
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from place import Place

Work: TypeAlias = Callable[[], object]
Goal: TypeAlias = dict[str, str | float]


class Round(NamedTuple):
    """One round of a side."""

    work: Work
    """What is measured."""
    after: Callable[[Any], None] = lambda result: None
    """Sees what it gave, checks it and tidies up."""


Side: TypeAlias = Callable[[], Round]
"""Prepares a round."""


class Sides(NamedTuple):
    """Ours and the plain way, if there is one."""

    ours: Side
    plain: Side | None = None


@dataclass
class Figures:
    """What the rounds of a side took, in milliseconds."""

    times: list[float] = field(default_factory=list)

    @property
    def ms(self) -> float:
        """The median."""
        return statistics.median(self.times)

    @property
    def best(self) -> float:
        """The shortest."""
        return min(self.times)

    def run(self, side: Side) -> None:
        """One round more."""
        work, after = side()
        gc.collect()
        start = time.perf_counter()
        result = work()
        self.times.append((time.perf_counter() - start) * 1000)
        after(result)


@dataclass(frozen=True)
class Step:
    """One thing that is measured."""

    what: str
    plain: str | None
    rounds: int
    prepare: Callable[[Place], Sides]
    goals: Callable[[Figures, Figures], list[Goal]] = lambda ours, plain: []
    peak_mb: float | None = None
    """The most memory that ours may take."""


def times_faster(at_least: float) -> Callable[[Figures, Figures], list[Goal]]:
    """The goal of being so many times faster than the plain way."""
    return lambda ours, plain: [{"figure": "times faster", "value": plain.ms / ours.ms, "at_least": at_least}]


def measured(step: Step, place: Place) -> dict[str, Any]:
    """Rounds of plain and ours in turn, so that a slow moment of the machine meets both."""
    sides = step.prepare(place)
    ours, plain = Figures(), Figures()
    for _ in range(step.rounds):
        if sides.plain:
            plain.run(sides.plain)
        ours.run(sides.ours)
    goals = step.goals(ours, plain)
    if step.peak_mb is not None:
        goals.append({"figure": "MB peak", "value": _fresh_peak(place) / 1e6, "at_most": step.peak_mb})
    return {
        "what": step.what,
        "plain": step.plain,
        "ours_ms": ours.ms,
        "plain_ms": plain.ms if sides.plain else None,
        "ours_best_ms": ours.best,
        "plain_best_ms": plain.best if sides.plain else None,
        "rounds": step.rounds,
        "goals": goals,
    }


def peak(step: Step, name: str, place: Place) -> dict[str, int | None]:
    """The most memory that one round of a side takes, above what is there when it begins."""
    side: Side | None = getattr(step.prepare(place), name)
    if side is None:
        return {"peak_bytes": None}
    work, after = side()
    gc.collect()
    before = _status("VmRSS")
    result = work()
    most = _status("VmHWM") - before
    after(result)
    return {"peak_bytes": most}


def _status(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.findall(rf"^{name}:\s*(\d+) kB", status, re.MULTILINE)[0]) * 1024


def _fresh_peak(place: Place) -> int:
    """The peak of our side in an interpreter that has measured nothing else."""
    command = [sys.executable, sys.argv[0], sys.argv[1], str(place.data), "--peak", "ours"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(re.findall(r"\d+", done.stdout)[-1])
