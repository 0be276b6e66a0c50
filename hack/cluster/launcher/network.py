"""The cluster's network, made by iproute2 in a network namespace of its own.

In go the lines of an ``ip -batch``; out come links and addresses, or one message.
"""

from __future__ import annotations

import subprocess

from launcher.errors import LauncherError


def make_network(ip: str, commands: str) -> None:
    """Run the commands in this process's network namespace.

    Raises: LauncherError with what ``ip`` said.
    """
    answer = subprocess.run([ip, "-batch", "-"], input=commands, capture_output=True, text=True, check=False)
    if answer.returncode:
        why = "; ".join(answer.stderr.split("\n")).strip("; ") or f"it ended with status {answer.returncode}"
        raise LauncherError(
            f"cannot make the cluster's network: {ip}: {why}; "
            "the kernel must allow veth pairs in a network namespace"
        )
