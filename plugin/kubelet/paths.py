"""Where and how a plugin serves: what the kubelet's side must know of the options."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from plugin.runtime.paths import HookPaths


class PluginPaths(HookPaths, Protocol):
    """One driver's folders and sockets, as ``plugin.options.Options`` has them. Every path is absolute."""

    @property
    def driver_name(self) -> str:
        """Return the name under which the kubelet knows the driver."""
        ...

    @property
    def data_dir(self) -> Path:
        """Return the folder of everything that must survive a restart."""
        ...

    @property
    def registry_dir(self) -> Path:
        """Return the folder that the kubelet watches."""
        ...

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return every folder that the plugin writes to, outer ones first."""
        ...

    @property
    def lock_file(self) -> Path:
        """Return the file whose bytes are the locks."""
        ...

    @property
    def dra_socket(self) -> Path:
        """Return the socket that the kubelet calls."""
        ...

    @property
    def grace_s(self) -> float:
        """Return how long calls may take to finish at the end. Units: seconds."""
        ...

    @property
    def registration_socket(self) -> Path:
        """Return the socket by which the kubelet finds the plugin."""
        ...
