"""The plugin as a program: options to adapters, then serve until a signal comes.

Exit status: 0 after a signal, 1 where the node does not let it start, 2 for wrong options (one message
on standard error, nothing made). The only place of the plugin that names adapters.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import logging
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import daemon.early_end  # noqa: F401 - first, since what follows takes long
from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import HardwareError
from agent.hardware.late import LateGpus
from agent.hardware.nvml import Nvml
from agent.hardware.ports import Machine
from agent.hardware.procfs import ProcBoot
from agent.hardware.simulated import NodeFile, SimulatedMachine, SimulationError, load_node
from agent.hardware.sysfs import Sysfs
from agent.inventory.table_files import BadTable, read_table
from kube_api import (
    RESOURCE_CLAIMS,
    ApiError,
    Conflict,
    EventWriter,
    Invalid,
    KubeApi,
    Limits,
    NotConfigured,
    NotFound,
    PatchKind,
    Regarding,
    Unavailable,
)
from plugin.arguments import parser
from plugin.assembly import assemble
from plugin.checkpoint import RecordStore
from plugin.claim_directory import ClaimDirectory
from plugin.errors import ClaimUnreadable, ClaimUnusable, InvalidOptions, PluginError, ReportFailed
from plugin.folders import made, refuse_unwritable
from plugin.late_lines import Late
from plugin.options import Options
from plugin.reports import Reports
from plugin.server import refuse_unusable, start
from scheduler_core.model.claim import ClaimRef, ClaimUid

_DONE: Final = 0
_FAILED: Final = 1
_WRONG_OPTIONS: Final = 2
_MACHINE_MODE: Final = 0o777
# The kubelet waits 45 s for a call and calls again by itself: better to tell it soon.
_LIMITS: Final = Limits(read_timeout_s=10.0, attempts=2, longest_delay_s=1.0, longest_retry_after_s=2.0)
_RETRIED: Final = "it is retried; if it stays, look at the API server and the network to it"
_MANAGER_SIZE: Final = 128  # characters; the API server refuses longer names of field managers
_log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT and return the exit status."""
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as end:  # argparse has printed help, or what is wrong
        return int(end.code or _DONE)
    _log_to_standard_error()
    try:
        node = _simulated_node(arguments)
        options = _options(arguments, node)
        api = None if arguments.claims else ClusterClaims.connect(arguments.kubeconfig, options)
    except (BadTable, InvalidOptions, SimulationError, NotConfigured, OSError) as error:
        return _refused(error, _WRONG_OPTIONS)
    try:
        return _serve(node, options, arguments, api)
    except SimulationError as error:
        return _refused(error, _WRONG_OPTIONS)
    except (PluginError, HardwareError) as error:
        return _refused(error, _FAILED)


def _log_to_standard_error() -> None:
    # What no line shows is not looked up for every line. Source: the logging HOWTO, "Optimization".
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(Late(handler))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _serve(
    node: NodeFile | None, options: Options, arguments: argparse.Namespace, api: ClusterClaims | None
) -> int:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as opened:
        with _place(options, arguments.machine):
            machine = opened.enter_context(_machine(node, arguments.machine, options))
            driver = assemble(machine, options, clock=time.monotonic, sleep=time.sleep)
            if api is None:
                running = start(driver, ClaimDirectory(arguments.claims), options)
            else:
                reports = opened.enter_context(closing(_reports(api, options)))
                opened.callback(api.events.close)
                running = start(driver, api, options, reports)
                reports.begin()
                threading.Thread(target=_greet, args=(api.api,), name="greeting", daemon=True).start()
        with running:
            _spare_what_stays()
            stop.wait()
    return _DONE


def _greet(api: KubeApi) -> None:
    """Connect early: the first claim finds an open connection, and the log says what is wrong with it."""
    try:
        _log.info("the API server is %s", api.server_version())
    except ApiError as error:
        _log.warning("the API server cannot be asked yet, claims will be read from it: %s", error)


def _spare_what_stays() -> None:
    """Keep the collector from walking through all modules, for tens of milliseconds, within some call."""
    gc.collect()
    gc.freeze()


@contextmanager
def _place(options: Options, machine: Path | None) -> Iterator[None]:
    """Make the machine's folder once all others are known to be of use; take it back on failure."""
    machines = () if machine is None else (machine,)
    refuse_unwritable(machines)
    refuse_unusable(options)
    with made(machines, _MACHINE_MODE, with_content=True):
        yield


def _reports(api: ClusterClaims, options: Options) -> Reports:
    """Return who tells the cluster of claims: at first of all that an earlier process knew."""
    reports = Reports(RecordStore(options.claims_dir), api, api, time.monotonic, time.time)
    reports.all_again()
    return reports


@contextmanager
def _machine(node: NodeFile | None, directory: Path, options: Options) -> Iterator[Machine]:
    if node is not None:
        simulated = SimulatedMachine.open(node, directory)
        root = simulated.root
        yield Machine(simulated.gpus, Sysfs(root), DriverRoot(root), ProcBoot(root))
        return
    files = DriverRoot.installed(options.driver_root, options.host_root)
    elsewhere = files.root != Path("/")
    gpus = LateGpus(lambda: Nvml.open(files.management_library() if elsewhere else None))
    try:
        yield Machine(gpus, Sysfs(options.host_root), files, ProcBoot())
    finally:
        gpus.close()


