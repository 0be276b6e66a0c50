"""The clone of somebody new: what is committed, in an empty folder, with the packages that make installs.

It is made outside of the cluster, whose namespaces have no network to install from. Out comes the folder,
which is removed in the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher.build import CHECKOUT
from launcher.errors import LauncherError

VARIABLE = "TANGRAM_NEWCOMERS_CLONE"
"""The variable of the environment that names the folder to the tests."""
# Of the make that runs the tests: the clone's has its own.
_OF_MAKE = ("MAKE", "MFLAGS", "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV")


@contextmanager
def clone() -> Iterator[Path | None]:
    """Give the folder; None where the checkout is no repository that git reads, such as an unpacked archive.

    Raises: LauncherError with what git or make said.
    """
    if not _is_repository():
        print("cluster: the checkout is not a git repository: no clone of it is tried", file=sys.stderr)
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="tangram-newcomer-", dir="/var/tmp") as made:
        folder = Path(made, "tangram")
        _run("git", "clone", "--quiet", str(CHECKOUT), str(folder))
        _run("make", "--silent", "--directory", str(folder), ".venv/.ready")
        yield folder


def _is_repository() -> bool:
    asked = ("git", "-C", str(CHECKOUT), "rev-parse", "HEAD")
    try:
        return subprocess.run(asked, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _run(*command: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_MAKE)}
    done = subprocess.run(command, env=kept, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LauncherError(f"cannot clone the checkout: {' '.join(command)}: {done.stderr.strip()}")
