"""What all tests share: properties without a deadline, since machines are slow now and then.

Properties try the same examples in each run, so that a red run means a change; ``make explore`` tries others.
"""

import gc
import os

from hypothesis import settings

settings.register_profile("tangram", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("tangram")


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes: more than processors, since a third of the time is waiting."""
    count = len(os.sched_getaffinity(0))
    return count + max(1, count // 2)


def pytest_configure() -> None:
    """Collect no garbage while tests are collected: there is hardly any, and ever more objects to look at."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what collecting made out of all later looks for garbage: it lives as long as the process."""
    gc.freeze()
    gc.enable()
