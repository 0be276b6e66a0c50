"""Events about devices that are added, removed or changed, through libudev.

Returns a short text about each event. If udevd runs, its events are used, because device names are final by
then; in a container without udevd, the kernel's own events are used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from agent.hardware.errors import NotSupported

SUBSYSTEMS: Final = ("pci", "drm", "nvidia", "net", "infiniband")
_DRIVER_MODULE: Final = "module"  # loading a driver gives no event for each GPU
_MODULES: Final = ("nvidia", "mlx", "vfio")
_POLL_S: Final = 1.0  # how long after the end it may still listen


class Uevents:
    """Listens for events of GPUs and NICs. Shape: ``udevd`` is udevd's socket, which exists while it runs."""

    def __init__(self, udevd: Path = Path("/run/udev/control")) -> None:
        self._udevd = udevd

    def listen(self, hear: Callable[[str], None], stop: threading.Event) -> None:
        """Call ``hear`` once it listens, then for every event until ``stop`` is set.

        Raises: NotSupported without libudev.
        """
        monitor = self._monitor()
        for subsystem in (*SUBSYSTEMS, _DRIVER_MODULE):
            monitor.filter_by(subsystem)
        monitor.start()
        hear("listening has begun")
        while not stop.is_set():
            event = monitor.poll(timeout=_POLL_S)
            if event is not None and is_news(event.subsystem, event.device_path):
                hear(f"{event.action} {event.subsystem} {event.sys_name}")

    def _monitor(self) -> Any:
        try:
            import pyudev  # noqa: PLC0415 - its import runs programs to find libudev
        except ImportError as error:
            raise NotSupported("listen for devices", "this machine", str(error)) from error
        source = "udev" if self._udevd.exists() else "kernel"
        return pyudev.Monitor.from_netlink(pyudev.Context(), source=source)


def is_news(subsystem: str, device_path: str) -> bool:
    """Whether an event can concern a GPU or NIC, not a virtual interface of a pod."""
    if subsystem == _DRIVER_MODULE:
        return device_path.rpartition("/")[2].startswith(_MODULES)
    return "/devices/virtual/" not in f"{device_path}/"
