"""Inside the namespaces: start the cluster, offer control, run the user's command, end with it.

In go settings; out comes the command's exit status. It ends by ending: the namespaces take every part along.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable

from launcher.cluster import Cluster
from launcher.errors import LauncherError
from launcher.install import install
from launcher.node_objects import create_node_objects
from launcher.part import Patience
from launcher.server import serve
from launcher.settings import Settings
from launcher.welcome import welcome


def supervise(settings: Settings, patience: Patience, say: Callable[[str], None]) -> int:
    """Run one cluster for one command and return the command's exit status."""
    start = patience.clock()
    cluster = Cluster(settings, patience, say)
    try:
        cluster.start()
        serve(cluster, settings.folder / "control.sock")
        nodes = ", ".join(settings.node_names) or "no real node"
        say(f"Kubernetes {settings.version} runs after {patience.clock() - start:.0f} s: {nodes}")
        install(settings, say)
        if settings.node_objects:
            create_node_objects(settings, say)
    except LauncherError as error:
        say(str(error))
        return 1
    if not settings.command:
        print(welcome(settings), flush=True)
    return _run(settings)


def _run(settings: Settings) -> int:
    command = settings.command or (os.environ.get("SHELL") or "/bin/sh",)
    path = [
        str(settings.kubectl.parent),
        str(settings.kubernetes),
        str(settings.containerd),
        *([str(settings.helm)] if settings.helm else ()),
        os.environ["PATH"],
    ]
    environment = {
        **os.environ,
        "KUBECONFIG": str(settings.kubeconfig),
        "TANGRAM_CLUSTER": str(settings.folder),
        "PATH": ":".join(path),
    }
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise LauncherError(f"cannot run {command[0]}: {error.strerror}") from error
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command decides what an interrupt means
    status = process.wait()
    return status if status >= 0 else 128 - status
