"""What the manifest switches in gRPC is something that the locked gRPC knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

DAEMONSET = Path(__file__).parents[2] / "deploy/manifests/base/daemonset.yaml"
SWITCH = "GRPC_EXPERIMENTS"
SERVE = """
import concurrent.futures, grpc
server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
server.start()
server.stop(None).wait()
"""


def complaints(switches: str) -> str:
    """Return what gRPC says when a server starts with these switches."""
    environment = {**os.environ, SWITCH: switches}
    command = [sys.executable, "-c", SERVE]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr


def test_the_plugins_switch_is_known_to_the_locked_grpc() -> None:
    daemonset = yaml.safe_load(DAEMONSET.read_text())
    (plugin,) = [
        one for one in daemonset["spec"]["template"]["spec"]["containers"] if one["name"] == "plugin"
    ]
    (switches,) = [one["value"] for one in plugin["env"] if one["name"] == SWITCH]

    assert complaints(switches) == ""
    assert "Unknown experiment" in complaints("-no_such_switch")
