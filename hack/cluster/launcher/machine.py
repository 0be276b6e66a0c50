"""What this machine has and can do: the programs from its distribution, cgroups, layered file systems.

In goes the machine; out come a ``Runtime`` and one message that names every missing package at once. Looking
changes nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from launcher.cgroups import own_group
from launcher.errors import LauncherError, MissingPrograms
from launcher.mounts import can_overlay
from launcher.node_files import CNI_PLUGINS, Runtime

_SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CONTROL_PLANE = {"ip": "iproute2", "unshare": "util-linux", "setpriv": "util-linux"}
_NODE = {
    "crun": "crun",
    "busybox": "busybox-static",
    "nsenter": "util-linux",
    f"{CNI_PLUGINS}/ptp": "containernetworking-plugins",
}


def check_machine(has_nodes: bool) -> None:
    """Refuse where the cluster cannot live.

    Raises: MissingPrograms naming all packages; LauncherError where this is not root.
    """
    if os.geteuid() != 0:
        raise LauncherError(
            "cannot start a cluster as an ordinary user: mounts and networks need root (sudo)"
        )
    wanted = {**_CONTROL_PLANE, **(_NODE if has_nodes else {})}
    missing = {program: package for program, package in wanted.items() if find_program(program) is None}
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise MissingPrograms(
            f"cannot start a cluster: {', '.join(missing)} not found; on Debian: apt-get install {packages}"
        )


def find_program(name: str) -> Path | None:
    """Return where a program is, also in the places that only root's PATH has."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_SEARCHED}")
    return Path(found) if found else None


def look_at_runtime(folder: Path) -> Runtime:
    """Find out which cures the container runtime needs here; called inside the mount namespace."""
    crun = find_program("crun")
    assert crun is not None
    answer = subprocess.run([str(crun), "--version"], capture_output=True, text=True, timeout=20, check=False)
    return Runtime(
        program=str(crun),
        snapshotter="overlayfs" if can_overlay(folder) else "native",
        is_cgroup_cured=own_group(folder) is None,
        knows_oci_1_0_only=knows_oci_1_0_only(answer.stdout),
    )


def knows_oci_1_0_only(version: str) -> bool:
    """Tell from ``crun --version`` whether it refuses the bundles of a newer specification."""
    return re.search(r"^spec: 1\.0\.", version, re.MULTILINE) is not None
