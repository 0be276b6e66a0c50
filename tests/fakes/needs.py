"""What some tests need beyond Python and make, and one line about those that were skipped for want of it.

A skip says what is missing and which command provides it. Where everything must be there
(``TANGRAM_REQUIRE_ALL=1``, as in CI) the test fails instead.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
from collections import Counter
from typing import Final, NoReturn

import pytest

CONTAINERS: Final = "containers: as root, apt-get install podman crun busybox-static"
COMPILER: Final = "a C compiler on x86_64 Debian: apt-get install gcc libc6-dev"
BROWSER: Final = "a browser: apt-get install chromium"
CLUSTER: Final = "a cluster: make test-cluster"
CLUSTER_PROGRAMS: Final = "an API server, kubectl and Helm: make cluster-tools"
NAMESPACES: Final = "network namespaces: as root, apt-get install iproute2 busybox-static"
ROOT: Final = "root: sudo make test"
PRIVILEGES: Final = "mounts and namespaces of their own: sudo make test, outside containers and chroots"
DRIVER: Final = "an NVIDIA GPU: run them on a node that has one"
UPSTREAM: Final = "upstream's allocator: sh hack/upstream-allocator/build.sh"
TERMINAL: Final = "pseudo terminals: mount -t devpts devpts /dev/pts"
IMAGE: Final = "the image of these sources: .venv/bin/python hack/image.py build, or make test-cluster"


def program(name: str) -> str:
    """Return what a test needs that runs a program of the distribution."""
    return f"{name}: apt-get install {name}"


def fail_or_skip(need: str, reason: str = "") -> NoReturn:
    """End a test that cannot run here, whose ``need`` is ``WHAT: COMMAND``."""
    text = f"needs {need}" + (f" ({reason})" if reason else "")
    if os.environ.get("TANGRAM_REQUIRE_ALL") == "1":
        pytest.fail(f"TANGRAM_REQUIRE_ALL: {text}")
    pytest.skip(text)


def may_unshare(*options: str) -> bool:
    """Return whether a program may have namespaces of its own here. Root in a container often may not."""
    command = ["unshare", *options, "true"]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode == 0
    except FileNotFoundError:
        return False


def require_programs(*names: str) -> None:
    """End a test that runs these programs if one is not installed."""
    for name in names:
        if shutil.which(name) is None:
            fail_or_skip(program(name))


def open_terminal() -> tuple[int, int]:
    """Return both ends of a pseudo terminal. A chroot often has none."""
    try:
        return pty.openpty()
    except OSError as error:
        fail_or_skip(TERMINAL, str(error))


def summary(reasons: list[str]) -> str:
    """Return one line for the reasons of all skipped tests."""
    matches = [re.match(r"(?:Skipped: )?needs (.+?): (.+?)(?: \(|$)", reason) for reason in reasons]
    counts = Counter(f"need {match[1]} ({match[2]})" if match else "for other reasons" for match in matches)
    parts = [f"{count} {text}" for text, count in counts.most_common()]
    return f"{len(reasons)} tests were skipped: {'; '.join(parts)}. pytest -rs lists them."
