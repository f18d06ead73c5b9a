"""One way of doing something in Python, for tests/guard/run: python.py WAY FILE."""

import json
import sys

from xcsh_session import Session, SessionManager

ROUNDS = 2
way, path = sys.argv[1:]
messages = [{"role": "user", "content": f"message {number} {'lorem ipsum ' * 150}"} for number in range(500)]


def nothing() -> None:
    """What starting costs."""


def loads() -> None:
    """Every line decoded: what the others are measured by."""
    with open(path, encoding="utf-8") as file:
        assert sum("type" in json.loads(line) for line in file) == 1001


def entries() -> None:
    """The same through the library."""
    assert sum("type" in entry for entry in Session.read(path)) == 1000


def context() -> None:
    """What an agent asks for when it opens a session."""
    assert Session.read(path).build_session_context()["messages"]


def append() -> None:
    """Messages from the caller's objects to the lines of the session."""
    session = SessionManager.in_memory("/srv/pi")
    for message in messages:
        session.append_message(message)


WAYS = {"nothing": nothing, "parse": loads, "entries": entries, "context": context, "append": append}
for _ in range(ROUNDS):
    WAYS[way]()
