"""What others know of an NVML process: its name, its program, and the signal that asks it to step aside.

The process itself is in ``nvml_process/``; who looks for it among all processes of a node needs no more.
"""

from __future__ import annotations

import signal
from typing import Final

NAME: Final = "tangram-nvml"
"""What the kernel calls the process, such as in ``ps -e``."""
MODULE: Final = "agent.hardware.nvml_process.child"
"""The module that Python runs in it."""
STEP_ASIDE: Final = signal.SIGUSR1
"""Ends the process once its calls have returned; its program opens the driver again after some seconds."""
STEPPED_ASIDE: Final = 75
"""The status with which it ends then: the program asks again (EX_TEMPFAIL of sysexits.h)."""
