"""The two sockets of a plugin, opened in the order the kubelet needs and closed the other way round.

A driver, a reader of claims and options enter; a running plugin leaves, to be used in a ``with`` block.
The kubelet may call as soon as the registration socket exists, so the DRA socket is served before it.
Nobody else's socket is ever removed.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
from plugin.kubelet import sockets
from plugin.kubelet.dra_service import DraV1, DraV1Beta1, Service
from plugin.kubelet.health_streams import POLL_S, HealthStreams
from plugin.kubelet.registration import RegistrationServicer
from plugin.options import Options
from plugin.telling.ports import ClaimReader, NoWitness, Witness

# Enough that calls which wait for one slow GPU never take the last thread from those for other GPUs.
_WORKERS: Final = 64
_REGISTRATION_WORKERS: Final = 2
# No measuring of a bandwidth: its pings go back and forth just while a call is begun.
_OPTIONS: Final = (("grpc.http2.bdp_probe", 0),)
# Calls may wait for another claim's hardware; whatever is cut off, the record lets the next plugin finish.
_GRACE_S: Final = 20.0
_FOLDER_MODE: Final = 0o750
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A served socket. Shape: ``identity`` is the device and inode of the socket that we made."""

    server: grpc.Server
    path: Path
    identity: tuple[int, int]

    def close(self) -> None:
        """Remove the socket if it is still ours, stop listening, let calls finish within the grace."""
        if _identity(self.path) == self.identity:
            self.path.unlink(missing_ok=True)
        self.server.stop(_GRACE_S).wait()


class Running:
    """A plugin that serves. Leaving its ``with`` block deregisters it and waits for calls to finish."""

    def __init__(self, dra: Endpoint, registration: Endpoint, streams: HealthStreams) -> None:
        self._dra = dra
        self._registration = registration
        self._streams = streams

    def stop(self) -> None:
        """Deregister first, so that the kubelet calls no server that is going away."""
        self._registration.close()
        self._streams.close()
        self._dra.close()
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
    options: Options,
    witness: Witness | None = None,
    *,
    wall_clock: Callable[[], float] = time.time,
    health_poll_s: float = POLL_S,
) -> Running:
    """Repair what is left of earlier runs, serve, then announce it.

    One plugin at a time starts on a node, whatever their versions: the others wait.
    Units: ``wall_clock`` seconds since 1970; ``health_poll_s`` how long a device's end may go unnoticed.
    Raises: PluginError, HardwareError; whatever was opened is then closed again, and folders that were
            missing are missing again.
    """
    refuse_unusable(options)
    with (
        folders.made((options.data_dir,), _FOLDER_MODE) as fresh,
        driver.starting(),
        _taken_back(options.lock_file, is_ours=options.data_dir in fresh),
        folders.made(options.folders, _FOLDER_MODE),
    ):
        refuse_taken(options.dra_socket)
        refuse_taken(options.registration_socket)
        _bury(options)
        driver.reconcile()
        streams = HealthStreams(driver.health, wall_clock, health_poll_s)
        return _served(Service(driver, claims, witness or NoWitness()), streams, options)


@contextmanager
def _taken_back(lock_file: Path, *, is_ours: bool) -> Iterator[None]:
    """Remove the lock file of a start that fails in a folder of its own.

    The start's lock is held: whoever else came to the folder waits for it and looks at the path again.
    """
    try:
        yield
    except BaseException:
        if is_ours:
            lock_file.unlink(missing_ok=True)
        raise


def refuse_unusable(options: Options) -> None:
    """Check that the folders can be written and that nobody serves our sockets; make nothing.

    Raises: StorageFailed, SocketTaken.
    """
    folders.refuse_unwritable(options.folders)
    refuse_taken(options.dra_socket)
    refuse_taken(options.registration_socket)


def _served(service: Service, streams: HealthStreams, options: Options) -> Running:
    dra = _serve(_dra_server(service, streams), options.dra_socket)
    try:
        registration = _serve(_registration_server(options), options.registration_socket)
    except PluginError:
        streams.close()
        dra.close()
        raise
    _log.info("driver %s serves %s", options.driver_name, options.dra_socket)
    return Running(dra, registration, streams)


def _bury(options: Options) -> None:
    """Remove the sockets of instances that died without doing it themselves."""
    for name in files.names(options.data_dir):
        pod_uid = sockets.instance(name)
        if pod_uid is None:
            continue
        registration = sockets.registration(options.registry_dir, options.driver_name, pod_uid or None)
        for path in (options.data_dir / name, registration):
            with suppress(SocketTaken):
                refuse_taken(path)


def refuse_taken(path: Path) -> None:
    """Make way for our socket: a stale one of ours goes, anything else stays.

    Raises: SocketTaken where a process answers there, or something stands there that is no socket.
    """
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise SocketTaken("serve", str(path), "it is there and is no socket", "the operator removes it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            reason = f"whether somebody serves it cannot be told: {error.strerror}"
            raise SocketTaken("serve", str(path), reason, "the operator looks who does") from error
    raise SocketTaken("serve", str(path), "another process serves it", "stop that plugin first")


def _dra_server(service: Service, streams: HealthStreams) -> grpc.Server:
    server = grpc.server(ThreadPoolExecutor(_WORKERS, thread_name_prefix="dra"), options=_OPTIONS)
    newest = DraV1(service)
    v1_grpc.add_DRAPluginServicer_to_server(newest, server)
    v1beta1_grpc.add_DRAPluginServicer_to_server(DraV1Beta1(newest), server)
    streams.add_to(server)
    return server


def _registration_server(options: Options) -> grpc.Server:
    server = grpc.server(ThreadPoolExecutor(_REGISTRATION_WORKERS, thread_name_prefix="registration"))
    registration_grpc.add_RegistrationServicer_to_server(RegistrationServicer(options), server)
    return server


def _serve(server: grpc.Server, path: Path) -> Endpoint:
    """Serve a socket at ``path``.

    It is made under a name of its own and moved into place: gRPC unlinks the name it was given when it
    stops, whoever has a socket there by then. The kubelet ignores names that begin with a dot.
    """
    private = path.with_name(f".{secrets.token_hex(4)}")  # in pods every process has the same id
    try:
        server.add_insecure_port(f"unix:{private}")
    except RuntimeError as error:
        raise SocketTaken("serve", str(path), str(error), "the operator checks the folder") from error
    server.start()
    try:
        files.move(private, path)
    except PluginError:
        server.stop(None).wait()
        raise
    found = path.lstat()
    return Endpoint(server, path, (found.st_dev, found.st_ino))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
