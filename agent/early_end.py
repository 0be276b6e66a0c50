"""Lets a signal end a program that is still loading.

A program imports this before whatever takes long. Process 1 of a container gets no signal that it has no
handler for, so a pod that is deleted in its first second would stay for its whole grace period. Any other
process ends without help, and is left alone.
Source: pid_namespaces(7), "The namespace init process".
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_INIT = 1


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)  # nothing is begun yet; who begins something sets handlers of its own


if os.getpid() == _INIT:
    for _number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(_number, _end)
