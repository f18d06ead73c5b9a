"""Functions over lists of entries and over files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from . import _native
from ._json import dumps
from ._time import to_iso

if TYPE_CHECKING:
    from ._reading import Leaf
    from .types import (
        BranchSummaryMessage,
        CompactionEntry,
        CompactionSummaryMessage,
        CustomMessage,
        Entry,
        ImageBlock,
        SessionContext,
        SessionHeader,
        TextBlock,
    )


def load_entries_from_file(path: str | os.PathLike[str]) -> list[SessionHeader | Entry]:
    """Header and entries of a session file, as they are in the file, not migrated.

    Empty where the file is missing or its first record is no session header; any other failure to read is an error.
    """
    return _native.load_entries(path)


def parse_session_entries(text: str | bytes) -> list[SessionHeader | Entry]:
    """Header and entries of a session's text; empty where its first record is no session header."""
    return _native.parse_entries(text.encode() if isinstance(text, str) else text)


def migrate_session_entries(entries: list[Any]) -> bool:
    """Brings a list, the header first, to the current version, in place. Whether anything had to change."""
    migrated = _native.migrate_entries([dumps(entry) for entry in entries])
    if migrated is None:
        return False
    for entry, value in zip(entries, migrated, strict=True):
        entry.clear()
        entry.update(value)
    return True


def build_session_context(
    entries: Iterable[Mapping[str, Any]],
    leaf_id: Leaf = ...,
    *,
    model_resolution: Literal["model_change", "latest"] = "model_change",
) -> SessionContext:
    """What goes to the model, given entries without their header.

    :param leaf_id: an entry's id (the last entry, where there is no such entry); None for an empty context;
        absent for the last entry.
    """
    texts = [dumps(dict(entry)) for entry in entries]
    given, leaf = (False, None) if leaf_id is ... else (True, leaf_id)
    return cast("SessionContext", _native.build_session_context(texts, given, leaf, model_resolution))


def get_latest_compaction_entry(entries: Iterable[Mapping[str, Any]]) -> CompactionEntry | None:
    """The last compaction in a list of entries."""
    found = None
    for entry in entries:
        if entry.get("type") == "compaction":
            found = entry
    return cast("CompactionEntry | None", found)


def sanitize_loaded_openai_responses_replay_metadata(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Takes out of assistant messages what only the connection they came from could use, in place.

    That is the provider's replay payload and the signatures of the thoughts that belong to it. Returns the entries that
    were changed, which :meth:`SessionManager.rewrite_entries` takes.
    """
    changed = []
    for entry in entries:
        message = entry.get("message")
        if entry.get("type") != "message" or not isinstance(message, dict) or message.get("role") != "assistant":
            continue
        payload = message.get("providerPayload")
        if not isinstance(payload, dict) or payload.get("type") != "openaiResponsesHistory":
            continue
        del message["providerPayload"]
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == "thinking":
                block.pop("thinkingSignature", None)
        changed.append(entry)
    return changed


def delete_session(path: str | os.PathLike[str]) -> None:
    """Removes a session's file and its artifacts."""
    _native.delete_session(path)


def _message(timestamp: datetime | str, fields: Mapping[str, Any]) -> Any:
    """The message that an entry makes in a context."""
    present = {name: value for name, value in fields.items() if value is not None}
    entry = {"id": "0", "parentId": None, "timestamp": to_iso(timestamp), **present}
    return build_session_context([entry])["messages"][0]


def create_custom_message(
    custom_type: str,
    content: str | list[TextBlock | ImageBlock],
    *,
    display: bool,
    timestamp: datetime | str,
    details: Any = None,
    attribution: str | None = None,
) -> CustomMessage:
    """The message that a ``custom_message`` entry makes."""
    fields = {"type": "custom_message", "customType": custom_type, "content": content, "display": display}
    return cast("CustomMessage", _message(timestamp, {**fields, "details": details, "attribution": attribution}))


def create_branch_summary_message(
    summary: str, from_id: str, *, timestamp: datetime | str
) -> BranchSummaryMessage:
    """The message that a ``branch_summary`` entry makes."""
    fields = {"type": "branch_summary", "fromId": from_id, "summary": summary}
    return cast("BranchSummaryMessage", _message(timestamp, fields))


def create_compaction_summary_message(
    summary: str,
    tokens_before: int,
    *,
    timestamp: datetime | str,
    short_summary: str | None = None,
    preserve_data: Mapping[str, Any] | None = None,
) -> CompactionSummaryMessage:
    """The message that a ``compaction`` entry makes; one kept by the provider itself gives ``providerPayload``."""
    fields = {"type": "compaction", "summary": summary, "shortSummary": short_summary, "tokensBefore": tokens_before}
    return cast("CompactionSummaryMessage", _message(timestamp, {**fields, "preserveData": preserve_data}))
