"""The session store of a coding agent: JSONL files that hold a tree of entries.

:class:`Session` reads a session without touching it, :class:`SessionManager` writes one. Entries and messages are
plain dicts, whose shapes are in :mod:`xcsh_session.types`; errors are in :mod:`xcsh_session.errors`; what happens
behind the scenes is logged to ``logging.getLogger("xcsh_session")``.
"""

from . import errors, types
from ._blobs import Blob, BlobStore
from ._discovery import (
    Found,
    GcReport,
    RecentSession,
    Resolved,
    SessionInfo,
    Unreadable,
    UnreferencedBlob,
    find_most_recent_session,
    gc_blobs,
    list_all,
    list_sessions,
    recent_sessions,
    resolve_resumable_session,
)
from ._functions import (
    build_session_context,
    create_branch_summary_message,
    create_compaction_summary_message,
    create_custom_message,
    delete_session,
    get_latest_compaction_entry,
    load_entries_from_file,
    migrate_session_entries,
    parse_session_entries,
    sanitize_loaded_openai_responses_replay_metadata,
)
from ._history import HistoryEntry, HistoryStorage
from ._manager import Forked, PersistError, SessionManager, SessionState
from ._native import CURRENT_SESSION_VERSION, AgentDirs
from ._native import VERSION as __version__
from ._options import SessionOptions
from ._session import Session
from .errors import SessionError

__all__ = [
    "CURRENT_SESSION_VERSION",
    "AgentDirs",
    "Blob",
    "BlobStore",
    "Forked",
    "Found",
    "GcReport",
    "HistoryEntry",
    "HistoryStorage",
    "PersistError",
    "RecentSession",
    "Resolved",
    "Session",
    "SessionError",
    "SessionInfo",
    "SessionManager",
    "SessionOptions",
    "SessionState",
    "Unreadable",
    "UnreferencedBlob",
    "__version__",
    "build_session_context",
    "create_branch_summary_message",
    "create_compaction_summary_message",
    "create_custom_message",
    "delete_session",
    "errors",
    "find_most_recent_session",
    "gc_blobs",
    "get_latest_compaction_entry",
    "list_all",
    "list_sessions",
    "load_entries_from_file",
    "migrate_session_entries",
    "parse_session_entries",
    "recent_sessions",
    "resolve_resumable_session",
    "sanitize_loaded_openai_responses_replay_metadata",
    "types",
]
