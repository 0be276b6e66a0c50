"""The agent as a program where something is taken or hangs: it goes on, and it ends when it is told."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from nvml_machine import NvmlMachine
from scripted_api import Script, serving
from storing_server import OLD, StoringServer

from agent.__main__ import main
from agent.inventory.modes import ModesOfGpu
from agent.inventory.numbers.number_file import folder_of
from agent.policy.effect import Effect
from agent.policy.effect_file import EffectFile, Stored
from agent.policy.resolved import GpuSettings, LogSettings, Resolved
from agent.probe import main as probe
from daemon.status.asking import ask


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StoringServer]:
    for server in serving(Script()):
        yield StoringServer(server, tmp_path)


@pytest.fixture
def old_cluster(cluster: StoringServer) -> StoringServer:
    """The same of a version that does not serve the API."""
    cluster.version = OLD
    return cluster


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[NvmlMachine]:
    with NvmlMachine.made("a30x4", tmp_path) as made:
        yield made


@pytest.fixture
def start(
    cluster: StoringServer, machine: NvmlMachine, tmp_path: Path
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start an agent of this machine, with more options."""
    with ExitStack() as stack:

        def started(*options: str) -> subprocess.Popen[str]:
            command = [
                *(sys.executable, "-m", "agent", f"--kubeconfig={cluster.kubeconfig}", "--node-name=node-1"),
                *(f"--host-root={machine.simulated.root}", f"--probe-socket={tmp_path / 'agent.sock'}"),
                f"--kubelet-dir={tmp_path / 'kubelet'}",
                *options,
            ]
            environment = {**os.environ, **machine.environment}
            process = stack.enter_context(
                subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
            )
            stack.callback(process.kill)
            return process

        yield started


def test_an_agent_whose_metrics_address_is_taken_publishes_and_says_so(
    cluster: StoringServer, start: Callable[..., subprocess.Popen[str]]
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        agent = start(f"--metrics-address=127.0.0.1:{other.getsockname()[1]}")

        cluster.wait_until_published("gpu-1")

        agent.send_signal(signal.SIGTERM)
        _, log = agent.communicate(timeout=60)

    assert agent.returncode == 0
    assert log.count("Address already in use") == 1
    assert "Traceback" not in log


def test_an_agent_whose_driver_hangs_is_alive_and_ends_when_it_is_told(
    machine: NvmlMachine, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    machine.make("hang-nvmlInitWithFlags")
    agent = start()
    machine.wait_until_hung()

    assert probe([str(tmp_path / "agent.sock"), "/healthz"]) == 0

    agent.send_signal(signal.SIGTERM)
    _, log = agent.communicate(timeout=40)  # less than the minute that the driver has

    assert agent.returncode == 0
    assert "Traceback" not in log


def test_an_agent_whose_driver_hangs_in_one_gpu_publishes_the_nics_and_the_other_gpu(
    machine: NvmlMachine, cluster: StoringServer, start: Callable[..., subprocess.Popen[str]]
) -> None:
    machine.make("hang-nvmlDeviceGetHandleByIndex_v2-0")
    agent = start("--no-composite")

    names = cluster.wait_until_published("gpu-1", "nic-")

    agent.send_signal(signal.SIGTERM)
    _, log = agent.communicate(timeout=60)
    # Its own entry, with a taint, since PCI shows it; nothing that a claim could have.
    assert [name for name in names if name.startswith("gpu-0")] == ["gpu-0"]
    assert log.count("read on GPU 0 failed: NVML has not answered within 20 s") >= 1


def test_a_running_agent_says_what_it_knows_over_its_socket_and_in_its_log(
    cluster: StoringServer,
    start: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    agent, where = start(), ["--socket", str(tmp_path / "agent.sock")]
    cluster.wait_until_published("gpu-1")

    assert main(["status", *where, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert main(["status", *where]) == 0
    page = capsys.readouterr().out
    assert main(["log-level", "error", *where]) == 0
    agent.send_signal(signal.SIGUSR1)
    log = list(itertools.takewhile(lambda line: not line.startswith("allocator:"), agent.stderr or ()))
    agent.send_signal(signal.SIGTERM)
    agent.communicate(timeout=60)

    assert {"kind": "gpu", "state": "offered", "count": 4} in value["devices"]
    assert (value["node"], value["allocator"]) == ("node-1", "kube-scheduler")
    assert max(map(len, page.splitlines())) <= 80
    assert any("the level of the log is error now, it was info" in line for line in log)
    assert any("the status of this program:" in line for line in log)
    assert agent.returncode == 0


def test_an_agent_at_an_older_server_says_once_what_it_needs_and_is_not_ready(
    old_cluster: StoringServer, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    agent, probed = start(), str(tmp_path / "agent.sock")
    told = next(line for line in agent.stderr or () if " ERROR " in line)

    metrics = ask(probed, "/metrics")[1]
    health, readiness = ask(probed, "/healthz")[0], ask(probed, "/readyz")[0]
    agent.send_signal(signal.SIGTERM)
    _, rest = agent.communicate(timeout=60)

    assert "the API server is Kubernetes v1.33.2 and does not serve resource.k8s.io/v1" in told
    assert "Kubernetes 1.34 or newer is needed" in told
    assert "\ntangram_agent_server_unsupported 1.0\n" in metrics
    assert (health, readiness) == (200, 503)
    assert "resource" not in rest
    assert old_cluster.written.empty()
    assert agent.returncode == 0


def test_an_agent_publishes_and_logs_by_what_is_in_effect_of_its_policy(
    cluster: StoringServer, machine: NvmlMachine, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    policy, kubelet = tmp_path / "policy.yaml", tmp_path / "kubelet"
    policy.write_text("apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules: []\n")
    first, *others = (GpuSettings(modes=modes) for modes in (ModesOfGpu(mig=False), *[ModesOfGpu()] * 3))
    uuids = [card.uuid for card in machine.simulated.node.cards]
    settings = Resolved(
        gpus=dict(zip(uuids, (first, *others), strict=True)), logs=LogSettings(form="json", level="debug")
    )
    file = EffectFile(folder_of(kubelet, "tangram.dev", None), "node-1")
    with file.locked():
        file.replace(Stored(Effect(settings)))

    agent = start(f"--policy={policy}")
    names = cluster.wait_until_published("gpu-0", "gpu-3-mig")
    agent.send_signal(signal.SIGTERM)
    _, log = agent.communicate(timeout=60)

    assert not [name for name in names if name.startswith("gpu-0-mig")]
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert "the level of the log is debug now, it was info" in [one["message"] for one in lines]
    assert lines[-1]["node"] == "node-1"
