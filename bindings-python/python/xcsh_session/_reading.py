"""What can be asked of a session, whether it is only read or also written."""

from __future__ import annotations

from collections.abc import Iterator
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from . import _native
from ._native import RAW, VALUE

if TYPE_CHECKING:
    from .types import Diagnostics, Entry, SessionContext, SessionHeader, TreeNode, UsageStatistics

Leaf: TypeAlias = str | None | EllipsisType

_BATCH = 1 << 20


class SessionReader:
    """What :class:`Session` and :class:`SessionManager` have in common. Entries are plain dicts.

    Iterating gives the entries in file order, decoded one after another, so a session of any size takes little
    memory; ``len()`` is the number of entries.
    """

    __slots__ = ("__weakref__", "_store")

    _store: _native.Store

    def __len__(self) -> int:
        return self._store.len()

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Entry]:
        return self._lines(VALUE)

    def iter_raw(self) -> Iterator[bytes]:
        """The exact lines of the entries, in file order, without their line ends."""
        return self._lines(RAW)

    def _lines(self, form: int) -> Iterator[Any]:
        store, number = self._store, 0
        numbering = store.numbering()
        while lines := store.lines(number, _BATCH, numbering, form):
            yield from lines
            number += len(lines)
        if lines is None:
            raise RuntimeError("another session took the place of this one during iteration")

    def raw(self, entry_id: str) -> bytes | None:
        """The exact line of the entry with this id, without its line end; None where there is none.

        This is what is in the file: blob references and the spelling of every number and escape are kept.
        """
        return cast("bytes | None", self._store.entry(entry_id, RAW))

    def raw_header(self) -> bytes:
        """The exact line of the header."""
        return self._store.raw_header()

    def get_header(self) -> SessionHeader:
        """The header, as the current version has it."""
        return cast("SessionHeader", self._store.header())

    def get_entries(self) -> list[Entry]:
        """All entries in file order. Iterating over the session takes less memory."""
        return list(self)

    def get_entry(self, entry_id: str) -> Entry | None:
        """The entry with this id, the last in the file where several have it; None where there is none."""
        return cast("Entry | None", self._store.entry(entry_id, VALUE))

    def get_children(self, entry_id: str) -> list[Entry]:
        """The entries that follow an entry, in file order."""
        return self._store.children(entry_id, VALUE)

    def get_branch(self, from_id: str | None = None) -> list[Entry]:
        """The entries from the root to an entry, or to the leaf.

        :raises EntryNotFoundError: where ``from_id`` names no entry.
        """
        return self._store.branch(from_id, VALUE)

    def get_leaf_id(self) -> str | None:
        """The id of the leaf, which the next append follows."""
        return self._store.leaf_id()

    def get_leaf_entry(self) -> Entry | None:
        """The leaf."""
        leaf = self.get_leaf_id()
        return None if leaf is None else self.get_entry(leaf)

    def get_label(self, entry_id: str) -> str | None:
        """The label of an entry."""
        return self._store.label(entry_id)

    def get_labels(self) -> dict[str, str]:
        """Ids of labelled entries and their labels."""
        return dict(self._store.labels())

    def walk_tree(self) -> Iterator[tuple[int, Entry]]:
        """Depth and entry of everything in the tree, each entry before its children, decoded one after another.

        Roots have depth 0; children come by timestamp, oldest first.
        """
        store = self._store
        tree = store.tree()
        for start in range(0, len(tree), 64):
            part = tree[start : start + 64]
            entries = store.lines_of([number for number, _ in part], VALUE)
            for (_, depth), entry in zip(part, entries, strict=True):
                yield depth, entry

    def get_tree(self) -> list[TreeNode]:
        """The roots of the tree, with all that follows each. Every entry is in it once."""
        roots: list[TreeNode] = []
        path: list[TreeNode] = []
        labels = self.get_labels()
        for depth, entry in self.walk_tree():
            node: TreeNode = {"entry": entry, "children": []}
            entry_id: Any = entry.get("id")
            if isinstance(entry_id, str) and entry_id in labels:
                node["label"] = labels[entry_id]
            del path[depth:]
            (path[-1]["children"] if path else roots).append(node)
            path.append(node)
        return roots

    def build_session_context(
        self, leaf_id: Leaf = ..., *, model_resolution: Literal["model_change", "latest"] | None = None
    ) -> SessionContext:
        """What goes to the model at a leaf: messages, models, thinking level, mode.

        :param leaf_id: an entry's id (the last entry, where there is no such entry); None for an empty context;
            absent for the session's own leaf.
        :param model_resolution: who decides ``models["default"]``, if not what the session was opened with.
        """
        given, leaf = self._leaf(leaf_id)
        context, messages = self._store.context(given, leaf, model_resolution, VALUE)
        context["messages"] = messages
        return cast("SessionContext", context)

    def raw_context_messages(self, leaf_id: Leaf = ...) -> list[bytes]:
        """The exact JSON of each message of the context."""
        return self._store.context(*self._leaf(leaf_id), None, RAW)[1]

    def _leaf(self, leaf_id: Leaf) -> tuple[bool, str | None]:
        return (False, None) if leaf_id is ... else (True, leaf_id)

    def get_usage_statistics(self) -> UsageStatistics:
        """Token and cost sums over all entries."""
        return cast("UsageStatistics", self._store.usage())

    def get_injected_ttsr_rules(self) -> list[str]:
        """The rules that were injected on the way from the root to the leaf, without repeats."""
        return self._store.injected_ttsr_rules()

    def get_last_model_change_role(self) -> str | None:
        """The role of the last model change on the way from the root to the leaf."""
        return self._store.last_model_change_role()

    def get_session_id(self) -> str:
        """The session's id."""
        return self._store.session_id()

    def get_session_name(self) -> str | None:
        """The title."""
        return self._store.title()

    def is_migrated(self) -> bool:
        """Whether the file is of an older version than what is shown."""
        return self._store.is_migrated()

    def diagnostics(self) -> Diagnostics:
        """What is not as it should be: malformed lines, orphans, cycles, missing blobs and so on."""
        return cast("Diagnostics", self._store.diagnostics())
