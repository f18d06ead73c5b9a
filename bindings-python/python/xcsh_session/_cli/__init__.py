"""The command line: arguments, exit statuses, errors.

Exit status 0: done; 1: nothing found, or (doctor) something is wrong; 2: it could not be done; 130: interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .. import __version__
from .._native import AgentDirs
from ..errors import SessionError
from . import collect, context, doctor, inspect, listing, search


def _limit(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _hours(text: str) -> timedelta:
    return timedelta(hours=float(text))


def parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    top = argparse.ArgumentParser(prog="xcsh-session", description="Look at the sessions of a coding agent.")
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    top.add_argument("--agent-dir", metavar="DIR", help="the agent's directory, instead of what the environment names")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    session = "a session file, or the beginning of a session's id"
    as_json: dict[str, Any] = {"action": "store_true", "help": "print JSON"}

    command = commands.add_parser("inspect", help="show a session's tree, context and usage")
    command.add_argument("session", metavar="FILE", help=session)
    command.add_argument("--json", **as_json)
    command.set_defaults(run=inspect.run)

    command = commands.add_parser("list", help="list sessions, newest first")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--cwd", metavar="DIR", help="of this working directory (default: the current one)")
    where.add_argument("--all", action="store_true", help="of all working directories")
    command.add_argument("--limit", type=_limit, metavar="N", help="at most so many")
    command.add_argument("--json", **as_json)
    command.set_defaults(run=listing.run)

    command = commands.add_parser("search", help="find words in sessions and in the prompt history")
    command.add_argument("words", nargs="+", metavar="WORD", help="all of them must be in a message or prompt")
    command.add_argument("--cwd", metavar="DIR", help="only in sessions of this working directory")
    command.add_argument("--limit", type=_limit, default=20, metavar="N", help="at most so many of each (default 20)")
    command.add_argument("--json", **as_json)
    command.set_defaults(run=search.run)

    command = commands.add_parser("doctor", help="say what is wrong with sessions; exit status 1 if anything is")
    command.add_argument("path", metavar="FILE|DIR", help="a session file, or a directory with sessions at any depth")
    command.add_argument("--json", **as_json)
    command.set_defaults(run=doctor.run)

    command = commands.add_parser("context", help="print what goes to the model, as JSON")
    command.add_argument("session", metavar="FILE", help=session)
    command.add_argument("--leaf", metavar="ID", help="at this entry (default: the session's leaf)")
    command.set_defaults(run=context.run)

    command = commands.add_parser("gc", help="find blobs that no session mentions")
    command.add_argument("--apply", action="store_true", help="delete them")
    command.add_argument("--min-age", type=_hours, default=timedelta(hours=24), metavar="HOURS", help="default 24")
    command.add_argument("--json", **as_json)
    command.set_defaults(run=collect.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit status."""
    args = parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        args.dirs = AgentDirs.from_env() if args.agent_dir is None else AgentDirs.at(args.agent_dir)
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever reads has enough. What is still buffered must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except (SessionError, OSError) as error:
        print(f"xcsh-session: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
