"""The library's log as records of ``logging.getLogger("xcsh_session")``.

The native module queues what it logs and calls :func:`emit` when none of its locks is held, so a handler may do
anything, also use the session that the record is about.
"""

import logging

logger = logging.getLogger("xcsh_session")
logger.addHandler(logging.NullHandler())


def emit(level: int, message: str) -> None:
    """One record of the library."""
    if logger.isEnabledFor(level):
        logger.log(level, "%s", message)
