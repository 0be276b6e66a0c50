"""Renders which driver has a function: the link to the driver, and the driver's link to the function.

As in the kernel the driver's link comes and goes first. Source: Linux, drivers/base/dd.c, driver_sysfs_add
and driver_sysfs_remove. Takes folders and names; files are created or removed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from typing import Final

from agent.hardware.simulated.files import Files

_DRIVERS: Final = "sys/bus/pci/drivers"


def render_binding(files: Files, folder: str, driver: str | None, before: str | None = None) -> None:
    """Show that ``driver`` has the function in ``folder``, no longer ``before``; None is no driver."""
    if before is not None and before != driver:
        files.remove(f"{_DRIVERS}/{before}/{posixpath.basename(folder)}")
    if driver is None:
        files.remove(f"{folder}/driver")
    else:
        files.folder(f"{_DRIVERS}/{driver}")
        files.link(f"{_DRIVERS}/{driver}/{posixpath.basename(folder)}", folder)
        files.link(f"{folder}/driver", f"{_DRIVERS}/{driver}")


def remove_stale_bindings(files: Files, possible: Collection[str], drivers: Mapping[str, str | None]) -> None:
    """Remove drivers' links of an earlier state to ``possible`` functions. Shape: ``drivers`` by address."""
    for driver in files.names(_DRIVERS):
        for bdf in files.names(f"{_DRIVERS}/{driver}"):
            if bdf in possible and drivers.get(bdf) != driver:
                files.remove(f"{_DRIVERS}/{driver}/{bdf}")
