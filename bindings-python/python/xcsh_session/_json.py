"""Python values as JSON texts. The other way, texts are decoded by the native module."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from .errors import InvalidArgumentError, InvalidJsonError

__all__ = ["dumps", "exact"]

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def dumps(value: Any) -> str:
    """The JSON of a value, without spaces; what UTF-8 cannot hold, lone surrogates, is escaped.

    Infinities, which a number like ``1e400`` is decoded to, become such a number again.

    :raises TypeError: for what has no JSON form.
    :raises InvalidArgumentError: for NaN and for values that contain themselves.
    """
    try:
        text = _encode(value)
    except (ValueError, RecursionError):
        text = "".join(_encode_any(value))
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text


def exact(text: bytes, what: str) -> str:
    """A JSON text that a caller gives; the native module checks it further."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InvalidJsonError(f"{what} is not valid JSON at byte {error.start}: it is no UTF-8") from error


_SURROGATE = re.compile("[\ud800-\udfff]")


def _encode_any(value: Any) -> Iterator[str]:
    """Encodes without recursion."""
    # Each open container: its end, the values still to come (with their keys in a dict), its identity.
    open_: list[tuple[str, Iterator[Any], int]] = []
    above: set[int] = set()

    def begin(container: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> str:
        if id(container) in above:
            raise InvalidArgumentError("the value has no JSON form: it contains itself")
        above.add(id(container))
        is_dict = isinstance(container, dict)
        items = iter(container.items()) if isinstance(container, dict) else iter(container)
        open_.append(("}" if is_dict else "]", items, id(container)))
        return "{" if is_dict else "["

    if not isinstance(value, (dict, list, tuple)):
        yield _scalar(value)
        return
    yield begin(value)
    first = True
    while open_:
        end, items, identity = open_[-1]
        item: Any = next(items, open_)
        if item is open_:
            open_.pop()
            above.remove(identity)
            yield end
            first = False
            continue
        if not first:
            yield ","
        if end == "}":
            key, item = item
            yield _encode(_key(key)) + ":"
        first = isinstance(item, (dict, list, tuple))
        yield begin(item) if first else _scalar(item)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, (bool, int, float)):
        return _scalar(key)
    raise TypeError(f"keys must be str, int, float, bool or None, not {type(key).__name__}")


def _scalar(value: Any) -> str:
    if isinstance(value, float) and value in (math.inf, -math.inf):
        return "1e400" if value > 0 else "-1e400"
    if isinstance(value, float) and math.isnan(value):
        raise InvalidArgumentError("the value has no JSON form: it holds NaN")
    return _encode(value)
