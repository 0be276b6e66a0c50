"""``tangram plugin clean``: removes what Tangram keeps on a node, once it is uninstalled.

In go the places of the plugin's files; out comes what was removed and what was kept. It refuses while a
plugin serves or a claim has a record, and where anything is not Tangram's, and changes nothing then. Hardware
is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from plugin.base import files
from plugin.base.errors import PluginError
from plugin.cdi.folder import CdiFolder
from plugin.clean.in_use import mounted_below, other_driver, recorded, running_daemon, serving
from plugin.clean.own import NOTHING, Shared, refuse_foreign_data, shared
from plugin.clean.removal import removed, removed_if_empty
from plugin.kubelet import sockets
from plugin.options import Options

Write = Callable[[str], object]
_PROC: Final = Path("/proc")
_REGISTRATION: Final = "*-reg.sock"
_SHOWN: Final = 3


class StillUsed(PluginError):
    """What is on the node is still needed: a plugin serves, or a claim has devices."""


def run_clean(options: Options, run_folder: Path, write: Write, *, as_json: bool, proc: Path = _PROC) -> None:
    """Remove the plugin's folder, its CDI documents, and what drivers share; tell what was done.

    Shape: ``run_folder`` is where MPS daemons had their sockets. That folder and a simulated machine are
           kept where another driver of Tangram's is in use on this node.

    Raises: StillUsed, InvalidOption, and nothing was changed; StorageFailed.
    """
    subject = f"what driver {options.driver_name} keeps on this node"
    cdi = CdiFolder(options.cdi_dir, options.driver_name)
    refuse_foreign_data(options)
    with_others = shared(run_folder, options.machine_dir)
    _refuse_elsewhere(options, cdi, with_others, subject)
    _refuse_used(options, cdi, subject)
    other = other_driver(options)
    goes = NOTHING if other or not files.exists(options.data_dir) else with_others
    _refuse_running((*goes.trees, options.data_dir), goes.daemons, proc, subject)
    done = _remove(options, cdi, goes)
    _tell(done, with_others.all if other else (), other, write, as_json=as_json)


def _remove(options: Options, cdi: CdiFolder, goes: Shared) -> list[Path]:
    """Remove everything and return what there was. The plugin's folder goes last: it allows a repetition."""
    return [
        *(cdi.path(uid) for uid in sorted(cdi.claims()) if cdi.remove(uid)),
        *(path for path in tuple(_stale_sockets(options)) if files.remove(path)),
        *(path for path in goes.trees if removed(path)),
        *(path for path in goes.around if removed_if_empty(path)),
        *(path for path in (options.data_dir,) if removed(path)),
    ]


def _tell(
    done: list[Path], kept: tuple[Path, ...], other: str | None, write: Write, *, as_json: bool
) -> None:
    if as_json:
        value = {"removed": [str(path) for path in done], "kept": [str(path) for path in kept]}
        write(msgspec.json.encode(value).decode() + "\n")
        return
    for path in done:
        write(f"removed {path}\n")
    for path in kept:
        write(f"kept {path}: driver {other} is in use on this node\n")
    if not done and not kept:
        write("nothing of Tangram is on this node\n")


def _refuse_used(options: Options, cdi: CdiFolder, subject: str) -> None:
    socket = serving(options.data_dir)
    if socket is not None:
        remedy = "uninstall Tangram first, then repeat this"
        raise StillUsed("remove", subject, f"a plugin serves at {socket}", remedy)
    claims = recorded(options.claims_dir, cdi)
    if claims:
        reason = f"claims have devices: {', '.join(claims[:_SHOWN])}"
        remedy = (
            "install Tangram again, delete the pods that use these claims, uninstall it, then repeat this"
        )
        raise StillUsed("remove", subject, reason, remedy)


def _refuse_elsewhere(options: Options, cdi: CdiFolder, with_others: Shared, subject: str) -> None:
    """Refuse if the plugin's folder is missing but other files of Tangram exist: it may be elsewhere."""
    if files.exists(options.data_dir):
        return
    found = (*(cdi.path(uid) for uid in sorted(cdi.claims())), *with_others.trees)
    if found:
        reason = f"{found[0]} is there, but the plugin's folder {options.data_dir} is not"
        remedy = "give --kubelet-dir and --driver-name of the installation; else remove it by hand"
        raise StillUsed("remove", subject, reason, remedy)


def _refuse_running(trees: tuple[Path, ...], daemons: tuple[Path, ...], proc: Path, subject: str) -> None:
    daemon = running_daemon(daemons, proc)
    if daemon is not None:
        remedy = "end it, then repeat this"
        raise StillUsed("remove", subject, f"an MPS daemon runs in {daemon}", remedy)
    mount = mounted_below(trees, proc)
    if mount is not None:
        raise StillUsed("remove", subject, f"{mount} is mounted", "unmount it, then repeat this")


def _stale_sockets(options: Options) -> Iterator[Path]:
    """Yield the registration sockets that plugins of this driver left when they were killed."""
    own = {sockets.registration(options.registry_dir, options.driver_name, None)}
    for name in files.names(options.data_dir):
        if uid := sockets.instance(name):
            own.add(sockets.registration(options.registry_dir, options.driver_name, uid))
    with suppress(OSError):
        yield from (path for path in sorted(options.registry_dir.glob(_REGISTRATION)) if path in own)
