"""One unix socket: opened only if no process serves it, removed only if it is still ours."""

from __future__ import annotations

import os
import secrets
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

import grpc

from plugin.base import files
from plugin.base.errors import PluginError, SocketTaken


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A served socket.

    Shape: ``identity`` is the device and inode of the socket that we made.
    Units: ``grace_s`` how many seconds calls may take to finish; the next plugin finishes what is cut off.
    """

    server: grpc.Server
    path: Path
    identity: tuple[int, int]
    grace_s: float

    def close(self) -> None:
        """Remove the socket if it is still ours, stop listening, let calls finish within the grace time."""
        if _identity(self.path) == self.identity:
            self.path.unlink(missing_ok=True)
        self.server.stop(self.grace_s).wait()


def serve(server: grpc.Server, path: Path, grace_s: float = 20.0) -> Endpoint:
    """Serve a socket at ``path``.

    It is made under a name of its own and moved into place: when gRPC stops, it unlinks the name it was
    given, even if another process now has a socket there. The kubelet ignores names that begin with a dot.
    Raises: SocketTaken, StorageFailed.
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
    return Endpoint(server, path, (found.st_dev, found.st_ino), grace_s)


def refuse_taken(path: Path) -> None:
    """Remove a socket that no process serves; leave everything else unchanged.

    Raises: SocketTaken where a process answers at ``path``, or where it is no socket.
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
            reason = f"cannot determine whether a process serves it: {error.strerror}"
            raise SocketTaken("serve", str(path), reason, "the operator must find its process") from error
    raise SocketTaken("serve", str(path), "another process serves it", "stop that plugin first")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
