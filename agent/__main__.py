"""The agent as a program: reads the options, opens the machine, publishes until a signal comes.

Exit status: 0 after a signal, 1 if it could not start, 2 for wrong options (one message on standard error,
nothing made).
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import daemon.early_end  # noqa: F401 - first, since what follows takes long to load
from agent.api import Cluster
from agent.hardware.errors import HardwareError
from agent.hardware.open import ChosenMachine, SimulationError
from agent.hardware.ports import Readers
from agent.inventory import discover
from agent.inventory.describer import Describer
from agent.inventory.model import LinkedGpus
from agent.inventory.table_files import BadTable, read_table
from agent.options import Options, read_options
from agent.publishing.errors import ServerError
from agent.publishing.forms import Found
from agent.publishing.links_seen import LinksSeen
from agent.publishing.loop import Agent
from agent.publishing.metrics import Metrics
from agent.publishing.ownership import Ownership
from agent.publishing.patience import Patience
from agent.publishing.ports import GpusOfPools, NodeEvents
from agent.publishing.publication import Clocks, Owner, Publication
from agent.publishing.sources import CompositeSource, V1Source
from agent.publishing.unreadable import UnreadableDevices
from agent.publishing.withholding import Withholding
from daemon.command_line import DONE, FAILED, WRONG_OPTIONS, InvalidOption, refuse
from daemon.logs import log_to_standard_error
from daemon.signals import on_end

_PROGRAM: Final = "tangram agent"
_UNREADY: Final = "nothing is published yet"


def main(argv: Sequence[str] | None = None) -> int:
    """Publish until SIGTERM or SIGINT and return the exit status."""
    try:
        options = read_options(argv)
    except SystemExit as end:  # argparse has printed the help, or what is wrong
        return int(end.code or DONE)
    except InvalidOption as error:
        return refuse(_PROGRAM, error, WRONG_OPTIONS)
    log_to_standard_error()
    try:
        linked = read_table(options.partitions, options.partition_policy)
        with ExitStack() as opened:
            _run(options, linked, opened)
    except (BadTable, SimulationError) as error:
        return refuse(_PROGRAM, error, WRONG_OPTIONS)
    except (HardwareError, ServerError, OSError) as error:
        return refuse(_PROGRAM, error, FAILED)
    return DONE


def _run(options: Options, linked: LinkedGpus | None, opened: ExitStack) -> None:
    chosen = ChosenMachine.of(options.machine)
    machine = opened.enter_context(chosen.opened())
    cluster = Cluster.connect(options.kubeconfig, options.context)
    opened.callback(cluster.close)
    metrics, clocks = Metrics(), Clocks(time.monotonic, time.time, random.random)
    node_events = cluster.events_of(options.node_name)
    opened.callback(node_events.close)
    gpus_of_pools = cluster.gpus_of_pools(options.driver_name, options.node_name)
    agent = Agent(
        discover=_discovery(machine.readers, options, linked, gpus_of_pools),
        publications=_publications(options, cluster, metrics, clocks, node_events),
        node=cluster.own_node(options.node_name),
        gpus_of_pools=gpus_of_pools,
        machine_events=(chosen.events(),),
        metrics=metrics,
        clocks=clocks,
        resync_s=options.resync_s,
        hear=_tellers(metrics, node_events),
    )
    on_end(agent.stop)
    _serve(options, metrics, agent, opened)
    agent.run()


def _discovery(
    readers: Readers, options: Options, linked: LinkedGpus | None, gpus_of_pools: GpusOfPools
) -> Callable[[], Found]:
    describer, seen, patience = Describer(options.driver_name), LinksSeen(), Patience()

    def found() -> Found:
        inventory = replace(
            seen.completed(patience.completed(discover(readers, options.node_name))),
            linked=linked,
            modes=options.modes,
            imex_channels=options.imex_channels,
            split=options.split,
            multus_resource=options.multus_resource,
            vfs=options.vfs,
            pools_of_gpus=gpus_of_pools.pools or {},
        )
        return Found.of(inventory, describer.devices(inventory))

    return found


def _tellers(metrics: Metrics, node_events: NodeEvents) -> Callable[[Found], None]:
    withholding, unreadable = Withholding(metrics, node_events), UnreadableDevices(metrics, node_events)

    def hear(found: Found) -> None:
        withholding.discovered(found)
        unreadable.discovered(found.devices)

    return hear


def _publications(
    options: Options, cluster: Cluster, metrics: Metrics, clocks: Clocks, node_events: NodeEvents
) -> list[Publication]:
    driver, node = options.driver_name, options.node_name
    owner = Owner(cluster.nodes(), node)
    store = cluster.resource_slices(driver, node)
    told = Ownership(node, metrics, node_events).stored
    found = [Publication(store, V1Source(metrics, node_events), owner, metrics, clocks, hear=told)]
    if options.composite:
        store = cluster.composite_slices(driver, node)
        found.append(Publication(store, CompositeSource(), owner, metrics, clocks))
    return found


def _serve(options: Options, metrics: Metrics, agent: Agent, opened: ExitStack) -> None:
    if options.metrics is None and options.probe_socket is None:
        return
    from daemon import status_server  # noqa: PLC0415 - only a program that serves loads a server

    answers = status_server.answers_of(metrics, agent.idle_s, lambda: agent.is_ready, _UNREADY)
    if options.metrics is not None:
        opened.enter_context(status_server.serving((options.metrics.host, options.metrics.port), answers))
    if options.probe_socket is not None:
        opened.enter_context(status_server.serving_probes(options.probe_socket, answers))


if __name__ == "__main__":
    sys.exit(main())
