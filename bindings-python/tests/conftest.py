"""What all tests share: an agent directory of their own, and the conformance cases."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from xcsh_session import AgentDirs

ROOT = Path(__file__).resolve().parents[2]


def conformance(name: str) -> list[Any]:
    """The cases of a file in tests/conformance."""
    cases: list[Any] = json.loads((ROOT / "tests" / "conformance" / name).read_text(encoding="utf-8"))
    return cases


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test may see, or leave a breadcrumb in, the agent directory of whoever runs it."""
    for name in ("KITTY_WINDOW_ID", "TMUX_PANE", "TERM_SESSION_ID", "WT_SESSION", "PI_CONFIG_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PI_CODING_AGENT_DIR", os.fspath(tmp_path_factory.mktemp("agent")))


@pytest.fixture
def dirs(tmp_path: Path) -> AgentDirs:
    """The directories of an agent that has nothing yet."""
    return AgentDirs.at(tmp_path / "agent")


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A small session with every kind of thing that scripts look at."""
    path = tmp_path / "sample.jsonl"
    path.write_text("\n".join(SAMPLE) + "\n", encoding="utf-8")
    return path


SAMPLE = [
    '{"type":"session","version":3,"id":"1f9d2a6b9c0d1234","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/srv/pi",'
    '"title":"Fix the parser","titleSource":"user"}',
    '{"type":"model_change","id":"a0000000","parentId":null,"timestamp":"2026-02-16T10:20:30.500Z","model":"p/large"}',
    '{"type":"message","id":"a0000001","parentId":"a0000000","timestamp":"2026-02-16T10:20:31.000Z",'
    '"message":{"role":"user","content":"Why does the parser fail?","timestamp":1771237231000}}',
    '{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-02-16T10:20:32.000Z",'
    '"message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"read","arguments":{"path":"a.rs"}}],'
    '"provider":"p","model":"large","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,'
    '"cost":{"total":0.25}},"stopReason":"toolUse"}}',
    '{"type":"message","id":"a0000003","parentId":"a0000002","timestamp":"2026-02-16T10:20:33.000Z",'
    '"message":{"role":"toolResult","toolCallId":"t1","toolName":"read","content":[{"type":"text",'
    '"text":"fn parse() { caf\\u00e9 \\ud83d }"}],"isError":false}}',
    '{"type":"message","id":"a0000004","parentId":"a0000003","timestamp":"2026-02-16T10:20:34.000Z",'
    '"message":{"role":"assistant","content":[{"type":"text","text":"A brace is missing."}],"provider":"p",'
    '"model":"large","usage":{"input":20,"output":7,"cost":{"total":0.5}},"stopReason":"stop"}}',
    '{"type":"label","id":"a0000005","parentId":"a0000004","timestamp":"2026-02-16T10:20:35.000Z",'
    '"targetId":"a0000004","label":"answer"}',
    '{"type":"message","id":"a0000006","parentId":"a0000002","timestamp":"2026-02-16T10:20:36.000Z",'
    '"message":{"role":"user","content":"another branch"}}',
    '{"type":"telemetry","id":"a0000007","parentId":"a0000005","timestamp":"2026-02-16T10:20:37.000Z",'
    '"n":1e400,"big":12345678901234567890123,"dup":1,"dup":2}',
]
