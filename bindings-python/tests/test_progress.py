"""Long work tells on a terminal how far it is, and only there."""

from __future__ import annotations

import io
import sys
import time

import pytest

from xcsh_session._cli import output


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    stderr = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    seen = []
    for item in output.progress([1, 2, 3], "files"):
        time.sleep(0.3)
        seen.append(item)
    assert seen == [1, 2, 3]
    with output.waiting("reading sessions"):
        time.sleep(0.7)
    told = stderr.getvalue()
    if terminal:
        assert "\r\x1b[K3/3 files" in told and "reading sessions, 1 s" in told and told.endswith("\r\x1b[K")
    else:
        assert told == ""


def test_short_work_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    assert list(output.progress(iter("ab"), "files")) == ["a", "b"]
    with output.waiting("reading sessions"):
        pass
    assert stderr.getvalue() == ""


def test_lines_are_fit_for_a_terminal() -> None:
    assert output.one_line("a\x1b[31m\n\tb\u202e c", 20) == "a [31m b c"
    assert output.one_line("x" * 50, 10) == "x" * 9 + "…"
    sizes = {0: "0 B", 999: "999 B", 2_000: "2.0 KB", 45_000_000: "45 MB", 3 * 10**12: "3.0 TB"}
    assert {count: output.size(count) for count in sizes} == sizes
