"""``tangram plugin clean``: removes what Tangram keeps on a node, once it is uninstalled.

In go the places of the plugin's files; out comes what was removed. It refuses while a plugin serves or a
claim has a record, and changes nothing then. Hardware is never touched.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from plugin.base import files
from plugin.base.errors import PluginError, StorageFailed
from plugin.cdi.folder import CdiFolder
from plugin.claim.record_store import RecordStore
from plugin.kubelet import sockets
from plugin.options import Options

Write = Callable[[str], object]
_PATIENCE_S: Final = 5.0
_REGISTRATION: Final = "*-reg.sock"


class StillUsed(PluginError):
    """What is on the node is still needed: a plugin serves, or a claim has devices."""


def run_clean(options: Options, run_folder: Path, write: Write, *, as_json: bool) -> None:
    """Remove the plugin's folders, its CDI documents, and a simulated machine; tell what was removed.

    Shape: ``run_folder`` is where MPS daemons had their sockets.

    Raises: StillUsed, and nothing was changed; StorageFailed.
    """
    subject = f"what driver {options.driver_name} keeps on this node"
    _refuse_served(options, subject)
    _refuse_recorded(options, subject)
    cdi = CdiFolder(options.cdi_dir, options.driver_name)
    machine = () if options.machine_dir is None else (options.machine_dir,)
    removed = [
        *(cdi.path(uid) for uid in sorted(cdi.claims()) if cdi.remove(uid)),
        *(
            path
            for path in (*_stale_sockets(options), run_folder, options.data_dir, *machine)
            if _removed(path)
        ),
    ]
    if as_json:
        write(msgspec.json.encode({"removed": [str(path) for path in removed]}).decode() + "\n")
        return
    for path in removed:
        write(f"removed {path}\n")
    if not removed:
        write("nothing of Tangram is on this node\n")


def _refuse_served(options: Options, subject: str) -> None:
    for name in files.names(options.data_dir):
        if sockets.instance(name) is not None and _answers(options.data_dir / name):
            remedy = "uninstall Tangram first, then repeat this"
            raise StillUsed("remove", subject, f"a plugin serves at {options.data_dir / name}", remedy)


def _refuse_recorded(options: Options, subject: str) -> None:
    store = RecordStore(options.claims_dir, CdiFolder(options.cdi_dir, options.driver_name))
    recorded = sorted(name for name in files.names(store.folder) if name.endswith(".json"))
    if recorded:
        reason = f"claims have devices: {', '.join(Path(name).stem for name in recorded[:3])}"
        remedy = (
            "install Tangram again, delete the pods that use these claims, uninstall it, then repeat this"
        )
        raise StillUsed("remove", subject, reason, remedy)


def _answers(path: Path) -> bool:
    """Whether somebody listens at a socket. What is no socket, or nobody's any more, does not answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE_S)
        try:
            connection.connect(str(path))
        except TimeoutError:
            return True
        except OSError:
            return False
        return True


def _stale_sockets(options: Options) -> Iterator[Path]:
    """Yield the registration sockets that plugins of this driver left when they were killed."""
    own = {sockets.registration(options.registry_dir, options.driver_name, None)}
    for name in files.names(options.data_dir):
        if uid := sockets.instance(name):
            own.add(sockets.registration(options.registry_dir, options.driver_name, uid))
    with suppress(OSError):
        yield from (path for path in sorted(options.registry_dir.glob(_REGISTRATION)) if path in own)


def _removed(path: Path) -> bool:
    """Remove a file, or a folder with its content; return whether there was one. Raises: StorageFailed.

    Where the folder is a mount, its content is removed.
    """
    try:
        if path.is_mount():
            return any([_removed(one) for one in path.iterdir()])
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageFailed("remove", str(path), error.strerror or str(error)) from error
    return True
