"""Asks the plugin's sockets, folders and locks. Nothing is decided or changed here."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

from plugin.base import files
from plugin.base.locks import is_held
from plugin.kubelet import sockets
from plugin.kubelet.liveness import liveness_of
from plugin.machine.lock_target import GPU, LockTarget
from plugin.options import Options
from tangram.doctor.node.facts import ClaimFacts, Folder, HeldLock, PluginSocket, ServingFacts

_CONNECT_S = 2.0


def collect_serving(options: Options, claims: ClaimFacts, proc: Path = Path("/proc")) -> ServingFacts:
    """Ask what the plugin needs. A socket that does not answer takes 5 s. Raises: StorageFailed."""
    return ServingFacts(
        has_run=options.data_dir.is_dir(),
        data_dir=options.data_dir,
        lock_file=options.lock_file,
        folders=tuple(_folder(path) for path in options.folders),
        sockets=tuple(_sockets(options)),
        locks=tuple(_locks(options.lock_file, claims, proc)),
    )


def _folder(path: Path) -> Folder:
    if not path.is_dir():
        return Folder(path, "it is missing")
    if not os.access(path, os.W_OK | os.X_OK):
        return Folder(path, "it cannot be written")
    found = os.statvfs(path)
    return Folder(path, "", found.f_bavail * found.f_frsize, found.f_favail if found.f_files else None)


def _sockets(options: Options) -> Iterator[PluginSocket]:
    """Yield the sockets of all instances of the plugin, those without a listener left out."""
    for name in sorted(files.names(options.data_dir)) if options.data_dir.is_dir() else ():
        pod_uid, path = sockets.instance(name), options.data_dir / name
        if pod_uid is None or not _listens(path):
            continue
        announced = sockets.registration(options.registry_dir, options.driver_name, pod_uid or None)
        status, text = liveness_of(path)["/healthz"]()
        yield PluginSocket(path, _listens(announced), "" if status == 200 else text)


def _listens(path: Path) -> bool:
    """Whether a process accepts connections; one that is too busy to do so counts as one."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_CONNECT_S)
        try:
            asking.connect(os.fspath(path))
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            return False
        except OSError:
            return True
    return True


def _locks(lock_file: Path, claims: ClaimFacts, proc: Path) -> Iterator[HeldLock]:
    records = claims.census.holding
    targets: set[LockTarget] = {target for record in records for target in record.lock_targets}
    targets |= {LockTarget(GPU, uuid) for uuid in claims.census.told_uuids}
    named = (f"claim-{one}" for one in sorted({record.uid for record in records}))
    held = [
        name for name in ("start", *named, *(one.name for one in sorted(targets))) if is_held(lock_file, name)
    ]
    holders = tuple(_holders(lock_file, proc)) if held else ()
    yield from (HeldLock(name, holders) for name in held)


def _holders(path: Path, proc: Path) -> Iterator[str]:
    """Return the processes that have a file open, as far as this user may see them."""
    for process in sorted(proc.glob("[0-9]*"), key=lambda one: int(one.name)):
        try:
            is_open = any(_leads_to(one, path) for one in (process / "fd").iterdir())
            name = (process / "comm").read_text().strip()
        except OSError:
            continue  # it ended, or it is another user's
        if is_open:
            yield f"{name} ({process.name})"


def _leads_to(link: Path, path: Path) -> bool:
    try:
        return os.readlink(link) == str(path)
    except OSError:
        return False  # it was closed meanwhile
