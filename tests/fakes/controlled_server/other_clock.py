"""The controller's program on a machine whose wall clock is wrong: other_clock.py SECONDS OPTION...

Time stamps are ahead by so many seconds. Times that pass are right, as they are on such a machine.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime

AHEAD_S = float(sys.argv[1])
_true_time = time.time


def wrong_time() -> float:
    """Return seconds since 1970 by the wrong clock."""
    return _true_time() + AHEAD_S


def wrong_now() -> str:
    """Return the time stamp of the wrong clock."""
    return datetime.fromtimestamp(wrong_time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    time.time = wrong_time  # before modules take it as the default of an argument
    from controller import assembly
    from controller.__main__ import main

    assembly._now = wrong_now
    sys.exit(main(sys.argv[2:]))
