"""Run the tests in clusters of their own, one after the other: one for each pinned version.

In goes which versions and what pytest is told; out comes an exit status. With a kubeconfig of the user's
they run against that cluster instead, and those that need control over its nodes say why they do not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from launcher.build import CHECKOUT
from launcher.errors import LauncherError

_FOLDERS = ("tests/cluster", "tests/kube_api")
# What of the tests a version can run: 1.34 is there for its layout of slices and has no node.
MARKERS: Mapping[str, str] = {"1.37": "cluster", "1.36": "cluster", "1.34": "layout"}
USUAL_VERSIONS = ("1.37", "1.34")


def run_in_clusters(
    versions: Sequence[str], arguments: Sequence[str], say: Callable[[str], None], clock: Callable[[], float]
) -> int:
    """Run the tests on each of these versions and return the first exit status that is not 0."""
    statuses = []
    for version in versions:
        start = clock()
        launcher = (sys.executable, str(CHECKOUT / "hack" / "cluster"), "run", "--version", version, "--")
        status = subprocess.call((*launcher, *_pytest(MARKERS[version], arguments)), cwd=CHECKOUT)
        say(f"the tests on {version}: exit status {status} after {clock() - start:.0f} s")
        statuses.append(status)
    return next((status for status in statuses if status), 0)


def run_in_users_cluster(kubeconfig: str, arguments: Sequence[str], say: Callable[[str], None]) -> int:
    """Run the tests against the cluster that the user's kubeconfig names.

    Raises: LauncherError where it is not one existing file.
    """
    if not Path(kubeconfig).is_file():
        raise LauncherError(f"cannot test in the cluster of KUBECONFIG={kubeconfig}: name one existing file")
    say(f"the tests run in the cluster of KUBECONFIG={kubeconfig}")
    environment = {**os.environ, "TANGRAM_TEST_KUBECONFIG": str(Path(kubeconfig).absolute())}
    return subprocess.call(_pytest("cluster", arguments), cwd=CHECKOUT, env=environment)


def _pytest(marker: str, arguments: Sequence[str]) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", *(arguments or _FOLDERS), "-m", marker)
