"""What on a node is Tangram's. A folder counts only if everything in it has a name that Tangram gives.

Takes folders; reads their names and the file of a simulated machine. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from agent.hardware.mps.ports import MpsFolders
from daemon.command_line import InvalidOption, require
from plugin.base import files
from plugin.base.errors import StorageFailed
from plugin.kubelet import sockets
from plugin.options import Options

MPS: Final = "mps"
_MACHINE: Final = "machine"
_MACHINE_FILE: Final = "machine.json"
_OF_MACHINE: Final = frozenset(
    {_MACHINE_FILE, f"{_MACHINE_FILE}.new", "lock", "rendered", "root", "clients", "gpu-numbers", "health"}
)


class _Machine(msgspec.Struct):
    """What the file of every simulated machine has."""

    source: str
    node: str
    gpus: dict[str, Any]


_MACHINES: Final = msgspec.json.Decoder(_Machine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The folders that installations with other names share.

    Shape: ``trees`` are removed with their content, ``around`` only where they are empty then; ``daemons``
           the folders of the folders of MPS daemons. Of all, those that exist.
    """

    trees: tuple[Path, ...]
    around: tuple[Path, ...]
    daemons: tuple[Path, ...]

    @property
    def all(self) -> tuple[Path, ...]:
        """Return the folders that may be removed."""
        return *self.trees, *self.around


NOTHING: Final = Shared(trees=(), around=(), daemons=())


def refuse_foreign_data(options: Options) -> None:
    """Refuse a plugin's folder that holds anything else. Raises: InvalidOption; StorageFailed."""
    own = {
        *(folder.name for folder in options.folders if folder.parent == options.data_dir),
        *(folder.name for folder in (options.gpu_numbers_dir, options.health_dir)),
        *(path.name for path in (options.metadata_dir, options.hook_dir, options.lock_file)),
    }

    def is_own(name: str) -> bool:
        return name in own or sockets.instance(name) is not None

    _refuse_foreign(options.data_dir, is_own, "--kubelet-dir and --driver-name", options.data_dir)


def shared(run_folder: Path, machine: Path | None) -> Shared:
    """Return which shared folders there are.

    Shape: ``run_folder`` has ``mps`` in it; ``machine`` is a simulated machine's folder, or has it as
           ``machine``. Raises: InvalidOption for a folder that holds anything else; StorageFailed.
    """
    mps = run_folder / MPS
    _refuse_foreign(mps, lambda name: _is_of_daemon(mps / name), "--run-dir", run_folder)
    found = None if machine is None else _machine(machine)
    inner = () if found is None else (found / "root/run/tangram" / MPS,)
    trees = (mps, *(() if found is None else (found,)))
    # A folder is Tangram's own if it is empty, or holds nothing but what is removed.
    around = [one for one in (run_folder, machine) if one is not None and one not in trees]
    empty = (one for one in around if one.is_dir() and not one.is_symlink() and _would_be_empty(one, trees))
    return Shared(
        trees=tuple(one for one in trees if files.exists(one)),
        around=tuple(empty),
        daemons=(mps, *inner),
    )


def _machine(given: Path) -> Path | None:
    """Return the folder of the machine in a folder, None where there is nothing. Raises: InvalidOption."""
    if not files.exists(given):
        return None
    option = "--machine"
    require(given.is_dir() and not given.is_symlink(), option, given, "must be a folder")
    if not files.names(given):
        return None
    found = next((one for one in (given, given / _MACHINE) if files.exists(one / _MACHINE_FILE)), None)
    if found is None or not _is_machine(found / _MACHINE_FILE):
        rule = f"must hold a simulated machine: {_MACHINE_FILE} or {_MACHINE}/{_MACHINE_FILE}"
        raise InvalidOption(option, given, rule)
    _refuse_foreign(found, _OF_MACHINE.__contains__, option, given)
    return found


def _is_machine(file: Path) -> bool:
    try:
        _MACHINES.decode(files.read(file) or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, StorageFailed):
        return False
    return True


def _is_of_daemon(folder: Path) -> bool:
    own = MpsFolders(folder)
    names = {own.pipe.name, own.log.name, own.shared_memory.name}
    return folder.is_dir() and not folder.is_symlink() and names.issuperset(files.names(folder))


def _would_be_empty(folder: Path, trees: tuple[Path, ...]) -> bool:
    return all(folder / name in trees for name in files.names(folder))


def _refuse_foreign(folder: Path, is_own: Callable[[str], bool], option: str, given: Path) -> None:
    if not files.exists(folder):
        return
    is_folder = folder.is_dir() and not folder.is_symlink()
    require(is_folder, option, given, f"{folder} is no folder, so it is not Tangram's")
    for name in files.names(folder):
        rule = f"{folder / name} is not Tangram's; remove or move it first if nobody needs it"
        require(is_own(files.original_name(name) or name), option, given, rule)
