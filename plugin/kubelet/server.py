"""The two sockets of a plugin, opened in the order that the kubelet needs and closed in reverse.

Takes a driver, a reader of claims and paths; returns a running plugin, to be used in a ``with`` block. The
kubelet may call as soon as the registration socket exists, so the DRA socket is served before it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import grpc

from plugin._pb.dra_v1 import api_pb2_grpc as v1_grpc
from plugin._pb.dra_v1beta1 import api_pb2_grpc as v1beta1_grpc
from plugin._pb.pluginregistration_v1 import api_pb2_grpc as registration_grpc
from plugin.base import files, folders
from plugin.base.errors import PluginError, SocketTaken
from plugin.claim.driver import Driver
from plugin.claim.ports import ClaimFinder, ClaimReader
from plugin.claim.reconciling.looks import Looks
from plugin.claim.reconciling.quick_looks import QUICK_LOOK_S
from plugin.claim.repeated import repeated
from plugin.kubelet import sockets
from plugin.kubelet.dra_grpc import DraV1, DraV1Beta1
from plugin.kubelet.dra_service import Service
from plugin.kubelet.endpoint import Endpoint, refuse_taken
from plugin.kubelet.health_service import add_health
from plugin.kubelet.health_streams import POLL_S, HealthStreams
from plugin.kubelet.paths import PluginPaths
from plugin.kubelet.registration import RegistrationServicer
from plugin.runtime.hook_service import HookService
from plugin.telling.ports import ClaimObserver, NoObserver

# Enough that calls which wait for one slow GPU never take the last thread from those for other GPUs.
_WORKERS: Final = 64
_REGISTRATION_WORKERS: Final = 2
_DRA: Final = tuple(f"k8s.io.kubelet.pkg.apis.dra.{version}.DRAPlugin" for version in ("v1", "v1beta1"))
_REGISTRATION: Final = "pluginregistration.Registration"
# gRPC does not measure the bandwidth: its pings would go back and forth just when a call begins.
_OPTIONS: Final = (("grpc.http2.bdp_probe", 0),)
_FOLDER_MODE: Final = 0o750
_LOOK_S: Final = 5.0
_POLICY_S: Final = 2.0
_SOCKETS_S: Final = 2.0
_log = logging.getLogger(__name__)


class Running:
    """A plugin that serves. Leaving its ``with`` block deregisters it and lets calls finish for a while."""

    def __init__(
        self,
        dra: Endpoint,
        registration: Endpoint,
        streams: HealthStreams,
        hooks: HookService,
        care: AbstractContextManager[None],
    ) -> None:
        self._dra = dra
        self._registration = registration
        self._streams = streams
        self._hooks = hooks
        self._care = ExitStack()
        self._care.enter_context(care)
        self._care.enter_context(repeated("sockets", _SOCKETS_S, self.look_after_sockets))

    def look_after_sockets(self) -> None:
        """Serve removed sockets again; the registration's comes last, because the kubelet then calls."""
        self._dra.look_after()
        self._registration.look_after()

    def stop(self) -> None:
        """Deregister first, so that the kubelet calls no server that is going away."""
        self._registration.close()
        self._streams.close()
        self._dra.close()
        self._care.close()
        self._hooks.close()
        _log.info("stopped serving %s", self._dra.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(
    driver: Driver,
    claims: ClaimReader,
    paths: PluginPaths,
    observer: ClaimObserver | None = None,
    *,
    finder: ClaimFinder | None = None,
    wall_clock: Callable[[], float] = time.time,
    health_poll_s: float = POLL_S,
) -> Running:
    """Repair what earlier runs left, serve, then announce the plugin to the kubelet.

    One plugin at a time starts on a node, whatever their versions: the others wait.
    Shape: ``finder`` says what has become of claims, None where no API server does.
    Units: ``wall_clock`` seconds since 1970; ``health_poll_s`` how long a device's failure may go unnoticed.
    Raises: PluginError, HardwareError; whatever was opened is closed then, and new folders are removed.
    """
    refuse_unusable(paths)
    with (
        folders.made((paths.data_dir,), _FOLDER_MODE) as fresh,
        driver.starting(),
        _lock_file_removed_on_failure(paths.lock_file, is_ours=paths.data_dir in fresh),
        folders.made(paths.folders, _FOLDER_MODE),
        folders.made((paths.hook_dir,), _FOLDER_MODE, with_content=True),
    ):
        refuse_taken(paths.dra_socket)
        refuse_taken(paths.registration_socket)
        _remove_dead_sockets(paths)
        driver.reconcile()
        streams = HealthStreams(driver.health, wall_clock, health_poll_s)
        observer = observer or NoObserver()
        _tell_kept(driver, observer)
        hooks = HookService(driver, observer, paths)
        hooks.begin()
        try:
            care = _caring(driver, driver.looks(observer, finder))
            return _served(Service(driver, claims, observer), streams, hooks, paths, care)
        except BaseException:
            hooks.close()
            raise


def _tell_kept(driver: Driver, observer: ClaimObserver) -> None:
    for found in driver.quarantined():
        observer.kept(found)


@contextmanager
def _caring(driver: Driver, looks: Looks) -> Iterator[None]:
    """Look after claims, daemons and what is parked while the block runs, each on a thread of its own."""
    with (
        closing(driver.reconciling),
        repeated("MPS daemons", _LOOK_S, driver.care.look_after),
        repeated("parked claims", _LOOK_S, driver.parked.look_after),
        repeated("policy", _POLICY_S, driver.policy.look_after),
        repeated("instances of claims", QUICK_LOOK_S, driver.quick_looks(looks).look),
    ):
        driver.reconciling.begin(looks.look)
        yield


def refuse_unusable(paths: PluginPaths) -> None:
    """Check that the folders can be written and that no process serves our sockets; create nothing.

    Raises: StorageFailed, SocketTaken.
    """
    folders.refuse_unwritable(paths.folders)
    refuse_taken(paths.dra_socket)
    refuse_taken(paths.registration_socket)


@contextmanager
def _lock_file_removed_on_failure(lock_file: Path, *, is_ours: bool) -> Iterator[None]:
    """Remove the lock file of a start that fails in a folder of its own.

    The start's lock is held: another start that uses the folder waits for it and checks the path again.
    """
    try:
        yield
    except BaseException:
        if is_ours:
            lock_file.unlink(missing_ok=True)
        raise


def _remove_dead_sockets(paths: PluginPaths) -> None:
    """Remove the sockets of instances that died without doing it themselves."""
    for name in files.names(paths.data_dir):
        pod_uid = sockets.instance(name)
        if pod_uid is None:
            continue
        registration = sockets.registration(paths.registry_dir, paths.driver_name, pod_uid or None)
        for path in (paths.data_dir / name, registration):
            with suppress(SocketTaken):
                refuse_taken(path)


def _served(
    service: Service,
    streams: HealthStreams,
    hooks: HookService,
    paths: PluginPaths,
    care: AbstractContextManager[None],
) -> Running:
    dra = Endpoint(partial(_dra_server, service, streams), paths.dra_socket, paths.grace_s)
    try:
        registration = Endpoint(
            partial(_registration_server, paths), paths.registration_socket, paths.grace_s
        )
    except PluginError:
        streams.close()
        dra.close()
        raise
    _log.info("driver %s serves %s", paths.driver_name, paths.dra_socket)
    return Running(dra, registration, streams, hooks, care)


def _dra_server(service: Service, streams: HealthStreams) -> grpc.Server:
    server = grpc.server(ThreadPoolExecutor(_WORKERS, thread_name_prefix="dra"), options=_OPTIONS)
    newest = DraV1(service)
    v1_grpc.add_DRAPluginServicer_to_server(newest, server)
    v1beta1_grpc.add_DRAPluginServicer_to_server(DraV1Beta1(newest), server)
    streams.add_to(server)
    add_health(server, _DRA)
    return server


def _registration_server(paths: PluginPaths) -> grpc.Server:
    server = grpc.server(ThreadPoolExecutor(_REGISTRATION_WORKERS, thread_name_prefix="registration"))
    registration_grpc.add_RegistrationServicer_to_server(RegistrationServicer(paths), server)
    add_health(server, (_REGISTRATION,))
    return server
