"""Measures one step, against the plain way in the same process; ``tests/bench`` runs all of them.

    python bench/run.py --list                        the steps
    python bench/run.py STEP DATA                     one line of JSON
    python bench/run.py STEP DATA --peak ours|plain   how much memory that side takes
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import directories
import images
import reading
import writing
from measure import measured, peak
from place import Place

STEPS = {**reading.STEPS, **writing.STEPS, **directories.STEPS, **images.STEPS}


def main() -> int:
    """Runs what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--peak", choices=("ours", "plain"))
    parser.add_argument("step", nargs="?", choices=list(STEPS))
    parser.add_argument("data", nargs="?", type=Path)
    args = parser.parse_args()
    if args.list:
        print("\n".join(STEPS))
        return 0
    if args.step is None or args.data is None:
        parser.error("a step and a directory of data are needed")
    with Place(args.data) as place:
        step = STEPS[args.step]
        print(json.dumps(measured(step, place) if args.peak is None else peak(step, args.peak, place)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
