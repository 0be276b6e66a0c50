"""One unix socket: opened only if no process serves it, removed only if it is still ours."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Final

import grpc

from plugin.base import files
from plugin.base.errors import PluginError, SocketTaken

_FOLDER_MODE: Final = 0o750
_log = logging.getLogger(__name__)


class Endpoint:
    """A socket that is served from now until ``close``, and made again if something removes it.

    Shape: ``make`` returns a server that has not started.
    Units: ``grace_s`` how many seconds calls may take to finish; the next plugin finishes what is cut off.
    Raises: SocketTaken, StorageFailed.
    """

    def __init__(self, make: Callable[[], grpc.Server], path: Path, grace_s: float = 20.0) -> None:
        self.path = path
        self._make = make
        self._grace_s = grace_s
        self._closing = Lock()  # a socket that is being closed must not be made again
        self._is_closed = False
        self._trouble = ""
        self._server = make()
        self._identity = _serve(self._server, path)

    def look_after(self) -> None:
        """Serve the socket again if it is gone: the kubelet would reach nothing until the next restart.

        One that another process serves is its own: during an update the next plugin takes the place.
        """
        with self._closing:
            if self._is_closed or _identity(self.path) == self._identity:
                return
            try:
                refuse_taken(self.path)
                files.make_folder(self.path.parent, _FOLDER_MODE)
                server = self._make()
                self._identity = _serve(server, self.path)
            except PluginError as error:
                if str(error) != self._trouble:
                    _log.error("%s was removed and cannot be served again: %s", self.path, error)
                self._trouble = str(error)
                return
            former, self._server, self._trouble = self._server, server, ""
        _log.warning("%s was removed; it is served again", self.path)
        former.stop(self._grace_s)  # calls over connections that are open finish

    def close(self) -> None:
        """Remove the socket if it is still ours, stop listening, let calls finish within the grace time."""
        with self._closing:
            self._is_closed = True
            if _identity(self.path) == self._identity:
                self.path.unlink(missing_ok=True)
        self._server.stop(self._grace_s).wait()


def _serve(server: grpc.Server, path: Path) -> tuple[int, int]:
    """Serve a socket at ``path`` and return its identity.

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
    return found.st_dev, found.st_ino


def refuse_taken(path: Path) -> None:
    """Remove a socket that no process serves, and move aside what is not a socket.

    Raises: SocketTaken if a process answers at ``path``; StorageFailed.
    """
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        files.move_aside(path)
        return
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