@dataclass(frozen=True, slots=True)
class ClusterClaims:
    """The API server, as the port of claims, of their status and of their events."""

    api: KubeApi
    events: EventWriter
    manager: str

    @classmethod
    def connect(cls, kubeconfig: Path | None, options: Options) -> ClusterClaims:
        """Find the API server; nothing is sent yet. Raises: NotConfigured."""
        component = f"{options.driver_name}/plugin"
        api = KubeApi.connect(
            kubeconfig,
            user_agent=component,
            clock=time.monotonic,
            sleep=time.sleep,
            random=random.random,
            limits=_LIMITS,
        )
        events = EventWriter(api, component, time.time, options.node_name)
        return cls(api, events, _manager(component, options.node_name))

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
        """Return a claim as it is now. Raises: ClaimUnusable, ClaimUnreadable, what ``meanwhile`` raises."""
        try:
            return self.api.get(RESOURCE_CLAIMS, ref.name, ref.namespace, meanwhile).document
        except NotFound as error:
            raise ClaimUnusable("read", f"claim {ref}", "the API server has no claim of that name") from error
        except Unavailable as error:
            raise ClaimUnreadable("read", f"claim {ref}", _reason(error), _RETRIED) from error
        except ApiError as error:
            raise ClaimUnreadable("read", f"claim {ref}", _reason(error), error.remedy) from error

    def set_devices(self, ref: ClaimRef, uid: ClaimUid, devices: Sequence[Mapping[str, Any]]) -> None:
        """Apply what ``status.devices`` says in this driver's name. Raises: ReportFailed."""
        # With the UID in it, a claim that took the name meanwhile is a conflict.
        body = {
            "metadata": {"namespace": ref.namespace, "name": ref.name, "uid": uid},
            "status": {"devices": list(devices)},
        }
        try:
            self.api.patch(
                RESOURCE_CLAIMS,
                ref.name,
                body,
                ref.namespace,
                kind=PatchKind.APPLY,
                field_manager=self.manager,
                force=True,
                subresource="status",
            )
        except (NotFound, Conflict):
            return
        except ApiError as error:
            if isinstance(error, Invalid) and not self._is_allocated(ref, devices):
                return  # a pod that was forced away: its claim was let go before its devices were undone
            retry = isinstance(error, Unavailable)
            subject = f"the devices of claim {ref} in its status"
            raise ReportFailed("write", subject, _reason(error), error.remedy, retry=retry) from error

    def _is_allocated(self, ref: ClaimRef, devices: Sequence[Mapping[str, Any]]) -> bool:
        """Whether a claim (still) has these devices; yes where nobody can tell."""
        try:
            status = self.api.get(RESOURCE_CLAIMS, ref.name, ref.namespace).document.get("status") or {}
        except NotFound:
            return False
        except ApiError:
            return True
        found = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
        names = {(one.get("driver"), one.get("pool"), one.get("device")) for one in found}
        return names >= {(one["driver"], one["pool"], one["device"]) for one in devices}

    def warn(self, ref: ClaimRef, uid: ClaimUid, reason: str, message: str) -> None:
        """Write an event on a claim, some time."""
        claim = Regarding(
            api_version="resource.k8s.io/v1",
            kind="ResourceClaim",
            name=ref.name,
            namespace=ref.namespace,
            uid=uid,
        )
        self.events.emit(claim, "Warning", reason, message, "Prepare")


def _manager(component: str, node: str) -> str:
    """Return a node's own field manager: what one node says late never takes away what another said."""
    name = f"{component}/{node}"
    if len(name) <= _MANAGER_SIZE:
        return name
    return f"{component}/{hashlib.sha256(node.encode()).hexdigest()[:32]}"


def _reason(error: ApiError) -> str:
    """Return why a call failed, without what our own message says already."""
    answer = f" ({error.status} {error.reason})" if error.status else ""
    return f"{error.message or type(error).__name__}{answer}"


def _simulated_node(arguments: argparse.Namespace) -> NodeFile | None:
    if (arguments.simulated is None) != (arguments.machine is None):
        raise InvalidOptions("use", "--simulated and --machine", "each needs the other")
    return None if arguments.simulated is None else load_node(arguments.simulated)


def _options(arguments: argparse.Namespace, node: NodeFile | None) -> Options:
    if arguments.claims is not None and not arguments.claims.is_dir():
        raise InvalidOptions("use", f"--claims {str(arguments.claims)!r}", "must be an existing folder")
    return Options(
        driver_name=arguments.driver_name,
        node_name=arguments.node_name or (node.name if node else socket.gethostname().lower()),
        kubelet_dir=arguments.kubelet_dir.absolute(),
        cdi_dir=arguments.cdi_dir.absolute(),
        pod_uid=arguments.pod_uid,
        host_root=arguments.host_root.absolute(),
        driver_root=arguments.driver_root,
        linked=read_table(arguments.partitions, arguments.partition_policy),
    )


def _refused(error: Exception, status: int) -> int:
    sys.stderr.write(f"tangram plugin: {' '.join(str(error).split())}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
