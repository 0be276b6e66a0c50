"""The files that an installed NVIDIA driver offers to containers, beside its device nodes.

Takes a root folder: ``/``, or the root of a driver container, as this process sees it. Returns paths, as
this process sees them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from agent.hardware import attributes
from agent.hardware.driver import configs, libraries
from agent.hardware.driver.nodes import DriverNodes
from agent.hardware.errors import NotFound
from agent.hardware.types import HostFile

LIBRARY_DIRS: Final = (
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/local/nvidia/lib64",
)
"""Where distributions, NVIDIA's installer and driver containers put the driver's libraries."""

_TOOL_DIRS: Final = ("/usr/bin", "/usr/local/bin", "/bin", "/usr/local/nvidia/bin")
_TOOLS: Final = (
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-imex",
    "nvidia-imex-ctl",
)
_MANAGEMENT: Final = "libnvidia-ml.so.1"
_FABRIC: Final = "libnvfm.so.1"
_INSTALL: Final = "the operator must install the driver's user-space libraries of exactly this version"


@dataclass(frozen=True, slots=True)
class DriverRoot(DriverNodes):
    """The ``DriverFiles`` of a driver installed below ``root``.

    Shape: ``library_dirs`` are absolute paths below ``root``, the preferred ones first.
    """

    library_dirs: tuple[str, ...] = LIBRARY_DIRS

    @classmethod
    def installed(cls, driver_root: Path, host_root: Path) -> Self:
        """Return the files of a driver at ``driver_root`` of the host that is mounted at ``host_root``.

        Device nodes are the host's, unless the driver has its own; a driver container may create these later.
        """
        return cls(host_root / driver_root.relative_to("/"), host_root=host_root)

    def management_library(self) -> Path | None:
        """Return the path of NVML's library, None if it does not exist (yet)."""
        return self._library(_MANAGEMENT)

    def fabric_library(self) -> Path | None:
        """Return the path of the fabric manager's library, None if it does not exist (yet)."""
        return self._library(_FABRIC)

    def fabric_roots(self) -> tuple[Path, ...]:
        """Return the folders below which the fabric manager may be installed: the driver's, the host's."""
        return (self.root,) if self.host_root is None else (self.root, self.host_root)

    def libraries(self, driver_version: str) -> tuple[HostFile, ...]:
        """Return the driver's libraries of this version under all their names, its tools, and what graphics
        programs read.

        A program loads ``libcuda.so.1``; because the file is mounted under that name too, in the folders of
        every family of images, no hook has to create links or a loader's cache in the container.
        Shape: by path in the container, each once. Raises: NotFound if no library has this version.
        """
        found: dict[str, HostFile] = {}
        for file in libraries.libraries(self.root, self._folders(self.library_dirs), driver_version):
            found.setdefault(file.path, file)
        if not any(file.host_path.name.endswith(f".so.{driver_version}") for file in found.values()):
            looked = ", ".join(self.library_dirs)
            reason = f"no library of that version in {looked} below {self.root}"
            raise NotFound("find libraries", f"driver {driver_version}", reason, _INSTALL)
        others = (*self._tools(), *configs.configs(self.root))
        return tuple(sorted((*found.values(), *others), key=lambda file: file.path))

    def sockets(self) -> tuple[HostFile, ...]:
        """Return the sockets of the driver's services that run now, by path in the container."""
        return tuple(configs.sockets(self.fabric_roots()))

    def tool(self, name: str) -> Path | None:
        """Return one of the driver's programs, None where it does not exist (yet)."""
        places = (self._below(folder) / name for folder in _TOOL_DIRS)
        return next((place for place in places if attributes.exists(place)), None)

    @property
    def library_path(self) -> str:
        """Return where the loader finds the libraries of a driver outside its own folders, as the host says.

        Shape: folders with colons between them, empty for a driver that is installed in the host itself.
        """
        if self.host_root is None or self.root == self.host_root:
            return ""
        inside = Path("/") / self.root.relative_to(self.host_root)
        return ":".join(f"{inside}{folder}" for folder in self._folders(self.library_dirs))

    def _library(self, name: str) -> Path | None:
        places = (self._below(folder) / name for folder in self.library_dirs)
        return next((place for place in places if attributes.exists(place)), None)

    def _folders(self, paths: tuple[str, ...]) -> Iterator[str]:
        """Yield the existing folders, each once: ``/lib64`` may be a link to ``/usr/lib64``."""
        seen: set[Path] = set()
        for path in paths:
            real = attributes.resolved(self._below(path))
            if real not in seen and attributes.is_folder(real):
                seen.add(real)
                yield path

    def _tools(self) -> Iterator[HostFile]:
        folders = tuple(self._folders(_TOOL_DIRS))
        for tool in _TOOLS:
            places = (os.path.join(folder, tool) for folder in folders)
            place = next((path for path in places if attributes.exists(self._below(path))), None)
            if place:
                yield HostFile(place, self._below(place))
