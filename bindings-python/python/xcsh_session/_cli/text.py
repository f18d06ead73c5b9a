"""What an entry says, in words."""

from __future__ import annotations

from typing import Any


def content_text(content: Any) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for block in content:
        if not isinstance(block, dict):
            continue
        match block.get("type"):
            case "text":
                parts.append(str(block.get("text", "")))
            case "thinking":
                parts.append(f"({block.get('thinking', '')})")
            case "toolCall":
                parts.append(f"[{block.get('name', '')} {block.get('arguments', '')}]")
            case "image":
                parts.append("[image]")
    return " ".join(parts)


def message_text(message: Any) -> str:
    """The text of a message."""
    if not isinstance(message, dict):
        return ""
    match message.get("role"):
        case "bashExecution":
            return f"$ {message.get('command', '')} {message.get('output', '')}"
        case "branchSummary" | "compactionSummary":
            return str(message.get("summary", ""))
        case _:
            return content_text(message.get("content"))


def kind(entry: Any) -> str:
    """A word for what an entry is."""
    message = entry.get("message")
    if entry.get("type") == "message" and isinstance(message, dict):
        role = str(message.get("role", "message"))
        return f"{role} {message['toolName']}" if "toolName" in message else role
    return str(entry.get("type"))


def entry_text(entry: Any) -> str:
    """What an entry says."""
    match entry.get("type"):
        case "message":
            return message_text(entry.get("message"))
        case "model_change":
            role = entry.get("role")
            return f"{entry.get('model', '')}{f' for {role}' if role else ''}"
        case "compaction" | "branch_summary":
            return str(entry.get("shortSummary") or entry.get("summary", ""))
        case "custom_message":
            return f"{entry.get('customType', '')}: {content_text(entry.get('content'))}"
        case "label":
            return f"{entry.get('label') or 'cleared'} on {entry.get('targetId', '')}"
        case _:
            base = {"type", "id", "parentId", "timestamp"}
            return " ".join(f"{name}={value}" for name, value in entry.items() if name not in base)
