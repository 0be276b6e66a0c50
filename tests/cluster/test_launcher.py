"""A cluster leaves nothing behind, however it ends. These tests start clusters of their own inside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_support import eventually
from launcher.client import ClusterControl
from launcher.processes import descendants

_LAUNCHER = Path(__file__).parents[2] / "hack" / "cluster"


@pytest.fixture
def version(kubeconfig: Path) -> str:
    """The version whose programs are surely built: that of the cluster around this test."""
    if not os.environ.get("TANGRAM_CLUSTER"):
        pytest.skip("needs the launcher: make test-cluster, without KUBECONFIG")
    return ClusterControl(kubeconfig.parent).state().version


@pytest.fixture
def cluster(version: str) -> Iterator[subprocess.Popen[str]]:
    """A control plane with a command inside that says where it is and then waits."""
    command = ("sh", "-c", "echo folder: $TANGRAM_CLUSTER; exec sleep 1000")
    process = _start(version, "--control-plane-only", "--", *command)
    yield process
    process.kill()
    process.communicate()


def test_the_commands_exit_status_is_the_launchers(version: str) -> None:
    process = _start(version, "--control-plane-only", "--", "sh", "-c", "exit 7")

    output, _ = process.communicate(timeout=100)

    assert process.returncode == 7, output


def test_two_nodes_are_two_kubelets_with_mounts_of_their_own(version: str) -> None:
    look = "kubectl get nodes -o name; ls $TANGRAM_CLUSTER/node-1/kubelet $TANGRAM_CLUSTER/node-2/kubelet"
    process = _start(version, "--bare", "--nodes", "2", "--", "sh", "-c", look)

    output, _ = process.communicate(timeout=100)

    assert "node/node-1\nnode/node-2\n" in output
    assert output.count("cpu_manager_state") == 2, output


def test_node_objects_come_with_the_slices_of_a_machine_and_with_the_classes(version: str) -> None:
    look = (
        "kubectl get nodes --no-headers | wc -l; kubectl get deviceclass/mig.tangram.dev -o name;"
        "kubectl get resourceslices -o 'jsonpath={range .items[*]}{.spec.nodeName}{\"\\n\"}{end}' | sort -u"
    )
    process = _start(version, "--control-plane-only", "--node-objects", "2", "--", "sh", "-c", look)

    output, _ = process.communicate(timeout=100)

    assert output.endswith("2\ndeviceclass.resource.k8s.io/mig.tangram.dev\nobject-0\nobject-1\n"), output


def test_a_node_simulates_the_machine_that_was_asked_for(version: str, tmp_path: Path) -> None:
    a30 = '.spec.devices[?(@.name=="gpu-0")].attributes.productName.string'
    look = f"kubectl get resourceslices -o 'jsonpath={{.items[*]{a30}}}'"
    logs = tmp_path / "logs"
    process = _start(
        version, "--node-yaml", "a30x4", "--keep-logs", str(logs), "--", "sh", "-c", f"{look}; exit 3"
    )

    output, _ = process.communicate(timeout=110)

    assert process.returncode == 3, output
    assert "NVIDIA A30" in output
    assert (logs / "kubelet-node-1.log").stat().st_size > 0


@pytest.mark.parametrize("victim", ["launcher", "unshare", "process one", "supervisor", "watcher"])
def test_nothing_is_left_whoever_is_killed(victim: str, cluster: subprocess.Popen[str]) -> None:
    links = _links()
    folder = _folder(cluster)
    family = {cluster.pid: "launcher", **_family(cluster.pid)}
    assert len(family) > 8

    os.kill(next(pid for pid, name in family.items() if name == victim), signal.SIGKILL)
    if victim == "watcher":  # without it the cluster lives on, and whoever started it cleans up
        cluster.terminate()

    eventually(lambda: not [pid for pid in family if _is_alive(pid)], "every process has ended", 20)
    eventually(lambda: not folder.exists(), "the folder is gone", 40)
    assert _links() == links
    assert str(folder) not in Path("/proc/self/mountinfo").read_text()


def test_a_part_that_cannot_start_is_told_with_the_end_of_its_log(version: str) -> None:
    process = _start(version, "--control-plane-only", "--feature-gates", "NoSuchGate=true", "--", "true")

    output, _ = process.communicate(timeout=100)

    assert process.returncode == 1
    assert "cannot start apiserver: it ended (1)" in output
    assert "unrecognized feature gate: NoSuchGate" in output


def _start(version: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        (sys.executable, str(_LAUNCHER), "run", "--version", version, *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _folder(cluster: subprocess.Popen[str]) -> Path:
    """Read what the launcher says until the command inside names the cluster's folder."""
    assert cluster.stdout is not None
    said = []
    for line in cluster.stdout:
        said.append(line)
        if line.startswith("folder: "):
            return Path(line.removeprefix("folder: ").strip())
    raise AssertionError(f"the cluster did not start: {said}")


def _family(launcher: int) -> dict[int, str]:
    """Return all processes that the launcher began, those of the chain with their role."""
    below = descendants([launcher])
    watcher = next(pid for pid in below if "watch-folder" in _command(pid))
    unshare = next(pid for pid in below if _command(pid).startswith("unshare "))
    process_one, supervisor, *_ = descendants([unshare])
    roles = {watcher: "watcher", unshare: "unshare", process_one: "process one", supervisor: "supervisor"}
    return {pid: roles.get(pid, _command(pid)) for pid in below}


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _links() -> set[str]:
    return set(os.listdir("/sys/class/net"))
