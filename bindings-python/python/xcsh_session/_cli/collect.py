"""``gc``: blobs that no session mentions."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from .._discovery import gc_blobs
from . import output


def run(args: argparse.Namespace) -> int:
    """Collects blobs."""
    with output.waiting("searching all sessions"):
        done = gc_blobs(dry_run=not args.apply, min_age=args.min_age, dirs=args.dirs)
    if args.json:
        output.print_json({"applied": args.apply, **asdict(done)})
    else:
        for blob in done.unreferenced:
            print(f"{blob.hash}  {output.size(blob.size)}")
        for failed in done.failed:
            print(output.one_line(failed.reason, 500))
        old = len(done.unreferenced) - done.kept_young
        did = f"{done.deleted} deleted" if args.apply else f"{old} would be deleted (with --apply)"
        print(f"{len(done.unreferenced)} unmentioned, {done.kept_young} too young, {did}, {output.size(done.bytes)}")
    return 1 if done.failed else 0
