"""How a session is opened."""

from __future__ import annotations

import os
from typing import Any, Literal, TypedDict

from ._native import AgentDirs

_NAMES = (
    "dirs",
    "session_dir",
    "profile",
    "layout",
    "model_resolution",
    "migrate_at_once",
    "on_invalid",
    "read_only",
    "lock_timeout",
    "breadcrumb",
)


class SessionOptions(TypedDict, total=False):
    """Keyword arguments of the class methods that make a :class:`SessionManager`; all can be left out."""

    dirs: AgentDirs | None
    """The agent's directories; by default those that the environment names."""
    session_dir: str | os.PathLike[str] | None
    """Where sessions go and are looked for, instead of a directory made of the working directory."""
    profile: Literal["document", "agent"]
    """The defaults of the format's document, or of today's agent."""
    layout: Literal["document", "home_relative"]
    """How the directory of a new session is named."""
    model_resolution: Literal["model_change", "latest"]
    """Who decides ``models["default"]``: a model change before all, or the newest of model change and answer."""
    migrate_at_once: bool
    """Whether a session of an older version is written anew when it is opened, or with the next write."""
    on_invalid: Literal["move_aside", "refuse"]
    """What becomes of a file that is no session: moved aside, or :class:`NotASessionError`."""
    read_only: bool
    """Never write anything."""
    lock_timeout: float
    """For how many seconds a write waits for another writer. Default 5."""
    breadcrumb: bool
    """Whether to note, and to go by, which session this terminal was in."""


def complete(options: SessionOptions) -> dict[str, Any]:
    """All options, None for those that are absent."""
    if unknown := sorted(set(options) - set(_NAMES)):
        raise TypeError(f"no such option: {', '.join(unknown)}; there are {', '.join(_NAMES)}")
    given: dict[str, Any] = dict(options)
    return {name: given.get(name) for name in _NAMES}
