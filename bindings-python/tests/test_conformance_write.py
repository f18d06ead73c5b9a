"""The cases of tests/conformance/write.json through the public surface."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import conformance

from xcsh_session import AgentDirs, SessionManager

CASES = conformance("write.json")


def expand(value: Any, ids: list[Any]) -> Any:
    """Builds the strings that the cases only describe, and puts ids of earlier operations in."""
    if isinstance(value, str):
        return ids[int(value[1:])] if value.startswith("$") and value[1:].isdigit() else value
    if isinstance(value, list):
        return [expand(item, ids) for item in value]
    if isinstance(value, dict):
        match next(iter(value.items()), None):
            case ("$repeat", (text, count)):
                return text * count
            case ("$base64", count):
                return base64.b64encode(bytes((7 * i + count) % 256 for i in range(count))).decode()
            case ("$concat", parts):
                return "".join(expand(parts, ids))
        return {key: expand(item, ids) for key, item in value.items()}
    return value


def run(manager: SessionManager, op: str, args: list[Any]) -> Any:
    """Runs one operation of the Node surface."""

    def arg(at: int, absent: Any = None) -> Any:
        return args[at] if at < len(args) else absent

    match op:
        case "appendMessage":
            return manager.append_message(args[0])
        case "appendThinkingLevelChange":
            return manager.append_thinking_level_change(arg(0))
        case "appendModelChange":
            return manager.append_model_change(args[0], arg(1))
        case "appendModeChange":
            return manager.append_mode_change(args[0], arg(1))
        case "appendServiceTierChange":
            return manager.append_service_tier_change(arg(0))
        case "appendContextChange":
            return manager.append_context_change(*args)
        case "appendMCPToolSelection":
            return manager.append_mcp_tool_selection(args[0])
        case "appendTtsrInjection":
            return manager.append_ttsr_injection(args[0])
        case "appendLabelChange":
            return manager.append_label_change(args[0], arg(1))
        case "appendCustomEntry":
            return manager.append_custom_entry(args[0], arg(1, ...))
        case "appendSessionInit":
            init = args[0]
            return manager.append_session_init(
                system_prompt=init["systemPrompt"],
                task=init["task"],
                tools=init["tools"],
                output_schema=init.get("outputSchema"),
            )
        case "appendCustomMessageEntry":
            return manager.append_custom_message_entry(
                args[0], args[1], display=args[2], details=arg(3), attribution=arg(4)
            )
        case "appendCompaction":
            return manager.append_compaction(
                args[0],
                short_summary=arg(1),
                first_kept_entry_id=arg(2),
                tokens_before=args[3],
                details=arg(4),
                from_extension=arg(5),
                preserve_data=arg(6),
            )
        case "branchWithSummary":
            return manager.branch_with_summary(args[0], args[1], details=arg(2), from_extension=arg(3))
        case "setSessionName":
            return manager.set_session_name(args[0], args[1])
        case "branch":
            manager.branch(args[0])
        case "resetLeaf":
            manager.reset_leaf()
        case "flush":
            manager.flush()
        case "ensureOnDisk":
            manager.ensure_on_disk()
        case "fork":
            manager.fork()
        case "createBranchedSession":
            manager.create_branched_session(args[0])
        case _:
            raise AssertionError(f"unknown operation {op}")
    return None


def shown_file(path: Path, old_id: str, old_file: Path) -> list[str] | None:
    """A session file as the cases show it."""
    if not path.exists():
        return None
    lines = [json.loads(line) for line in path.read_bytes().decode().split("\n")[:-1]]
    ids = {entry["id"]: f"#{i}" for i, entry in enumerate(lines[1:])}
    parents = {old_id: "<old id>", str(old_file): "<old file>"}

    def show(value: Any) -> Any:
        if isinstance(value, str):
            units = len(value.encode("utf-16-le", "surrogatepass")) // 2
            if units > 2000:
                return {"$utf16": units, "$sha256": hashlib.sha256(value.encode()).hexdigest()}
            return ids.get(value, value)
        if isinstance(value, list):
            return [show(item) for item in value]
        if isinstance(value, dict):
            return {key: show(item) for key, item in value.items()}
        return value

    def show_line(line: dict[str, Any]) -> str:
        header = line["type"] == "session"
        out = {}
        for key, value in line.items():
            if key == "timestamp":
                out[key] = "<ts>"
            elif header and key == "id":
                out[key] = "<session>"
            elif header and key == "cwd":
                out[key] = "<cwd>"
            elif header and key == "parentSession":
                out[key] = parents.get(value, value)
            else:
                out[key] = show(value)
        return json.dumps(out, ensure_ascii=False, separators=(",", ":"))

    return [show_line(line) for line in lines]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_write(case: Any, dirs: AgentDirs) -> None:
    with SessionManager.create("/srv/pi", dirs=dirs) as manager:
        old_file, old_id = manager.get_session_file(), manager.get_session_id()
        assert old_file is not None
        returned: list[Any] = []
        for op, *args in case["ops"]:
            returned.append(run(manager, op, expand(args, returned)))
            manager.flush()
        file = manager.get_session_file()
        assert file is not None
        assert shown_file(file, old_id, old_file) == case["file"]
        if "oldFile" in case:
            assert file != old_file
            assert shown_file(old_file, old_id, old_file) == case["oldFile"]
        if "returns" in case:
            assert [value if isinstance(value, bool) else None for value in returned] == case["returns"]
