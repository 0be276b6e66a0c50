"""The plugin as a program: reads the options, opens the machine, serves until a signal comes.

Exit status: 0 after a signal, also where a call that hangs is cut off; 1 if it could not start on this node;
2 for wrong options (one message on standard error, nothing made). ``release``, ``clean``, ``status`` or
``log-level`` as the first argument does that and ends.
"""

from __future__ import annotations

import argparse
import gc
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import daemon.early_end  # noqa: F401 - first, since what follows takes long to load
from agent.hardware import machine_options
from agent.hardware.errors import HardwareError
from agent.hardware.open import ChosenMachine, SimulationError
from agent.hardware.ports import Machine
from agent.inventory.fabric.imex import read_imex_channels
from agent.inventory.options.mode_option import read_gpu_modes
from agent.inventory.options.split_option import read_split_gpus
from agent.inventory.table_files import BadTable, read_table
from agent.inventory.vfs.option import read_vf_rules
from agent.policy.applied import log_of
from agent.policy.files import BadPolicy
from agent.policy.option import replaced_options
from agent.policy.start import begin_policy, forget_without_policy
from daemon.command_line import DONE, FAILED, WRONG_OPTIONS, InvalidOption, refuse, require
from daemon.end_within import EndWithin
from daemon.huge_pages import put_heap_into_huge_pages
from daemon.logs import FollowedLog, LogOptions, log_to_standard_error
from daemon.oldest_server import OldestServer
from daemon.signals import EndSignal
from daemon.status.commands import COMMANDS, run_control
from daemon.status.last_errors import LastErrors
from daemon.status.on_signal import log_on_signal
from plugin.answering import Where, answered
from plugin.api import ClusterClaims, NoApiServer, metrics_review
from plugin.arguments import CLEAN, RELEASE, clean_parser, parser, release_parser
from plugin.assembly import assemble
from plugin.base.errors import NotQuarantined, PluginError
from plugin.base.folders import made, open_to_agent, refuse_unwritable
from plugin.base.in_flight import CallsInFlight
from plugin.base.metrics import Metrics
from plugin.cdi.folder import CdiFolder
from plugin.claim.claim_directory import ClaimDirectory
from plugin.claim.driver import Driver
from plugin.claim.modes.node_labels import RememberedLabels
from plugin.claim.reconciling.claim_health import LOOK_S
from plugin.claim.record_store import RecordStore
from plugin.claim.repeated import repeated
from plugin.clean.run import run_clean
from plugin.kubelet.server import refuse_unusable, start
from plugin.options import Options
from plugin.release import run_release
from plugin.telling.deferred_log import DeferLines
from plugin.telling.reports import Reports
from plugin.telling.state import KNOWN, PluginState

_PROGRAM: Final = "tangram plugin"
PROBE_SOCKET: Final = Path("/run/probed/plugin.sock")
"""Where the manifests have it."""
_MACHINE_MODE: Final = 0o777
_LONGER: Final = 1.25
_NO_NODE: Final = "unnamed"  # what is on the node is removed under whatever name
_log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT and return the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["release"]:
        return _release(given[1:])
    if given[:1] == ["clean"]:
        return _clean(given[1:])
    if given and given[0] in COMMANDS:
        return run_control("plugin", KNOWN, PROBE_SOCKET, given)
    try:
        arguments = parser().parse_args(given)
    except SystemExit as end:  # argparse has printed the help, or what is wrong
        return int(end.code or DONE)
    try:
        chosen = ChosenMachine.of(machine_options.read_options(arguments))
        node_name = arguments.node_name or chosen.node_name or socket.gethostname().lower()
        log_options = LogOptions.of(arguments)
        handler = log_to_standard_error(log_options, node_name)
        handler.addFilter(DeferLines(handler))
        log = FollowedLog(handler, log_options, node_name)
        options = _options(arguments, chosen, node_name)
        where = Where.of(arguments, metrics_review)
        begin_policy(options.policy, options.replaced, options.effect_file)
        forget_without_policy(options.policy, options.effect_file)
        cluster = None if arguments.claims else ClusterClaims.connect(arguments.kubeconfig, options)
    except (BadPolicy, BadTable, InvalidOption, NoApiServer, SimulationError, OSError) as error:
        return refuse(_PROGRAM, error, WRONG_OPTIONS)
    try:
        _serve(chosen, options, cluster, arguments.claims, where, log=log)
    except SimulationError as error:
        return refuse(_PROGRAM, error, WRONG_OPTIONS)
    except (PluginError, HardwareError, OSError) as error:
        return refuse(_PROGRAM, error, FAILED)
    return DONE


