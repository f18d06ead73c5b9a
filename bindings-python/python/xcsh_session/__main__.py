"""``python -m xcsh_session``: looking at sessions from a terminal."""

import sys

from ._cli import main

if __name__ == "__main__":
    sys.exit(main())
