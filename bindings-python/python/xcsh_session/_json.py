"""JSON texts and Python values.

What is decoded equals what :func:`json.loads` gives, lone surrogates included. Two things go further: values nested
more deeply than the interpreter's stack allows are decoded too, and integers of more digits than :func:`int` takes
become floats, as in JavaScript.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from . import _native
from .errors import InvalidArgumentError, InvalidJsonError

__all__ = ["DECODED", "dumps", "exact", "loads", "loads_all"]

_orjson_loads: Callable[[bytes], Any] | None
try:
    from orjson import loads as _orjson_loads
except ImportError:
    _orjson_loads = None

DECODED = _native.TEXT if _orjson_loads is None else _native.MIXED
"""The form in which the native module hands over lines that are to be decoded."""

_scan_once: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def loads(text: str | bytes) -> Any:
    """The value of a text that the native module has checked: ``bytes`` only where every decoder reads it alike."""
    if isinstance(text, bytes):
        if _orjson_loads is not None:
            try:
                return _orjson_loads(text)
            except ValueError:
                pass
        text = text.decode()
    try:
        return _scan_once(text, 0)[0]
    except (StopIteration, ValueError, RecursionError):
        return _loads_any(text)


def loads_all(texts: Iterable[str | bytes]) -> Iterator[Any]:
    """:func:`loads` of each."""
    return map(loads, texts)


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
_TOKEN = re.compile(r'[ \t\r\n]*([\[\]{},:"]|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null)')
_WORDS = {"true": True, "false": False, "null": None}


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _loads_any(text: str) -> Any:
    """Decodes without recursion."""
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        pass
    holder: list[Any] = []
    stack: list[Any] = [holder]
    keys: list[str | None] = [None]
    at = 0

    def put(value: Any) -> None:
        container = stack[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            key = keys[-1]
            assert key is not None
            container[key] = value
            keys[-1] = None

    while token := _TOKEN.match(text, at):
        at = token.end()
        match token[1]:
            case "{" | "[" as bracket:
                value: Any = {} if bracket == "{" else []
                put(value)
                stack.append(value)
                keys.append(None)
            case "}" | "]":
                stack.pop()
                keys.pop()
            case "," | ":":
                pass
            case '"':
                string, at = scanstring(text, at, True)
                if isinstance(stack[-1], dict) and keys[-1] is None:
                    keys[-1] = string
                else:
                    put(string)
            case "true" | "false" | "null" as word:
                put(_WORDS[word])
            case number:
                put(_integer(number) if token[2] is None and token[3] is None else float(number))
    return holder[0]


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
