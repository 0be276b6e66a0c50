"""What the kernel tells of devices that come, go and change.

Events of the machine enter through libudev, short words about them leave. Where udevd runs its events are
taken, since names are final then; in a container without it the kernel's own. Reads nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from agent.hardware.errors import NotSupported

SUBSYSTEMS: Final = ("pci", "drm", "nvidia", "net", "infiniband")
_DRIVER_MODULE: Final = "module"  # a driver that is loaded later announces no GPU of its own
_POLL_S: Final = 1.0  # how late the end may be noticed


class Uevents:
    """Listens for events of GPUs and NICs. Shape: ``udevd`` exists where udevd runs, as its socket does."""

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
            import pyudev  # noqa: PLC0415 - it looks for libudev by running programs: not before it is needed
        except ImportError as error:
            raise NotSupported("listen for devices", "this machine", str(error)) from error
        source = "udev" if self._udevd.exists() else "kernel"
        return pyudev.Monitor.from_netlink(pyudev.Context(), source=source)


def is_news(subsystem: str, device_path: str) -> bool:
    """Whether an event can concern a device of ours: pods' virtual interfaces come and go all day."""
    if subsystem == _DRIVER_MODULE:
        return device_path.rpartition("/")[2].startswith(("nvidia", "mlx"))
    return "/devices/virtual/" not in f"{device_path}/"
