"""The session that is being written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, Unpack, cast

from . import _native
from ._blobs import Blob
from ._json import dumps, exact
from ._native import VALUE
from ._options import SessionOptions, complete
from ._reading import SessionReader
from .errors import EntryNotFoundError, InvalidArgumentError

if TYPE_CHECKING:
    from ._reading import Leaf
    from .types import Entry, ImageBlock, Message, TextBlock


class Forked(NamedTuple):
    """The files of a fork."""

    old_file: Path
    new_file: Path


class PersistError(NamedTuple):
    """What keeps memory and file apart."""

    code: str
    message: str


class SessionState:
    """Where a manager was: see :meth:`SessionManager.capture_state`."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        raise TypeError("use SessionManager.capture_state()")

    @classmethod
    def _of(cls, state: _native.State) -> Self:
        self = cls.__new__(cls)
        self._state = state
        return self

    _state: _native.State


def _path(path: str | os.PathLike[str] | None) -> str:
    return os.path.abspath(os.getcwd() if path is None else path)


class SessionManager(SessionReader):
    """A session that can be appended to, from several threads and beside other processes.

    Made by :meth:`create`, :meth:`open`, :meth:`continue_recent`, :meth:`fork_from` and :meth:`in_memory`. As a
    context manager it flushes and closes at the end. Every append makes one entry behind the leaf, moves the leaf to
    it and returns its id; when it has returned, the entry is in the kernel's hands, and after :meth:`flush` on the
    disk. A new session has no file before its first assistant message.

    An append whose entry cannot be written raises an error with ``entry_id``: the entry is in memory and is written
    by the next operation that can. A session belongs to the process that opened it: a forked child opens it again.
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("use SessionManager.create, open, continue_recent, fork_from or in_memory")

    @classmethod
    def _of(cls, store: _native.Store) -> Self:
        self = cls.__new__(cls)
        self._store = store
        return self

    @classmethod
    def create(cls, cwd: str | os.PathLike[str] | None = None, **options: Unpack[SessionOptions]) -> Self:
        """A new session of a working directory, by default the current one."""
        return cls._of(_native.Store.create(_path(cwd), complete(options)))

    @classmethod
    def open(cls, path: str | os.PathLike[str], **options: Unpack[SessionOptions]) -> Self:
        """Opens a session file for writing. A missing or empty file becomes a new session.

        To read only, :meth:`Session.read` leaves no trace.
        """
        return cls._of(_native.Store.open(os.path.abspath(path), complete(options)))

    @classmethod
    def continue_recent(cls, cwd: str | os.PathLike[str] | None = None, **options: Unpack[SessionOptions]) -> Self:
        """The session this terminal was in, else the newest of the working directory, else a new one."""
        return cls._of(_native.Store.continue_recent(_path(cwd), complete(options)))

    @classmethod
    def fork_from(
        cls,
        source: str | os.PathLike[str],
        cwd: str | os.PathLike[str] | None = None,
        **options: Unpack[SessionOptions],
    ) -> Self:
        """A new session of a working directory with the entries of another session's file."""
        return cls._of(_native.Store.fork_from(os.path.abspath(source), _path(cwd), complete(options)))

    @classmethod
    def in_memory(cls, cwd: str | os.PathLike[str] | None = None, **options: Unpack[SessionOptions]) -> Self:
        """A session that is never written."""
        return cls._of(_native.Store.in_memory(_path(cwd), complete(options)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.close()
        except Exception:
            # What went wrong inside the block says more than what it led to here.
            if kind is None:
                raise

    def __repr__(self) -> str:
        file = self.get_session_file()
        return f"<SessionManager {'in memory' if file is None else repr(os.fspath(file))}, {len(self)} entries>"

    # What it is

    def get_session_file(self) -> Path | None:
        """The session's file, whether or not it is there yet; None in memory."""
        return self._store.session_file()

    def get_session_dir(self) -> Path:
        """The directory of the session's file."""
        return self._store.session_dir()

    def get_cwd(self) -> Path:
        """The working directory."""
        return self._store.cwd()

    @property
    def title_source(self) -> Literal["auto", "user"] | None:
        """Who chose the title."""
        return cast('Literal["auto", "user"] | None', self._store.title_source())

    def is_persisted(self) -> bool:
        """Whether the session is written to a file."""
        return self.get_session_file() is not None

    def moved_aside(self) -> Path | None:
        """Where the bytes went of a file that was no session when it was opened."""
        return self._store.moved_aside()

    def persist_error(self) -> PersistError | None:
        """What keeps memory and file apart; None while all is well."""
        error = self._store.persist_error()
        return None if error is None else PersistError(*error)

    def _leaf(self, leaf_id: Leaf) -> tuple[bool, str | None]:
        return True, self.get_leaf_id() if leaf_id is ... else leaf_id

    # Appends

    def append(self, entry_type: str, fields: Mapping[str, Any] | bytes) -> str:
        """Appends an entry of any type.

        :param fields: the entry's own fields in their order, as a dict, or as the exact JSON text of an object.
        """
        text = exact(fields, entry_type) if isinstance(fields, bytes) else dumps(dict(fields))
        return self._store.append(entry_type, text)

    def _append(self, entry_type: str, **fields: Any) -> str:
        """Leaves out what is None; None inside a one-element list stands for null."""
        return self._store.append(entry_type, dumps({name: value for name, value in fields.items() if value is not None}))

    def append_message(self, message: Message | Mapping[str, Any] | bytes) -> str:
        """Appends a message: a dict with a ``role``, or the exact JSON text of one."""
        return self._store.append_message(exact(message, "message") if isinstance(message, bytes) else dumps(message))

    def append_thinking_level_change(self, level: str | None = None) -> str:
        """Appends a change of the thinking level; None unsets it."""
        return self.append("thinking_level_change", {"thinkingLevel": level})

    def append_model_change(self, model: str, role: str | None = None) -> str:
        """Appends a change of model, ``provider/modelId``, for a role (absent: the default one)."""
        return self._append("model_change", model=model, role=role)

    def append_mode_change(self, mode: str, data: Mapping[str, Any] | None = None) -> str:
        """Appends a change of mode."""
        return self._append("mode_change", mode=mode, data=data)

    def append_service_tier_change(self, service_tier: str | None = None) -> str:
        """Appends a change of the service tier; None unsets it."""
        return self.append("service_tier_change", {"serviceTier": service_tier})

    def append_context_change(self, context_name: str, tenant: str, namespace: str) -> str:
        """Appends a change of the active context."""
        return self._append("context_change", contextName=context_name, tenant=tenant, namespace=namespace)

    def append_session_init(
        self, *, system_prompt: str, task: str, tools: Iterable[str] = (), output_schema: Any = None
    ) -> str:
        """Appends what the session was started with."""
        fields = {"systemPrompt": system_prompt, "task": task, "tools": list(tools), "outputSchema": output_schema}
        return self._append("session_init", **fields)

    def append_compaction(
        self,
        summary: str,
        *,
        tokens_before: int,
        first_kept_entry_id: str | None = None,
        short_summary: str | None = None,
        details: Any = None,
        from_extension: bool | None = None,
        preserve_data: Mapping[str, Any] | None = None,
    ) -> str:
        """Appends a compaction: its summary stands for what came before ``first_kept_entry_id``."""
        return self._append(
            "compaction",
            summary=summary,
            shortSummary=short_summary,
            firstKeptEntryId=first_kept_entry_id,
            tokensBefore=tokens_before,
            details=details,
            fromExtension=from_extension,
            preserveData=preserve_data,
        )

    def append_custom_entry(self, custom_type: str, data: Any = ...) -> str:
        """Appends the state of an extension: any value that has a JSON form. Absent data is left out."""
        fields = {"customType": custom_type} if data is ... else {"customType": custom_type, "data": data}
        return self.append("custom", fields)

    def append_custom_message_entry(
        self,
        custom_type: str,
        content: str | list[TextBlock | ImageBlock],
        *,
        display: bool = True,
        details: Any = None,
        attribution: str | None = None,
    ) -> str:
        """Appends a message of an extension that takes part in the context."""
        return self._append(
            "custom_message",
            customType=custom_type,
            content=content,
            display=display,
            details=details,
            attribution=attribution,
        )

    def append_mcp_tool_selection(self, tool_names: Iterable[str]) -> str:
        """Appends the choice of MCP tools."""
        return self._append("mcp_tool_selection", selectedToolNames=list(tool_names))

    def append_ttsr_injection(self, rules: Iterable[str]) -> str:
        """Appends the rules that were injected."""
        return self._append("ttsr_injection", injectedRules=list(rules))

    def append_label_change(self, target_id: str, label: str | None = None) -> str:
        """Labels an entry; None or an empty label clears.

        :raises EntryNotFoundError: where ``target_id`` names no entry.
        """
        return self._append("label", targetId=target_id, label=label or None)

    # The leaf

    def branch(self, entry_id: str) -> None:
        """Moves the leaf to an entry.

        :raises EntryNotFoundError: where there is no such entry.
        """
        self._store.set_branch(entry_id)

    def branch_with_summary(
        self, from_id: str | None, summary: str, *, details: Any = None, from_extension: bool | None = None
    ) -> str:
        """Moves the leaf to an entry, or to none, and appends a summary of the branch that is left.

        :raises EntryNotFoundError: where there is no such entry.
        """
        text = None if details is None else dumps(details)
        return self._store.branch_with_summary(from_id, summary, text, from_extension)

    def reset_leaf(self) -> None:
        """Sets the leaf to none: the next append is a new root."""
        self._store.reset_leaf()

    # Changes

    def rewrite_entries(self, changed: Iterable[Mapping[str, Any]]) -> None:
        """Puts changed entries, found by their ``id``, in the places of the old ones and rewrites the file.

        Everything else in the file stays byte for byte.

        :raises EntryNotFoundError: where one of them has the id of no entry; nothing is changed then.
        """
        lines = []
        for entry in changed:
            entry_id = entry.get("id")
            if not isinstance(entry_id, str):
                raise InvalidArgumentError("an entry without an id cannot be rewritten")
            number = self._store.number_of(entry_id)
            if number is None:
                raise EntryNotFoundError(f"Entry {entry_id} not found")
            lines.append((number, dumps(dict(entry))))
        self._store.rewrite_entries(lines)

    def replace_entry(self, entry_id: str, entry: Mapping[str, Any] | bytes) -> None:
        """Puts another entry, a dict or its exact JSON text, in the place of one and rewrites the file."""
        self._store.replace_entry(entry_id, exact(entry, "entry") if isinstance(entry, bytes) else dumps(dict(entry)))

    def set_session_name(self, name: str, source: Literal["auto", "user"] = "user") -> bool:
        """Sets the title. Whether it was taken: an empty one is not, nor an automatic one over the user's."""
        return self._store.set_session_name(name, source)

    # Other sessions

    def new_session(self, *, parent_session: str | None = None) -> Path | None:
        """Goes on in a new session of the same working directory and returns its file."""
        return self._store.new_session(parent_session)

    def set_session_file(self, path: str | os.PathLike[str]) -> None:
        """Goes on in another session's file, opened as :meth:`open` does."""
        self._store.set_session_file(os.path.abspath(path))

    def fork(self) -> Forked | None:
        """Goes on in a copy of the session; None in memory."""
        forked = self._store.fork()
        return None if forked is None else Forked(*forked)

    def create_branched_session(self, leaf_id: str) -> Path | None:
        """Goes on in a new session that holds only the path to an entry, and returns its file; None in memory."""
        return self._store.create_branched_session(leaf_id)

    def move_to(self, cwd: str | os.PathLike[str]) -> None:
        """Moves the session, file and artifacts, to another working directory."""
        self._store.move_to(os.path.abspath(cwd))

    def capture_state(self) -> SessionState:
        """Which session this is and where its leaf is, to come back with :meth:`restore_state`."""
        return SessionState._of(self._store.capture_state())

    def restore_state(self, state: SessionState) -> None:
        """Goes back to a captured session and its leaf. What was appended to it since stays in it."""
        self._store.restore_state(state._state)

    # The file

    def refresh(self) -> list[Entry]:
        """Takes in what others appended since and returns it; the leaf stays."""
        return self._store.refresh(VALUE)

    def ensure_on_disk(self) -> None:
        """Makes the session's file now, assistant message or not."""
        self._store.ensure_on_disk()

    def flush(self) -> None:
        """When it returns, everything appended before survives a power loss. Appends go on meanwhile."""
        self._store.flush()

    def recover(self) -> None:
        """Writes what is missing, also after an error."""
        self._store.recover()

    def close(self) -> None:
        """Flushes and lets go of the file. Reading goes on; closing again does nothing."""
        self._store.close()

    # Files beside it

    def get_artifacts_dir(self) -> Path | None:
        """The directory of the session's artifacts, whether or not it is there; None in memory."""
        return self._store.artifacts_dir()

    def allocate_artifact_path(self, tool_type: str) -> tuple[str, Path] | None:
        """An id and a path for a new artifact; None in memory."""
        return self._store.allocate_artifact_path(tool_type)

    def save_artifact(self, content: str | bytes, tool_type: str) -> str | None:
        """Saves an artifact and returns its id; None in memory."""
        return self._store.save_artifact(content.encode() if isinstance(content, str) else content, tool_type)

    def get_artifact_path(self, artifact_id: str) -> Path | None:
        """The path of an artifact that is there."""
        return self._store.artifact_path(artifact_id)

    def put_blob(self, data: bytes) -> Blob:
        """Stores bytes in the blob store, durably."""
        return Blob(*self._store.put_blob(data))
