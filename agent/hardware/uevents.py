"""Events about devices that are added, removed or changed, through libudev.

Returns a short text about each event. If udevd runs, its events are used, because device names are final by
then; in a container without udevd, the kernel's own events are used. Where events were lost, that is an event
too: whoever hears it looks at the machine.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from agent.hardware.errors import NotSupported
from daemon.backoff import Backoff
from daemon.logs import OneWarning

SUBSYSTEMS: Final = ("pci", "drm", "nvidia", "net", "infiniband")
_DRIVER_MODULE: Final = "module"  # loading a driver gives no event for each GPU
_MODULES: Final = ("nvidia", "mlx", "vfio")
_POLL_S: Final = 1.0  # how long after the end it may still listen
_RETRIES: Final = Backoff(first=0.1, most=60.0)
_DEAF: Final = "events of devices cannot be heard: %s; it is retried, and changes are seen later"
_log = logging.getLogger(__name__)


class Uevents:
    """Listens for events of GPUs and NICs. Shape: ``udevd`` is udevd's socket, which exists while it runs."""

    def __init__(self, udevd: Path = Path("/run/udev/control")) -> None:
        self._udevd = udevd
        self._deafness = OneWarning(_log, _DEAF)

    def listen(self, hear: Callable[[str], None], stop: threading.Event) -> None:
        """Call ``hear`` once it listens, then for every event until ``stop`` is set.

        A burst may be more than the kernel keeps for us (ENOBUFS), and nobody knows what was in it. So it
        listens anew at once, and then tells that events were lost: what happens from then on is heard.
        While it cannot listen the log says so, once.
        Raises: NotSupported without libudev.
        """
        what, retries = "listening has begun", _RETRIES
        while not stop.is_set():
            try:
                monitor = self._listening()
                hear(what)
                while not stop.is_set():
                    event = monitor.poll(timeout=_POLL_S)
                    retries = _RETRIES
                    if event is not None and is_news(event.subsystem, event.device_path):
                        hear(f"{event.action} {event.subsystem} {event.sys_name}")
            except OSError as error:
                what = f"events were lost: {error}"
                if retries.failures:
                    stop.wait(retries.wait())
                retries = retries.failed()

    def _listening(self) -> Any:
        """Return a monitor that listens already. Raises: OSError."""
        try:
            monitor = self._monitor()
            for subsystem in (*SUBSYSTEMS, _DRIVER_MODULE):
                monitor.filter_by(subsystem)
            monitor.start()
        except OSError as error:
            self._deafness.failed(error)
            raise
        self._deafness.over()
        return monitor

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
