"""Interfaces in pods through a real container runtime: hook, plugin, real network devices and namespaces.

The VFs of a simulated NIC have veth devices of the kernel. Plugin and containers run on a host network of
their own, so nothing of this machine changes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from podman_runs import Podman, real_podman

from agent.hardware.nics.links import Link
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import node_text
from agent.hardware.types import Bdf

pytestmark = [pytest.mark.podman, pytest.mark.timeout(300)]

VFS = ("nic-0000-19-00-0-vf-0", "nic-0000-19-00-0-vf-1")
BDFS = (Bdf("0000:19:00.2"), Bdf("0000:19:00.3"))
END = "that was all"


@dataclass
class Host:
    """A site whose host network is a namespace of its own."""

    site: Any
    podman: Podman
    network: Path
    stack: ExitStack
    plugins: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def interfaces(self) -> Any:
        return simulated_hardware(self.site.simulated, self.network).nics.interfaces

    def link(self, index: int) -> Link | None:
        found: Link | None = self.interfaces.find(BDFS[index])
        return found

    def claim(self, uid: str, index: int, **netdev: Any) -> Any:
        """Allocate a VF as a network interface."""
        claim = self.site.allocate(uid, VFS[index])
        file = self.site.claims_dir / f"{claim.name}.yaml"
        document = json.loads(file.read_text())
        kind = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig"}
        parameters = {**kind, "mode": "netdev", "netdev": netdev}
        opaque = {"driver": "tangram.dev", "parameters": parameters}
        entry = {"source": "FromClaim", "requests": [], "opaque": opaque}
        document["status"]["allocation"]["devices"]["config"] = [entry]
        file.write_text(json.dumps(document))
        return claim

    def start_plugin(self) -> subprocess.Popen[str]:
        command = [
            *("nsenter", f"--net={self.network}", sys.executable, "-m", "plugin"),
            *("--driver-name", "tangram.dev", "--node-name", self.site.node),
            *("--simulated", self.site.node_file, "--machine", self.site.machine_dir),
            *("--claims", self.site.claims_dir, "--kubelet-dir", self.site.options.kubelet_dir),
            *("--cdi-dir", self.site.options.cdi_dir),
        ]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.stack.callback(ended, process)
        self.plugins.append(process)
        assert process.stderr is not None
        said = next(line for line in process.stderr if "serves" in line or "Error" in line)
        assert "serves" in said, said + process.stderr.read()
        return process

    def logged(self, text: str) -> str:
        """Return the plugin's next line that has a text."""
        said = self.plugins[-1].stderr
        assert said is not None
        return next(line for line in said if text in line)

    def pod(self, name: str, *devices: str, network: str = "none") -> Shell:
        process = self.podman.shell(
            self.site.options.cdi_dir, list(devices), name, f"--network={network}", host=self.network
        )
        self.stack.callback(ended, process)
        return Shell(process)


@dataclass
class Shell:
    """A shell in a container."""

    process: subprocess.Popen[str]

    def say(self, command: str) -> str:
        """Run a command and return what it printed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{command} 2>&1; echo {END}\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.strip() == END:
                return "".join(lines)
            lines.append(line)
        raise AssertionError(self.process.stderr.read() if self.process.stderr else "it ended")

    def end(self) -> None:
        """Let the container end, and with it its namespace."""
        self.process.communicate(timeout=60)

    def refusal(self) -> str:
        """Run a container that must not start, and return the runtime's message."""
        _, said = self.process.communicate(timeout=60)
        assert self.process.returncode != 0
        return said


def ended(process: subprocess.Popen[str]) -> None:
    """Kill a process and close what leads to it."""
    process.kill()
    process.wait()
    for end in (process.stdin, process.stdout, process.stderr):
        if end is not None:
            with suppress(BrokenPipeError):
                end.close()


