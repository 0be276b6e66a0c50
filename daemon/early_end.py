"""Lets a signal end a program that is still loading its modules.

A program imports this module before all others. Process 1 of a container ignores every signal that it has
no handler for, so a pod deleted in its first second would stay for its whole grace period. Any other
process ends without a handler; this module changes nothing there.
Source: pid_namespaces(7), "The namespace init process".
"""

from __future__ import annotations

import os
import sys
from types import FrameType

from daemon.signals import set_handler

_INIT = 1


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)  # nothing was started yet; the program sets its own handlers before it starts anything


if os.getpid() == _INIT:
    set_handler(_end)
