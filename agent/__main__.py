"""The agent as a program: reads the options, opens the machine, publishes until a signal comes.

Exit status: 0 after a signal, 1 if it could not start, 2 for wrong options (one message on standard error,
nothing made). ``status`` or ``log-level`` as the first argument asks a running agent and ends.
"""

from __future__ import annotations

import logging
import random
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Final

import daemon.early_end  # noqa: F401 - first, since what follows takes long to load
from agent.answering import serve
from agent.api import Cluster
from agent.assembly import numbering_of, publications_of
from agent.hardware.errors import GivenUp, HardwareError
from agent.hardware.open import ChosenMachine, Interruption, SimulationError
from agent.hardware.ports import Machine, Readers
from agent.hardware.reuse import ReuseUnchanged
from agent.health import state_file
from agent.health.rules import HealthRules
from agent.health.state import Facts
from agent.inventory import discover
from agent.inventory.foreign.finder import ForeignFinder
from agent.inventory.foreign.record_folder import RecordFolder
from agent.inventory.model import LinkedGpus
from agent.inventory.numbers.kept import ReadNumbers
from agent.inventory.numbers.number_file import NumberFile, folder_of
from agent.inventory.numbers.numbering import Numbering
from agent.inventory.table_files import BadTable, read_table
from agent.looks import Looks
from agent.once import remarks_of, slices_of, write
from agent.options import Options, read_options
from agent.policy.applied import log_of
from agent.policy.effect_file import Stored
from agent.policy.files import BadPolicy
from agent.policy.following import FollowedPolicy, PolicyEvents
from agent.policy.start import begin_policy
from agent.publishing.errors import ServerError
from agent.publishing.forms import Found
from agent.publishing.health.judge import HealthJudge
from agent.publishing.health.kept import HealthClocks, KeptHealth
from agent.publishing.health.watch import HealthSources, HealthWatch
from agent.publishing.loop import Agent
from agent.publishing.metrics import Metrics
from agent.publishing.ports import GpusOfPools, NodeEvents
from agent.publishing.publication import Clocks, Publication
from agent.publishing.telling.counting import CountedEvents, read_gpus
from agent.publishing.telling.foreign_instances import ForeignInstances
from agent.publishing.telling.health import HealthTold
from agent.publishing.telling.policy import PolicyTold
from agent.publishing.telling.unlisted import Unlisted
from agent.publishing.telling.unreadable import UnreadableDevices
from agent.publishing.telling.withholding import Withholding
from agent.state import KNOWN, AgentState
from daemon.command_line import DONE, FAILED, WRONG_OPTIONS, InvalidOption, refuse
from daemon.logs import FollowedLog, log_to_standard_error
from daemon.oldest_server import OldestServer
from daemon.signals import on_end
from daemon.status.commands import COMMANDS, run_control
from daemon.status.last_errors import LastErrors
from scheduler_core.base.errors import CannotProject

