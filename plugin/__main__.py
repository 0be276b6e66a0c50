"""The plugin as a program: options to adapters, then serve until a signal comes.

Exit status: 0 after a signal, 1 where the node does not let it start, 2 for wrong options (one message
on standard error, nothing made). The only place of the plugin that names adapters.
"""

from __future__ import annotations

import argparse
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import HardwareError
from agent.hardware.nvml import Nvml
from agent.hardware.ports import Machine
from agent.hardware.procfs import ProcBoot
from agent.hardware.simulated import NodeFile, SimulatedMachine, SimulationError, load_node
from agent.hardware.sysfs import Sysfs
from plugin.arguments import parser
from plugin.assembly import assemble
from plugin.claim_directory import ClaimDirectory
from plugin.errors import InvalidOptions, PluginError
from plugin.folders import made, refuse_unwritable
from plugin.options import Options
from plugin.server import prepared_folders, start

_DONE: Final = 0
_FAILED: Final = 1
_WRONG_OPTIONS: Final = 2
_MACHINE_MODE: Final = 0o777


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT and return the exit status."""
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as end:  # argparse has printed help, or what is wrong
        return int(end.code or _DONE)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        node = _simulated_node(arguments)
        options = _options(arguments, node)
    except (InvalidOptions, SimulationError, OSError) as error:
        return _refused(error, _WRONG_OPTIONS)
    try:
        return _serve(node, options, arguments)
    except SimulationError as error:
        return _refused(error, _WRONG_OPTIONS)
    except (PluginError, HardwareError) as error:
        return _refused(error, _FAILED)


def _serve(node: NodeFile | None, options: Options, arguments: argparse.Namespace) -> int:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as opened:
        with _places(options, arguments.machine):
            machine = opened.enter_context(_machine(node, arguments.machine))
            driver = assemble(machine, options, clock=time.monotonic, sleep=time.sleep)
            running = start(driver, ClaimDirectory(arguments.claims), options)
        with running:
            stop.wait()
    return _DONE


@contextmanager
def _places(options: Options, machine: Path | None) -> Iterator[None]:
    """Make every folder, the machine's last, once all are known to be of use; take all back on failure."""
    machines = () if machine is None else (machine,)
    refuse_unwritable(machines)
    with prepared_folders(options), made(machines, _MACHINE_MODE, with_content=True):
        yield


@contextmanager
def _machine(node: NodeFile | None, directory: Path) -> Iterator[Machine]:
    if node is not None:
        simulated = SimulatedMachine.open(node, directory)
        root = simulated.root
        yield Machine(simulated.gpus, Sysfs(root), DriverRoot(root), ProcBoot(root))
        return
    with Nvml.open() as gpus:
        yield Machine(gpus, Sysfs(), DriverRoot(), ProcBoot())


def _simulated_node(arguments: argparse.Namespace) -> NodeFile | None:
    if (arguments.simulated is None) != (arguments.machine is None):
        raise InvalidOptions("use", "--simulated and --machine", "each needs the other")
    return None if arguments.simulated is None else load_node(arguments.simulated)


def _options(arguments: argparse.Namespace, node: NodeFile | None) -> Options:
    if arguments.claims is None:
        raise InvalidOptions("use", "no --claims", "the API server is not read yet")
    if not arguments.claims.is_dir():
        raise InvalidOptions("use", f"--claims {str(arguments.claims)!r}", "must be an existing folder")
    return Options(
        driver_name=arguments.driver_name,
        node_name=arguments.node_name or (node.name if node else socket.gethostname().lower()),
        kubelet_dir=arguments.kubelet_dir.absolute(),
        cdi_dir=arguments.cdi_dir.absolute(),
        pod_uid=arguments.pod_uid,
        host_root=arguments.host_root.absolute(),
        driver_root=arguments.driver_root,
    )


def _refused(error: Exception, status: int) -> int:
    sys.stderr.write(f"tangram plugin: {' '.join(str(error).split())}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
