"""The ``tangram`` command. Here, and nowhere else in the face, the adapters are named.

Exit status: 0 done, 1 it does not fit, 2 wrong input (one message on standard error, nothing changed).
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from threading import Event
from typing import Any, Final

from agent.__main__ import main as agent_main
from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import HardwareError
from agent.hardware.late import LateGpus
from agent.hardware.nvml import Nvml
from agent.hardware.ports import Machine, Readers
from agent.hardware.procfs import ProcBoot
from agent.hardware.simulated import SimulatedMachine, load_node, node_text, parse_fault, shipped_nodes
from agent.hardware.simulated.errors import SimulationError
from agent.hardware.sysfs import Sysfs
from kube_api import (
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Disconnected,
    KubeApi,
    KubeApiError,
    Limits,
    NotFound,
    Removed,
    Resource,
    Synced,
    Unreadable,
    Upserted,
)
from plugin.__main__ import main as plugin_main
from plugin.assembly import assemble
from plugin.claim_directory import ClaimDirectory
from plugin.errors import PluginError
from plugin.options import Options
from plugin.server import Running, start
from scheduler_core.base.errors import CoreError
from scheduler_core.codec import composite
from tangram.commands import allocate, bench, classes, conformance, demo, explain, node, show
from tangram.errors import BadInput, NoAnswer
from tangram.face import DONE, WRONG_INPUT, Face, Parser
from tangram.machines import NodeSummary
from tangram.output import ASCII_FORMS, Output
from tangram.throwaway import clean_end

_EXPECTED: Final = (BadInput, CoreError, HardwareError, NoAnswer, PluginError, SimulationError, OSError)
_INTERRUPTED: Final = 130
_COMPOSITES: Final = Resource.of(composite.API_VERSION, composite.KIND, "compositeresourceslices")
_DAEMON_SETS: Final = Resource.of("apps/v1", "DaemonSet", "daemonsets", namespaced=True)
_SHOWN: Final = (NODES, RESOURCE_SLICES, RESOURCE_CLAIMS, DEVICE_CLASSES, _COMPOSITES)
_MEASURED: Final = (NAMESPACES, PODS, RESOURCE_CLAIM_TEMPLATES, _DAEMON_SETS)
_RESOURCES: Final = {one.kind: one for one in (*_SHOWN, *_MEASURED)}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; never raises for what a user can get wrong."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["agent"]:
        return agent_main(arguments[1:])
    if arguments[:1] == ["plugin"]:
        return plugin_main(arguments[1:])
    try:
        return _run(arguments)
    except BrokenPipeError:
        _forget_output()
        return DONE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except _EXPECTED as error:
        _complain(_told(error))
        return WRONG_INPUT


def _run(arguments: Sequence[str]) -> int:
    if sys.stdout is None:
        raise BadInput("standard output is closed: there is nowhere to write the answer")
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal that cannot show a character must not end us
        sys.stdout.reconfigure(errors=ASCII_FORMS)
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as end:  # --help and --version have printed and are done
        return int(end.code or DONE)
    with clean_end():
        status: int = options.command(options, Face(AllMachines(), Output(), serve, connect, open_live))
    sys.stdout.flush()
    return status


def _parser() -> Parser:
    parser = Parser(
        prog="tangram",
        description="Cut and combine the accelerators and NICs of a node.",
        epilog="example:\n  tangram demo --node dgx-a100",
    )
    parser.add_argument("--version", action="version", version=f"tangram {version('tangram-dra')}")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (demo, show, allocate, conformance, explain, classes, bench, node):
        command.add(parsers)
    parsers.add_parser("agent", help="publish this node's devices: tangram agent --help")
    parsers.add_parser("plugin", help="run the kubelet plugin: tangram plugin --help")
    return parser


def _complain(told: str) -> None:
    if sys.stderr is not None:  # print would take standard output instead
        print(f"tangram: {told}", file=sys.stderr)


def _told(error: BaseException) -> str:
    """Return the one line that a user reads."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _forget_output() -> None:
    """Let the interpreter flush into nothing: the reader of our output has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def serve(machine: Machine, options: Options, claims: Path) -> Running:
    """Start the kubelet plugin on a machine, with claims from a folder."""
    driver = assemble(machine, options, clock=time.monotonic, sleep=time.sleep)
    return start(driver, ClaimDirectory(claims), options)


def connect(kubeconfig: Path | None, context: str | None) -> ReadCluster:
    """Return the cluster of a kubeconfig; nothing is asked yet. Raises: BadInput."""
    return ReadCluster(_api(kubeconfig, context, Limits()))


def open_live(kubeconfig: Path | None, context: str | None) -> ChangedCluster:
    """Return the cluster of a kubeconfig, to be measured without waiting for ourselves. Raises: BadInput."""
    return ChangedCluster(_api(kubeconfig, context, Limits(calls_per_s=2000, burst=2000)))


def _api(kubeconfig: Path | None, context: str | None, limits: Limits) -> KubeApi:
    with _refusals():
        return KubeApi.connect(
            kubeconfig,
            context,
            user_agent="tangram",
            clock=time.monotonic,
            sleep=time.sleep,
            random=random.random,
            limits=limits,
        )


@contextmanager
def _refusals() -> Iterator[None]:
    """Tell what an API server refuses as a user's mistake."""
    try:
        yield
    except KubeApiError as error:
        raise BadInput(str(error)) from error


