"""The only module that catches NVML's errors.

Takes a function of pynvml and its arguments; returns its result, or a ``HardwareError``. The caller decides
which errors are expected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pynvml

from agent.hardware.driver.nvml_rules import refusal
from agent.hardware.errors import HardwareFault

_MOST: Final = 1024
"""No node has as many GPUs, and no GPU as many instances or placements."""


def call(attempted: str, subject: str, function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function of pynvml.

    Raises: HardwareError, as ``refusal`` says; HardwareFault where the answer is text that is no UTF-8.
    """
    try:
        return function(*arguments)
    except pynvml.NVMLError as error:
        raise refusal(attempted, subject, error.value, function.__name__) from error
    except UnicodeDecodeError as error:  # pynvml decodes every text
        reason = f"NVML answered text that is not UTF-8: byte {error.start}"
        raise HardwareFault(attempted, subject, reason) from error


def bounded(attempted: str, subject: str, count: int) -> int:
    """Return how many things NVML says there are. Raises: HardwareFault where no board has as many."""
    if count > _MOST:
        reason = f"NVML answered that there are {count}; more than {_MOST} are not believed"
        raise HardwareFault(attempted, subject, reason)
    return count
