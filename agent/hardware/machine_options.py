"""The options that say which machine a program works on: this one, or a simulated one.

Takes a command line; returns a checked value. Nothing is opened or read here.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path

from daemon.command_line import require


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """Which machine a program works on.

    Shape: ``simulated`` (the name of a shipped node, or a node file) and ``folder`` (where that machine
           lives) both or neither. For this machine: ``host_root`` is where the host's files are mounted
           here, ``driver_root`` where the driver is installed, as the host names it; both absolute.
    Raises: InvalidOption.
    """

    simulated: str | None = None
    folder: Path | None = None
    host_root: Path = Path("/")
    driver_root: Path = Path("/")

    def __post_init__(self) -> None:
        both_or_neither = (self.simulated is None) == (self.folder is None)
        require(both_or_neither, "--simulated and --machine", None, "each needs the other")
        require(self.host_root.is_absolute(), "--host-root", self.host_root, "must be absolute")
        require(self.driver_root.is_absolute(), "--driver-root", self.driver_root, "must be absolute")


def add_options(parser: ArgumentParser, *, is_made: bool = True) -> None:
    """Add ``--simulated``, ``--machine``, ``--host-root`` and ``--driver-root``.

    Shape: ``is_made`` whether the program makes a simulated machine that is missing.
    """
    add, made = parser.add_argument, ", made if missing" if is_made else ""
    add("--simulated", metavar="NODE", help="a shipped machine or a node file instead of this machine")
    add(
        "--machine",
        type=Path,
        metavar="DIR",
        help=f"folder of the simulated machine{made}; in a pod: mounted at its own path",
    )
    host_root = "where the host's file system is mounted here; default: %(default)s"
    add("--host-root", type=Path, default=Path("/"), metavar="DIR", help=host_root)
    driver_root = "where the driver is installed, as the host names it; default: %(default)s"
    add("--driver-root", type=Path, default=Path("/"), metavar="DIR", help=driver_root)


def read_options(given: Namespace) -> MachineOptions:
    """Return what a parsed command line says of the machine. Raises: InvalidOption."""
    return MachineOptions(
        simulated=given.simulated,
        folder=given.machine,
        host_root=given.host_root.absolute(),
        driver_root=given.driver_root,
    )