class ReadCluster:
    """A cluster through its API server, to be read only."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        """Return the objects of a kind that a field selector lets through."""
        with _refusals():
            found = self._api.list(_RESOURCES[kind], field_selector=fields)
            for unreadable in found.unreadable:
                _complain(f"{kind} {unreadable}; it is left out")
            return tuple(one.document for one in found.items)

    def get(self, kind: str, name: str, namespace: str) -> Mapping[str, Any]:
        """Return one object."""
        with _refusals():
            return self._api.get(_RESOURCES[kind], name, namespace).document


class ChangedCluster(ReadCluster):
    """A cluster through its API server, whose objects are made, watched and deleted."""

    def create(self, kind: str, document: Mapping[str, Any], namespace: str = "") -> None:
        """Make an object."""
        with _refusals():
            self._api.create(_RESOURCES[kind], document, namespace or None)

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Ask for an object's end; one that is gone already is no failure."""
        with _refusals(), suppress(NotFound):
            self._api.delete(_RESOURCES[kind], name, namespace or None)

    def text(self, path: str) -> str:
        """Return what the server answers below a path."""
        with _refusals():
            return self._api.raw_get(path)

    def changes(
        self, kind: str, stop: Event, fields: str = "", namespace: str = ""
    ) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        """Yield each object's name and document now and after each change, None once it is gone."""
        for change in self._api.watch(_RESOURCES[kind], namespace or None, "", fields, stop=stop):
            match change:
                case Synced(items):
                    yield from ((one.metadata.name, one.document) for one in items)
                case Upserted(found) | Removed(found):
                    yield found.metadata.name, found.document if isinstance(change, Upserted) else None
                case Disconnected() | Unreadable():
                    continue  # the watch comes back by itself; whoever waits has a limit


class AllMachines:
    """Simulated machines, shipped and in directories, and the real one."""

    def shipped(self) -> tuple[NodeSummary, ...]:
        """Return the simulated machines that come with the package, by name."""
        return tuple(_summary(name) for name in shipped_nodes())

    def text(self, name: str) -> str:
        """Return the file of a shipped machine."""
        return node_text(name)

    def simulated(self, name: str, directory: Path) -> Simulated:
        """Make a machine from a shipped name or a node file, in an empty or its own directory."""
        return Simulated(SimulatedMachine.open(load_node(name), directory))

    def attached(self, directory: Path) -> Simulated:
        """Return the machine that lives in a directory."""
        return Simulated(SimulatedMachine.attach(directory))

    def real(self) -> Readers:
        """Return the machine that this process runs on, to be read only."""
        return Readers(LateGpus(Nvml.open), Sysfs(), ProcBoot())


class Simulated:
    """A simulated machine, seen through the real readers of sysfs, procfs and device nodes."""

    def __init__(self, simulated: SimulatedMachine) -> None:
        self._simulated = simulated
        self.name = simulated.node.name
        root = simulated.root
        self.machine = Machine(simulated.gpus, Sysfs(root), DriverRoot(root), ProcBoot(root))

    def inject(self, faults: Sequence[str]) -> None:
        """Add faults, all or none of them."""
        for fault in [parse_fault(text) for text in faults]:
            self._simulated.inject(fault)

    def faults(self) -> tuple[str, ...]:
        """Return the present faults in the form that ``inject`` takes."""
        return tuple(str(fault) for fault in self._simulated.faults())

    def clear_faults(self) -> None:
        """Take all faults away."""
        self._simulated.clear_faults()

    def reboot(self) -> str:
        """Reboot it and return the new boot id."""
        return self._simulated.reboot()


def _counts(names: Iterable[str]) -> str:
    """Return ``8 × connectx-6`` for eight of a kind."""
    return ", ".join(f"{count} × {name}" for name, count in Counter(names).items()) or "none"


def _summary(name: str) -> NodeSummary:
    file = load_node(name)
    has_mig = any(card.model.is_mig_capable for card in file.cards)
    return NodeSummary(
        name=name,
        gpus=_counts(card.model.product_name for card in file.cards),
        mig="yes" if has_mig else "no",
        nics=_counts(nic.model.name for nic in file.nics),
        topology=file.document.topology,
    )


if __name__ == "__main__":
    # Values of this module cross to the processes of tangram bench, which know it by its own name only.
    from tangram.__main__ import main as known_main

    sys.exit(known_main())
