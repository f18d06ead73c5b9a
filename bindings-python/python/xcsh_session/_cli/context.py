"""``context FILE``: what goes to the model."""

from __future__ import annotations

import argparse
import sys

from .. import _native
from ..errors import EntryNotFoundError
from . import output


def run(args: argparse.Namespace) -> int:
    """Prints the context, every message exactly as it is in the file."""
    session = output.open_session(args.session, args.dirs)
    leaf = session.get_leaf_id() if args.leaf is None else args.leaf
    if args.leaf is not None and session.get_entry(args.leaf) is None:
        raise EntryNotFoundError(f"{session.path}: there is no entry {leaf}")
    rest, messages = session._store.context(True, leaf, None, _native.RAW)
    sys.stdout.flush()
    sys.stdout.buffer.write(b'{"messages":[' + b",".join(messages) + b"]," + rest.removeprefix(b'{"messages":[],') + b"\n")
    return 0
