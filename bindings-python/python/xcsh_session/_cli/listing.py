"""``list``: sessions, newest first."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from .._discovery import list_all, list_sessions
from . import output


def run(args: argparse.Namespace) -> int:
    """Lists sessions."""
    with output.waiting("reading sessions"):
        found = list_all(dirs=args.dirs) if args.all else list_sessions(args.cwd, dirs=args.dirs)
    sessions = found if args.limit is None else found[: args.limit]
    if args.json:
        left_out = [asdict(unreadable) for unreadable in found.unreadable]
        output.print_json({"sessions": [asdict(session) for session in sessions], "unreadable": left_out})
        return 0
    width = output.width()
    for session in sessions:
        name = session.title or session.first_message
        where = f"  {output.one_line(session.cwd, 500)}" if args.all else ""
        start = f"{session.id}  {session.modified.astimezone():%Y-%m-%d %H:%M}  {session.message_count:5}  "
        room = max(width - len(start) - len(where), 20)
        print(f"{start}{output.one_line(name, room)}{where}")
    for unreadable in found.unreadable:
        print(f"xcsh-session: {output.one_line(unreadable.reason, 500)}", file=sys.stderr)
    return 0
