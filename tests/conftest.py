"""What all tests share: the fault matrix, and properties without a deadline: machines are slow now and then.

Properties try the same examples in each run, so that a red run means a change; ``make explore`` tries others.
"""

import os

from fault_matrix.collecting import note, pytest_addoption, pytest_configure
from hypothesis import settings

__all__ = ("note", "pytest_addoption", "pytest_configure")

settings.register_profile("tangram", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("tangram")


def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes: more than processors, since a third of the time is waiting."""
    count = len(os.sched_getaffinity(0))
    return count + max(1, count // 2)