def _release(given: Sequence[str]) -> int:
    """End the quarantine of a claim, or list those in quarantine, and return the exit status."""
    try:
        arguments = release_parser().parse_args(given)
    except SystemExit as end:
        return int(end.code or DONE)
    log_to_standard_error()
    try:
        chosen = ChosenMachine.of(machine_options.read_options(arguments))
        options = Options(
            driver_name=arguments.driver_name,
            node_name=chosen.node_name or socket.gethostname().lower(),
            kubelet_dir=arguments.kubelet_dir.absolute(),
            cdi_dir=arguments.cdi_dir.absolute(),
            host_root=chosen.options.host_root,
            modes=read_gpu_modes(arguments.gpu_modes),
        )
        return run_release(arguments.uid, options, chosen.opened, sys.stdout.write, as_json=arguments.json)
    except (InvalidOption, NotQuarantined, SimulationError) as error:
        return refuse(RELEASE, error, WRONG_OPTIONS)
    except (PluginError, HardwareError) as error:
        return refuse(RELEASE, error, FAILED)


def _clean(given: Sequence[str]) -> int:
    """Remove what Tangram keeps on this node, and return the exit status."""
    try:
        arguments = clean_parser().parse_args(given)
    except SystemExit as end:
        return int(end.code or DONE)
    try:
        options = Options(
            driver_name=arguments.driver_name,
            node_name=_NO_NODE,
            kubelet_dir=arguments.kubelet_dir.absolute(),
            cdi_dir=arguments.cdi_dir.absolute(),
            machine_dir=arguments.machine and arguments.machine.absolute(),
        )
        run_clean(options, arguments.run_dir.absolute(), sys.stdout.write, as_json=arguments.json)
    except InvalidOption as error:
        return refuse(CLEAN, error, WRONG_OPTIONS)
    except PluginError as error:
        return refuse(CLEAN, error, FAILED)
    return DONE


def _options(arguments: argparse.Namespace, chosen: ChosenMachine, node_name: str) -> Options:
    is_usable = arguments.claims is None or arguments.claims.is_dir()
    require(is_usable, "--claims", arguments.claims, "must be an existing folder")
    return Options(
        driver_name=arguments.driver_name,
        node_name=node_name,
        kubelet_dir=arguments.kubelet_dir.absolute(),
        cdi_dir=arguments.cdi_dir.absolute(),
        pod_uid=arguments.pod_uid,
        host_root=chosen.options.host_root,
        linked=read_table(arguments.partitions, arguments.partition_policy),
        has_metadata=arguments.device_metadata,
        cdi_hook=arguments.nvidia_cdi_hook,
        grace_s=arguments.grace_period,
        modes=read_gpu_modes(arguments.gpu_modes),
        imex_channels=read_imex_channels(arguments.imex_channels),
        vfs=read_vf_rules(arguments.vfs),
        split=read_split_gpus(arguments.compute_instances),
        machine_dir=chosen.options.folder,
        policy=arguments.policy,
        replaced=replaced_options(arguments),
    )


