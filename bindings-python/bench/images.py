"""Images, which go to blobs beside the file and come back."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from measure import Round, Sides, Step
from place import Place
from reading import loaded

from xcsh_session import AgentDirs, BlobStore, Session, SessionManager

REF = "blob:sha256:"


def messages_of(place: Place) -> list[dict[str, Any]]:
    """The messages of the user, each with an image as base64."""
    messages: list[dict[str, Any]] = [entry["message"] for entry in loaded(place.file("images.jsonl"))[1:]]
    return [message for message in messages if message["role"] == "user"]


def image_text(messages: list[Any]) -> int:
    """How much base64 they hold."""
    return sum(len(block["data"]) for message in messages for block in message["content"] if block["type"] == "image")


def created(agent: Path) -> SessionManager:
    """A session with a file, whose blobs go below ``agent``."""
    session = SessionManager.create("/srv/pi", dirs=AgentDirs.at(agent))
    session.ensure_on_disk()
    return session


def fill(session: SessionManager, messages: list[dict[str, Any]]) -> None:
    """Appends all, durably."""
    for message in messages:
        session.append_message(message)
    session.flush()


def plain_block(blobs: Path, block: dict[str, Any]) -> dict[str, Any]:
    """A block with its image in a file of its own."""
    if block["type"] != "image":
        return block
    data = base64.b64decode(block["data"])
    name = hashlib.sha256(data).hexdigest()
    with open(blobs / "new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(blobs / "new", blobs / name)
    return {**block, "data": REF + name}


def plain_append(directory: Path, messages: list[dict[str, Any]]) -> None:
    """Images to files under their hash, messages to a file."""
    blobs = directory / "blobs"
    blobs.mkdir()
    with open(directory / "plain.jsonl", "ab", buffering=0) as file:
        for message in messages:
            content = [plain_block(blobs, block) for block in message["content"]]
            file.write((json.dumps({"type": "message", "message": {**message, "content": content}}) + "\n").encode())
        os.fsync(file.fileno())


def plain_read(path: Path, blobs: Path) -> list[dict[str, Any]]:
    """All messages with their images."""
    messages = [entry["message"] for entry in loaded(path)[1:]]
    for message in messages:
        for block in message["content"]:
            if block["type"] == "image":
                block["data"] = base64.b64encode((blobs / block["data"].removeprefix(REF)).read_bytes()).decode("ascii")
    return messages


def appends(place: Place) -> Sides:
    """Appends every message to a new session with no blobs yet."""
    messages = messages_of(place)

    def ours() -> Round:
        session = created(place.fresh())
        return Round(lambda: fill(session, messages), lambda _: session.close())

    def plain() -> Round:
        directory = place.fresh()
        return Round(lambda: plain_append(directory, messages))

    return Sides(ours, plain)


def reads(place: Place) -> Sides:
    """Reads such a session."""
    messages, agent = messages_of(place), place.fresh()
    with created(agent) as session:
        fill(session, messages)
        path = session.get_session_file()
    assert path is not None
    file, expected, blobs = path, image_text(messages), AgentDirs.at(agent).blobs

    def check(found: list[Any]) -> None:
        assert image_text(found) == expected

    def read() -> object:
        return Session.read(file, blobs=BlobStore(blobs)).build_session_context()["messages"]

    return Sides(lambda: Round(read, check), lambda: Round(lambda: plain_read(file, blobs), check))


STEPS = {
    "images-append": Step(
        "200 appends of a message with a 200 KB image and a flush",
        "b64decode, SHA-256, write, fsync, rename",
        5,
        appends,
    ),
    "images-read": Step(
        "open and context of 200 messages with a 200 KB image each",
        "json.loads of every line, read of the blob, b64encode",
        9,
        reads,
    ),
}
