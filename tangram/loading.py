"""Loads what a command needs when it needs it: a subcommand, the machines, the API client, a program.

Loading everything takes most of a second, and no subcommand uses half of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scheduler_core.base.errors import CoreError
from tangram.errors import BadInput, NoAnswer

if TYPE_CHECKING:
    from agent.hardware.ports import Machine
    from controller.api import Cluster as FollowedCluster
    from plugin.kubelet.server import Running
    from plugin.options import Options
    from tangram.clusters import ConnectedCluster
    from tangram.doctor.ports import MendableCluster
    from tangram.face import Face, Subparsers
    from tangram.live_cluster import LiveCluster


SUBCOMMANDS: Final = frozenset(
    (
        "allocate",
        "bench",
        "classes",
        "completion",
        "conformance",
        "demo",
        "doctor",
        "explain",
        "migrate",
        "node",
        "pending",
        "plan",
        "policy",
        "report",
        "serve",
        "show",
        "simulate",
        "top",
        "validate",
    )
)
_ELSEWHERE: Final = {
    "migrate": "tangram.migration.command",
    "report": "tangram.page.report",
    "serve": "tangram.page.serve",
}
"""Where subcommands are that have a folder of their own."""


def subcommand(name: str) -> Callable[[Subparsers], None] | None:
    """Return what adds a subcommand with its options to the parser; None where there is none of the name."""
    if name not in SUBCOMMANDS:
        return None
    add: Callable[[Subparsers], None] = import_module(_ELSEWHERE.get(name, f"tangram.commands.{name}")).add
    return add


def program(name: str) -> Callable[[Sequence[str]], int] | None:
    """Return the main function of a long-running program; None for any other name."""
    match name:
        case "agent":
            from agent.__main__ import main
        case "plugin":
            from plugin.__main__ import main
        case "controller":
            from controller.__main__ import main
        case _:
            return None
    return main


def serve(machine: Machine, options: Options, claims: Path) -> Running:
    """Start the kubelet plugin on a machine, with claims from a folder."""
    from plugin.assembly import assemble
    from plugin.claim.claim_directory import ClaimDirectory
    from plugin.kubelet.server import start

    driver = assemble(machine, options, clock=time.monotonic, sleep=time.sleep)
    return start(driver, ClaimDirectory(claims), options)


def connect(kubeconfig: Path | None, context: str | None) -> ConnectedCluster:
    """Return the cluster of a kubeconfig; nothing is sent yet. Raises: BadInput."""
    from tangram.api import connect as connected

    return connected(kubeconfig, context)


def open_live(kubeconfig: Path | None, context: str | None) -> LiveCluster:
    """Return the cluster of a kubeconfig, for measuring it; nothing is sent yet. Raises: BadInput."""
    from tangram.api import open_live as opened

    return opened(kubeconfig, context)


def open_mendable(kubeconfig: Path | None, context: str | None) -> MendableCluster:
    """Return the cluster of a kubeconfig, for single changes; nothing is sent yet. Raises: BadInput."""
    from tangram.api import open_mendable as opened

    return opened(kubeconfig, context)


def open_followed(kubeconfig: Path | None, context: str | None, driver: str) -> FollowedCluster:
    """Return the cluster of a kubeconfig, for watching it; nothing is sent yet. Raises: BadInput."""
    from controller.api import Cluster, Unreachable

    try:
        return Cluster.connect(kubeconfig, context, driver)
    except Unreachable as error:
        raise BadInput(str(error)) from error


def face(form: str) -> Face:
    """Return the surroundings of a subcommand that prints in this form."""
    from tangram.face import Face
    from tangram.hardware import AllMachines
    from tangram.program.output import Form, Output

    return Face(AllMachines(), Output(Form(form)), serve, connect, open_live, open_mendable)


def is_expected(error: Exception) -> bool:
    """Whether an error is one that a user can cause, so that its text is the answer."""
    if isinstance(error, BadInput | CoreError | NoAnswer | OSError):
        return True
    from agent.hardware.errors import HardwareError
    from agent.hardware.open import SimulationError
    from daemon.command_line import InvalidOption
    from plugin.base.errors import PluginError

    return isinstance(error, HardwareError | InvalidOption | PluginError | SimulationError)
