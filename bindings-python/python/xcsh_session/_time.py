"""Times as a person expects them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_milliseconds(milliseconds: float) -> datetime:
    """A time in UTC; one beyond what :class:`datetime` can hold becomes its last or first."""
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return (datetime.max if milliseconds > 0 else datetime.min).replace(tzinfo=UTC)


def to_iso(time: datetime | str) -> str:
    """As entries have it: ISO 8601, UTC, milliseconds. A text stays as it is."""
    if isinstance(time, str):
        return time
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
