"""What a node sees of the machine: a mount namespace with fresh, private paths where manifests expect them.

In go a folder on disk that is the node's; out comes a process that holds the namespace. Outside it nothing is
mounted and not even an empty mount point is made: /var/lib is shown again inside, with our folders added.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from launcher.cgroups import ROOT, own_group

PRIVATE = ("kubelet", "tangram", "cni")  # below /var/lib: what is a node's own, kept across its reboots
_BIND, _REC, _SHARED = 0x1000, 0x4000, 0x100000  # linux/mount.h
_DETACH = 2
_LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str = "none", flags: int = 0, data: str = "") -> None:
    """Call mount(2).

    Raises: OSError with the target.
    """
    answer = _LIBC.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode() or None
    )
    if answer != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mount {kind} {source}: {os.strerror(code)}", target)


def unmount(target: str) -> None:
    """Detach what is mounted here, also when it is in use.

    Raises: OSError with the target.
    """
    if _LIBC.umount2(target.encode(), _DETACH) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"umount: {os.strerror(code)}", target)


def bind(source: Path, target: Path) -> None:
    """Show ``source``, with what is mounted below it, at ``target``."""
    mount(str(source), str(target), flags=_BIND | _REC)


def furnish(node_folder: Path) -> None:
    """Make this mount namespace the node's.

    /run is fresh and empty, as after a boot; /var/lib/kubelet, /var/lib/tangram and /var/log lie in the
    node's folder. All is shared within the namespace, as systemd leaves it, so that ``Bidirectional`` works.
    """
    mount("tmpfs", "/run", "tmpfs", data="mode=755")
    view = Path("/run/.var-lib")
    _copy_view(Path("/var/lib"), view)
    for name in PRIVATE:
        own = node_folder / name
        own.mkdir(parents=True, exist_ok=True)
        (view / name).mkdir()
        bind(own, view / name)
    bind(view, Path("/var/lib"))
    log = node_folder / "log"
    log.mkdir(exist_ok=True)
    bind(log, Path("/var/log"))
    for name in ("containerd", "cdi", "lock"):
        Path("/run", name).mkdir()
    _show_cgroups(own_group(node_folder.parent))
    mount("none", "/", flags=_REC | _SHARED)


def _show_cgroups(own: Path | None) -> None:
    """Show the cluster's group as the whole tree, else an empty cgroup2 tree: crun refuses a mixed one."""
    if own is not None:
        bind(own, ROOT)
        return
    unmount(str(ROOT))
    mount("none", str(ROOT), "cgroup2")


def _copy_view(original: Path, view: Path) -> None:
    """Show every entry of ``original`` below ``view``, apart from the private names."""
    view.mkdir()
    for entry in sorted(original.iterdir()):
        shown = view / entry.name
        if entry.name in PRIVATE:
            continue
        if entry.is_symlink():
            shown.symlink_to(os.readlink(entry))
            continue
        if entry.is_dir():
            shown.mkdir()
        else:
            shown.touch()
        bind(entry, shown)


def can_overlay(folder: Path) -> bool:
    """Tell whether the kernel can stack containers' layers below this folder; where not, they are copied."""
    paths = {name: folder / f"overlay-{name}" for name in ("lower", "upper", "work", "merged")}
    for path in paths.values():
        path.mkdir(parents=True, exist_ok=True)
    options = f"lowerdir={paths['lower']},upperdir={paths['upper']},workdir={paths['work']}"
    try:
        mount("overlay", str(paths["merged"]), "overlay", data=options)
    except OSError:
        return False
    unmount(str(paths["merged"]))
    return True