@contextmanager
def network_namespace() -> Iterator[Path]:
    command = ["unshare", "--net", "sh", "-c", "ip link set lo up; echo ready; exec sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield Path(f"/proc/{process.pid}/ns/net")
        finally:
            process.kill()


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    with real_podman() as found:
        yield found


@pytest.fixture
def host(site_of: Callable[..., Any], folder: Path, podman: Podman) -> Iterator[Host]:
    """A node whose first NIC has two VFs with real links, and a plugin on it."""
    file = folder / "node.yaml"
    nic = "link: ethernet, vfs: 2,"
    file.write_text(node_text("a30x4").replace(nic, f"{nic} kernel_links: true,"))
    with ExitStack() as stack:
        network = stack.enter_context(network_namespace())
        found = Host(site_of("a30x4", node_file=str(file)), podman, network, stack)
        found.start_plugin()
        yield found


@pytest.fixture
def kubelet(host: Host, kubelet_of: Callable[[Any], Any]) -> Any:
    return kubelet_of(host.site)


def test_two_pods_reach_each_other_over_their_vfs_which_are_on_the_host_again_afterwards(
    host: Host, kubelet: Any
) -> None:
    before = [host.link(index) for index in (0, 1)]
    claims = [
        host.claim(f"u{index}", index, name="fast0", mtu=1400, addresses=[f"10.9.0.{index + 1}/24"])
        for index in (0, 1)
    ]
    ids = [kubelet.devices(claim)[0][1] for claim in claims]
    pods = [host.pod(f"pod{index}", ids[index]) for index in (0, 1)]
    shown = [pod.say("ip addr show fast0") for pod in pods]
    reached = [pods[0].say("ping -c1 -W5 10.9.0.2"), pods[1].say("ping -c1 -W5 10.9.0.1")]
    meanwhile = [host.link(index) for index in (0, 1)]
    for pod in pods:
        pod.end()
    for claim in claims:
        kubelet.undone(claim)

    assert all("mtu 1400" in text for text in shown)
    assert all("1 packets received" in text for text in reached)
    assert meanwhile == [None, None]
    after = [host.link(index) for index in (0, 1)]
    assert [(one.name, one.mac, one.mtu, one.is_up) for one in after if one] == [
        (one.name, one.mac, one.mtu, one.is_up) for one in before if one
    ]
    assert host.site.leftovers() == []


def test_a_second_container_of_the_pod_finds_the_interface_and_another_pod_is_refused(
    host: Host, kubelet: Any
) -> None:
    ((_, cdi_id),) = kubelet.devices(host.claim("u0", 0, name="fast0", addresses=["10.9.0.1/24"]))
    first = host.pod("first", cdi_id)
    first.say("true")
    second = host.pod("second", cdi_id, network="container:first")
    shown = second.say("ip addr show fast0")
    said = host.pod("other", cdi_id).refusal()
    reason = host.logged("another pod has it")
    still = first.say("ip addr show fast0")

    assert "10.9.0.1/24" in shown
    assert "10.9.0.1/24" in still
    assert "bring-in.sh` (exit code: 1)" in said
    assert "a claim of its own, from a ResourceClaimTemplate" in reason


def test_without_a_plugin_the_container_does_not_start_and_the_interface_stays(
    host: Host, kubelet: Any
) -> None:
    ((_, cdi_id),) = kubelet.devices(host.claim("u0", 0, name="fast0"))
    document = next(host.site.options.cdi_dir.glob("*.json"))
    document.write_text(document.read_text().replace('"20"', '"1"'))  # else the test would wait so long
    before = host.link(0)
    host.plugins[0].send_signal(signal.SIGKILL)
    host.plugins[0].wait()

    said = host.pod("pod", cdi_id).refusal()

    assert "bring-in.sh` (exit code: 2)" in said
    assert host.link(0) == before
    assert sorted(os.listdir(host.site.options.hook_dir)) == ["bell", "bring-in.sh"]


def test_a_plugin_that_starts_meanwhile_answers_the_hook_that_waits(host: Host, kubelet: Any) -> None:
    ((_, cdi_id),) = kubelet.devices(host.claim("u0", 0, name="fast0", addresses=["10.9.0.1/24"]))
    host.plugins[0].send_signal(signal.SIGKILL)
    host.plugins[0].wait()
    pod = host.pod("pod", cdi_id)
    while not list(host.site.options.hook_dir.glob("*.request")):
        assert pod.process.poll() is None
    host.start_plugin()

    assert "10.9.0.1/24" in pod.say("ip addr show fast0")


def test_a_name_that_the_pod_has_already_is_refused_with_a_clear_sentence(host: Host, kubelet: Any) -> None:
    first = kubelet.devices(host.claim("u0", 0, name="fast0"))[0][1]
    second = kubelet.devices(host.claim("u1", 1, name="fast0"))[0][1]
    before = host.link(1)
    said = host.pod("pod", first, second).refusal()
    assert "bring-in.sh` (exit code: 1)" in said
    assert "(enp25s0v1)" in host.logged("has an interface fast0 already")

    assert host.link(1) == before
