"""PURE: which GPUs of a node a device of our own driver is, or is cut from, by its name.

The agent names every device of GPUs after their numbers: ``gpu-3``, ``gpu-3-mig-1g-5gb-0``, ``gpus-0-1``. A
number belongs to a PCI address, so it says more than the minor, which the driver counts anew at each boot.
Source: docs/decisions/0073-names-of-gpus.md.
"""

from __future__ import annotations

import re
from typing import Final

_ONE: Final = re.compile(r"gpu-(\d{1,4})(?:-.+)?", re.ASCII)
_SEVERAL: Final = re.compile(r"gpus(?:-\d{1,4})+", re.ASCII)


def numbers_in(name: str) -> tuple[int, ...]:
    """Return the numbers of the GPUs that a device is, or is cut from; none for other devices."""
    if found := _ONE.fullmatch(name):
        return (int(found[1]),)
    return tuple(map(int, name.split("-")[1:])) if _SEVERAL.fullmatch(name) else ()