def _serve(
    chosen: ChosenMachine,
    options: Options,
    cluster: ClusterClaims | None,
    claims: Path,
    where: Where,
    *,
    log: FollowedLog,
) -> None:
    """Serve until a signal comes. Shape: ``claims`` a folder of claims, used where there is no cluster."""
    ended, calls, metrics = EndSignal(), CallsInFlight(time.monotonic), Metrics()
    errors = LastErrors.kept_from_now_on()
    unwritten: Callable[[], int] = int
    last_resort = EndWithin(options.grace_s * _LONGER, lambda: _tell_cut_off(calls))
    with last_resort, ExitStack() as opened:
        with _machine_folder(options, chosen.options.folder):
            machine = opened.enter_context(chosen.opened())
            driver = _assembled(machine, options, cluster, calls, metrics)
            driver.policy.heard_by(lambda effect: log.follow(log_of(effect)))
            if cluster is None:
                running = start(driver, ClaimDirectory(claims), options)
            else:
                reports = opened.enter_context(closing(_reports(cluster, options, driver)))
                opened.callback(cluster.close)
                running = start(driver, cluster, options, reports, finder=cluster)
                unwritten = reports.unwritten
                reports.begin()
                opened.enter_context(_health_told(driver, reports, options))
                threading.Thread(target=cluster.warm_up, name="warm-up", daemon=True).start()
                measure = partial(metrics.set, "server_unsupported")
                OldestServer(cluster.refusal, measure, time.sleep).begin()
        state = _state(driver, options, calls, errors, chosen, unwritten=unwritten)
        log_on_signal(state.status)
        answers = answered(where, options.dra_socket, driver, calls, state.status)
        with running, answers, closing(driver.vf_keeping) as keeping:
            keeping.begin(cluster.warn_of_node if cluster is not None else _told_in_the_log)
            _settle_startup_objects()
            ended.wait()


def _assembled(
    machine: Machine, options: Options, cluster: ClusterClaims | None, calls: CallsInFlight, metrics: Metrics
) -> Driver:
    return assemble(
        machine,
        options,
        clock=time.monotonic,
        sleep=time.sleep,
        calls=calls,
        published=_no_slices if cluster is None else cluster.published,
        metrics=metrics,
    )


def _health_told(driver: Driver, reports: Reports, options: Options) -> AbstractContextManager[None]:
    """Tell the users of claims what the agent hears of their devices, while a block runs."""
    for folder in options.folders_of_agent:
        open_to_agent(folder)
    look = partial(driver.claim_health.look, reports.unhealthy)
    return repeated("health of claims", LOOK_S, look)


@contextmanager
def _machine_folder(options: Options, folder: Path | None) -> Iterator[None]:
    """Make a simulated machine's folder, once all others are known to be usable; remove it on failure."""
    folders = () if folder is None else (folder,)
    refuse_unwritable(folders)
    refuse_unusable(options)
    with made(folders, _MACHINE_MODE, with_content=True):
        yield


def _reports(cluster: ClusterClaims, options: Options, driver: Driver) -> Reports:
    """Return the writer of claim statuses, first of all recorded claims; the policy asks the cluster, too."""
    driver.policy.ask(RememberedLabels(cluster.labels, time.monotonic), cluster.warn_of_node)
    store = _store(options)
    missing = driver.sight.missing.of
    reports = Reports(
        store,
        cluster,
        cluster,
        time.monotonic,
        time.time,
        missing=missing,
        unhealthy=driver.claim_health.of,
    )
    reports.all_again()
    return reports


def _state(
    driver: Driver,
    options: Options,
    calls: CallsInFlight,
    errors: LastErrors,
    chosen: ChosenMachine,
    *,
    unwritten: Callable[[], int],
) -> PluginState:
    return PluginState(
        driver=driver,
        store=_store(options),
        calls=calls,
        errors=errors,
        clock=time.monotonic,
        wall=time.time,
        began_at=time.monotonic(),
        unwritten=unwritten,
        hung=chosen.hung.all,
    )


def _store(options: Options) -> RecordStore:
    return RecordStore(options.claims_dir, CdiFolder(options.cdi_dir, options.driver_name))


def _no_slices() -> tuple[Mapping[str, Any], ...]:
    """Return nothing: without an API server nothing is published."""
    return ()


def _told_in_the_log(_reason: str, _text: str) -> None:
    """Do nothing more where there is no API server."""


def _tell_cut_off(calls: CallsInFlight) -> None:
    hanging = "; ".join(str(call) for call in calls.all()) or "a thread does not end"
    _log.error("the plugin ends before its work does: %s; its next start goes on", hanging)


def _settle_startup_objects() -> None:
    """Keep what is loaded at hand, and from the collector, which takes tens of milliseconds of a call."""
    gc.collect()
    gc.freeze()
    put_heap_into_huge_pages()


if __name__ == "__main__":
    sys.exit(main())
