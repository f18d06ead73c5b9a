"""``inspect FILE``: tree, context, usage."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from .._native import VALUE
from .._session import Session
from . import output
from .text import entry_text, kind


def _levels(session: Session) -> Iterator[tuple[int, Any]]:
    """Every entry, and how many forks are above it: a line of entries without forks is not indented."""
    store = session._store
    tree = store.tree()
    children = [0] * len(tree)
    path: list[int] = []
    for at, (_, depth) in enumerate(tree):
        del path[depth:]
        if path:
            children[path[-1]] += 1
        path.append(at)
    roots = sum(depth == 0 for _, depth in tree)
    path, levels = [], [0] * len(tree)
    for start in range(0, len(tree), 64):
        part = tree[start : start + 64]
        entries = store.lines_of([number for number, _ in part], VALUE)
        for at, ((_, depth), entry) in enumerate(zip(part, entries, strict=True), start):
            del path[depth:]
            levels[at] = levels[path[-1]] + (children[path[-1]] > 1) if path else int(roots > 1)
            path.append(at)
            yield levels[at], entry


def _summary(session: Session) -> dict[str, Any]:
    context: dict[str, Any] = dict(session.build_session_context(session.get_leaf_id()))
    context["messages"] = len(context["messages"])
    return {
        "path": session.path,
        "header": session.get_header(),
        "title": session.get_session_name(),
        "entries": len(session),
        "leaf": session.get_leaf_id(),
        "labels": session.get_labels(),
        "context": context,
        "usage": session.get_usage_statistics(),
    }


def run(args: argparse.Namespace) -> int:
    """Shows a session."""
    session = output.open_session(args.session, args.dirs)
    if args.json:
        report = _summary(session)
        report["tree"] = [
            {"level": level, "id": entry.get("id"), "kind": kind(entry), "text": output.one_line(entry_text(entry), 200)}
            for level, entry in _levels(session)
        ]
        output.print_json(report)
        return 0
    width = output.width()
    leaf, labels = session.get_leaf_id(), session.get_labels()
    for level, entry in _levels(session):
        name = str(entry.get("id"))
        marks = f" [{output.one_line(labels[name], 40)}]" if name in labels else ""
        start = f"{'  ' * min(level, 20)}{'>' if name == leaf else ' '}{name} {kind(entry)}{marks}: "
        print(start + output.one_line(entry_text(entry), max(width - len(start), 20)))
    report = _summary(session)
    header, context, usage = report["header"], report["context"], report["usage"]
    models = ", ".join(f"{role} {model}" for role, model in context["models"].items()) or "none"
    print()
    for name, value in {
        "session": f"{report['title'] or 'without a title'} ({header['id']})",
        "file": report["path"],
        "cwd": header.get("cwd", "unknown"),
        "started": header.get("timestamp", "unknown"),
        "entries": f"{report['entries']}, leaf {leaf}",
        "context": f"{context['messages']} messages, thinking {context['thinkingLevel']}, mode {context['mode']}",
        "models": models,
        "usage": f"{usage['input']:g} in, {usage['output']:g} out, {usage['cacheRead']:g} read from the cache, "
        f"{usage['cacheWrite']:g} written to it, cost {usage['cost']:.4g}",
    }.items():
        print(f"{name:8} {output.one_line(str(value), 500)}")
    return 0
