"""Prompt history."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from xcsh_session import AgentDirs, HistoryStorage, errors


def test_prompts_are_kept_and_found(dirs: AgentDirs) -> None:
    with HistoryStorage(dirs=dirs) as history:
        assert history.path == dirs.history_db
        history.add("  fix the parser ", Path("/srv/pi"))
        history.add("fix the parser")
        history.add("")
        history.add("日本語のテスト")
        history.flush()
        newest, first = history.get_recent()
        assert (first.prompt, first.cwd, newest.cwd) == ("fix the parser", "/srv/pi", None)
        assert abs(first.created_at - datetime.now(UTC)) < timedelta(minutes=1)
        assert [entry.id for entry in history.search("pars fix")] == [first.id]
        assert [entry.prompt for entry in history.search("本語")] == ["日本語のテスト"]
        for query in ('"', "foo-bar", "C++", "", "NEAR(", "*"):
            history.search(query)
        assert history.get_recent(0) == [] and history.get_recent(-5) == []
    history.close()
    with pytest.raises(errors.ClosedError):
        history.add("late")


def test_the_end_of_the_program_writes_what_is_queued(dirs: AgentDirs) -> None:
    script = (
        "import sys; from xcsh_session import *; "
        "history = HistoryStorage(dirs=AgentDirs.at(sys.argv[1])); history.add('last words')"
    )
    subprocess.run([sys.executable, "-c", script, str(dirs.agent)], timeout=60, check=True)
    with HistoryStorage(dirs=dirs) as history:
        assert [entry.prompt for entry in history.get_recent()] == ["last words"]


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_text("this is no database" * 100)
    with pytest.raises(errors.HistoryError) as caught:
        HistoryStorage(path)
    assert caught.value.path == path
