"""Whether somebody uses what is on a node: plugins that serve, claims with records, MPS daemons, mounts.

Takes paths; tries sockets and reads files. Nothing is changed here. Where it cannot be told, somebody does.
"""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from agent.hardware.mps.ports import MpsFolders
from agent.hardware.mps.processes import running_process
from plugin.base import files
from plugin.cdi.folder import CdiFolder
from plugin.claim.record_store import RecordStore
from plugin.kubelet import sockets
from plugin.options import Options
from scheduler_core.model.claim import ClaimUid

_PATIENCE_S: Final = 5.0
_CLAIMS: Final = "claims"
_NOBODY: Final = {errno.ECONNREFUSED, errno.ENOENT, errno.ENOTDIR, errno.ENOTSOCK}
_SOCKETS_OF_DAEMON: Final = ("control", "control_privileged")
_MOUNT_POINT: Final = 4  # the field of a line. Source: proc_pid_mountinfo(5)
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


def serving(data_dir: Path) -> Path | None:
    """Return a socket at which a plugin serves, None without one. Raises: StorageFailed."""
    paths = (data_dir / name for name in files.names(data_dir) if sockets.instance(name) is not None)
    return next((path for path in paths if answers(path)), None)


def recorded(claims_dir: Path, cdi: CdiFolder) -> tuple[ClaimUid, ...]:
    """Return the claims that have or may have devices, those in quarantine too. Raises: StorageFailed."""
    census = RecordStore(claims_dir, cdi).census()
    records = (one.uid for one in census.records)
    quarantined = (one.uid for one in census.quarantined)
    return tuple(sorted({*records, *quarantined, *census.unfinished}))


def other_driver(options: Options) -> str | None:
    """Return the name of another driver of Tangram's that is in use on this node. Raises: StorageFailed."""
    plugins = options.data_dir.parent
    for name in files.names(plugins):
        folder = plugins / name
        if folder == options.data_dir or not (folder / _CLAIMS).is_dir():
            continue
        if serving(folder) or recorded(folder / _CLAIMS, CdiFolder(options.cdi_dir, name)):
            return name
    return None


def running_daemon(bases: Iterable[Path], proc: Path) -> Path | None:
    """Return the folder of an MPS daemon that runs, None without one. Raises: StorageFailed.

    Shape: ``bases`` have the daemons' folders. In a container ``proc`` may not show the host's processes, so
           a daemon that answers runs too.
    """
    for folder in (base / name for base in bases for name in files.names(base)):
        pipe = MpsFolders(folder).pipe
        if running_process(proc, pipe) or any(answers(pipe / name) for name in _SOCKETS_OF_DAEMON):
            return folder
    return None


def mounted_below(folders: Iterable[Path], proc: Path) -> Path | None:
    """Return a mount point inside of one of some folders, None without one. Raises: StorageFailed."""
    resolved = [folder.resolve() for folder in folders]
    return next((one for one in _mount_points(proc) if any(top in one.parents for top in resolved)), None)


def answers(path: Path) -> bool:
    """Whether somebody listens at a socket, or might: only what is surely nobody's does not answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE_S)
        try:
            connection.connect(str(path))
        except OSError as error:
            return error.errno not in _NOBODY
        return True


def _mount_points(proc: Path) -> Iterator[Path]:
    data = files.read(proc / "self/mountinfo") or b""
    for line in data.decode(errors="surrogateescape").splitlines():
        escaped = line.split(" ")[_MOUNT_POINT]
        yield Path(_ESCAPED.sub(lambda match: chr(int(match[1], 8)), escaped))