_PROGRAM: Final = "tangram agent"
_log = logging.getLogger("agent")
PROBE_SOCKET: Final = Path("/run/tangram/agent.sock")
"""Where the manifests have it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Publish until SIGTERM or SIGINT and return the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given and given[0] in COMMANDS:
        return run_control("agent", KNOWN, PROBE_SOCKET, given)
    try:
        options = read_options(given)
    except SystemExit as end:  # argparse has printed the help, or what is wrong
        return int(end.code or DONE)
    except InvalidOption as error:
        return refuse(_PROGRAM, error, WRONG_OPTIONS)
    log = FollowedLog(log_to_standard_error(options.log, options.node_name), options.log, options.node_name)
    errors = LastErrors.kept_from_now_on()
    try:
        begin_policy(options.policy, options.replaced, options.effect_file)
        linked = read_table(options.partitions, options.partition_policy)
        with ExitStack() as opened:
            if options.once is not None:
                _write_once(options, linked, options.once, opened)
            else:
                _run(options, linked, errors, opened, log)
    except (BadPolicy, BadTable, SimulationError) as error:
        return refuse(_PROGRAM, error, WRONG_OPTIONS)
    except (HardwareError, ServerError, CannotProject, OSError) as error:
        return refuse(_PROGRAM, error, FAILED)
    return DONE


def _run(
    options: Options, linked: LinkedGpus | None, errors: LastErrors, opened: ExitStack, log: FollowedLog
) -> None:
    chosen = ChosenMachine.of(options.machine)
    machine = opened.enter_context(chosen.opened())
    cluster = _connected(options, opened)
    metrics, clocks = Metrics(), Clocks(time.monotonic, time.time, random.random)
    node_events = _node_events(options, cluster, metrics, opened)
    gpus_of_pools = cluster.gpus_of_pools(options.driver_name, options.node_name)
    publications = publications_of(options, cluster, metrics, clocks, node_events)
    kept, watch = _health(options, machine, clocks, node_events, opened)
    agent = Agent(
        discover=_discovery(
            machine.readers.reusing(ReuseUnchanged(clocks.monotonic)),
            options,
            linked,
            gpus_of_pools,
            numbering_of(options, cluster, node_events),
            interruption=chosen.interruption,
            metrics=metrics,
            clock=clocks.monotonic,
            health=(kept, watch),
            hear_policy=_policy_heard(metrics, kept, log),
        ),
        publications=publications,
        node=cluster.own_node(options.node_name),
        gpus_of_pools=gpus_of_pools,
        machine_events=(*chosen.events(), *([PolicyEvents(options.effect_file)] if options.policy else [])),
        metrics=metrics,
        clocks=clocks,
        resync_s=options.resync_s,
        hear=_heard(metrics, node_events),
        judge=HealthJudge(kept, HealthTold(metrics, node_events).judged),
        threads=(watch.hear_events, watch.read, kept.keep_writing),
    )
    kept.changed = agent.health_changed
    server = _ended_server(cluster, metrics, agent, chosen)
    state = _state(options, agent, publications, errors, chosen, kept=kept)
    serve(options, metrics, (agent, server), state.status, opened)
    _publish(server, agent)


def _connected(options: Options, opened: ExitStack) -> Cluster:
    cluster = Cluster.connect(options.kubeconfig, options.context)
    opened.callback(cluster.close)
    return cluster


def _ended_server(cluster: Cluster, metrics: Metrics, agent: Agent, chosen: ChosenMachine) -> OldestServer:
    """Return who asks for the version of the server; it ends with the agent and all that waits."""
    server = OldestServer(cluster.refusal, partial(metrics.set, "server_unsupported"), time.sleep)
    on_end(lambda: _end(server, agent, chosen))
    return server


def _node_events(options: Options, cluster: Cluster, metrics: Metrics, opened: ExitStack) -> NodeEvents:
    written = opened.enter_context(closing(cluster.events_of(options.node_name)))
    return CountedEvents(written, metrics)


def _publish(server: OldestServer, agent: Agent) -> None:
    """Publish until the end, once the API server is known to be new enough."""
    server.begin()
    if server.passes():
        agent.run()


def _write_once(options: Options, linked: LinkedGpus | None, output: str, opened: ExitStack) -> None:
    """Read the machine once and write its slices; nothing on the node is changed."""
    chosen = ChosenMachine.of(options.machine)
    readers = opened.enter_context(chosen.opened()).readers
    on_end(chosen.interruption.come)
    folder = folder_of(options.kubelet_dir, options.driver_name, options.machine.folder)
    numbering = ReadNumbers(NumberFile(folder, options.node_name))
    records = RecordFolder.of(options.kubelet_dir, options.driver_name)
    policy = FollowedPolicy(options.effect_file, options.settings(linked))
    settings = policy.settings if options.policy else None
    looks = Looks(options, linked, dict, ForeignFinder(readers.gpus, records.read), settings=settings)
    read = discover(readers, options.node_name, numbering)
    if chosen.interruption.has_come:
        raise GivenUp("read the machine", "this node", "a signal came")
    found = looks.found(read)
    for remark in remarks_of(found.devices):
        _log.warning("%s", remark)
    write(slices_of(found, composite=options.composite), output, sys.stdout)


def _end(server: OldestServer, agent: Agent, chosen: ChosenMachine) -> None:
    server.stop()
    agent.stop()
    chosen.interruption.come()  # a discovery that waits for the driver ends, too


def _state(
    options: Options,
    agent: Agent,
    publications: Sequence[Publication],
    errors: LastErrors,
    chosen: ChosenMachine,
    *,
    kept: KeptHealth,
) -> AgentState:
    return AgentState(
        agent=agent,
        publications=publications,
        node=options.node_name,
        driver=options.driver_name,
        errors=errors,
        clock=time.monotonic,
        began_at=time.monotonic(),
        hung=chosen.hung.all,
        wall=time.time,
        kept=kept,
    )


def _hear_facts(kept: KeptHealth, watch: HealthWatch, facts: Facts) -> None:
    kept.look(facts)
    watch.hasten_nics()


def _health(
    options: Options, machine: Machine, clocks: Clocks, node_events: NodeEvents, opened: ExitStack
) -> tuple[KeptHealth, HealthWatch]:
    """Return what is known of the health of devices, also by an earlier process, and who hears of it."""
    folder = state_file.folder_of(options.kubelet_dir, options.driver_name, options.machine.folder)
    file = state_file.StateFile(folder, options.node_name)
    kept = KeptHealth(file, HealthRules(), HealthClocks(clocks.monotonic, clocks.wall), node_events.warn)
    kept.load(machine.boot.boot_id())
    opened.callback(kept.close)
    sources = HealthSources(machine.gpu_events, machine.readers.gpus, machine.readers.nics)
    return kept, HealthWatch(sources, kept)


def _heard(metrics: Metrics, node_events: NodeEvents) -> Callable[[Found], None]:
    """Return what tells people of devices that no claim can have."""
    withholding, unlisted = Withholding(metrics, node_events), Unlisted(metrics, node_events)
    unreadable, foreign = UnreadableDevices(metrics, node_events), ForeignInstances(metrics, node_events)

    def hear(found: Found) -> None:
        withholding.discovered(found)
        unlisted.discovered(found)
        unreadable.discovered(found.devices)
        foreign.discovered(found.in_the_way)

    return hear


def _policy_heard(metrics: Metrics, kept: KeptHealth, log: FollowedLog) -> Callable[[Stored], None]:
    """Return what follows the settings in effect that change no device."""
    told = PolicyTold(metrics)

    def hear(stored: Stored) -> None:
        told.heard(stored)
        kept.follow(stored.effect.settings.health or HealthRules())
        log.follow(log_of(stored.effect.settings))

    return hear


def _discovery(
    readers: Readers,
    options: Options,
    linked: LinkedGpus | None,
    gpus_of_pools: GpusOfPools,
    numbering: Numbering,
    *,
    interruption: Interruption,
    metrics: Metrics,
    clock: Callable[[], float],
    health: tuple[KeptHealth, HealthWatch],
    hear_policy: Callable[[Stored], None],
) -> Callable[[], Found]:
    records = RecordFolder.of(options.kubelet_dir, options.driver_name)
    foreign = ForeignFinder(readers.gpus, records.read)
    kept, watch = health
    policy = FollowedPolicy(options.effect_file, options.settings(linked), hear_policy)
    settings = policy.settings if options.policy else None
    pools, hear_facts = lambda: gpus_of_pools.pools or {}, partial(_hear_facts, kept, watch)
    looks = Looks(options, linked, pools, foreign, hear_facts, settings=settings)

    def found() -> Found:
        with metrics.timed("discovery_seconds", clock):
            return looked()

    def looked() -> Found:
        read = discover(readers, options.node_name, numbering)
        if interruption.has_come:  # what could not be read any more is not gone
            raise GivenUp("read the machine", "this node", "the program ends")
        read_gpus(metrics, read)
        return looks.found(read)

    return found


if __name__ == "__main__":
    sys.exit(main())
