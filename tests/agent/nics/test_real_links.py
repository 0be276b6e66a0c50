"""A simulated NIC with real links: the kernel's devices behave in pods as a NIC's interfaces do."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.hardware.nics.links import Link
from agent.hardware.nics.ports import Nics
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import InvalidNodeFile, SimulatedMachine, node_text, parse_fault, parse_node
from agent.hardware.types import Bdf

PF, FIRST, SECOND = Bdf("0000:19:00.0"), Bdf("0000:19:00.2"), Bdf("0000:19:00.3")
QUIET_PF = Bdf("0000:19:00.1")
NIC = "link: ethernet, vfs: 2,"
TEXT = node_text("a30x4").replace(NIC, f"{NIC} kernel_links: true,")


@dataclass
class Host:
    """A machine whose host network is a namespace of its own, and pods."""

    machine: SimulatedMachine
    network: Path
    pod_of: Callable[[], tuple[subprocess.Popen[str], Path]]

    @property
    def nics(self) -> Nics:
        return simulated_hardware(self.machine, self.network).nics

    def link(self, bdf: Bdf, namespace: Path | None = None) -> Link | None:
        return self.nics.interfaces.find(bdf, namespace)


@pytest.fixture
def host(tmp_path: Path, why_no_namespaces: str | None) -> Iterator[Host]:
    if why_no_namespaces:
        pytest.skip(why_no_namespaces)
    with ExitStack() as stack:

        def namespace() -> tuple[subprocess.Popen[str], Path]:
            command = ["unshare", "--net", "sh", "-c", "ip link set lo up; echo ready; exec sleep 600"]
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            return process, Path(f"/proc/{process.pid}/ns/net")

        _, network = namespace()
        machine = SimulatedMachine.open(parse_node("real.yaml", TEXT), tmp_path / "machine")
        yield Host(machine, network, namespace)


def shown(link: Link | None) -> tuple[object, ...]:
    assert link is not None
    return link.name, link.mac, link.mtu, link.is_up


def ended(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def returned(host: Host, bdf: Bdf) -> Link:
    """The link, once the kernel has cleared the namespace."""
    while (found := host.link(bdf)) is None:
        continue
    return found


def test_every_function_of_the_nic_has_a_real_device_and_other_nics_have_none(host: Host) -> None:
    said = subprocess.run(
        ["nsenter", f"--net={host.network}", "ip", "-o", "link"], capture_output=True, text=True, check=False
    ).stdout
    assert "enp25s0" not in said

    names = [shown(host.link(bdf))[0] for bdf in (PF, FIRST, SECOND, QUIET_PF)]
    said = subprocess.run(
        ["nsenter", f"--net={host.network}", "ip", "-o", "link"], capture_output=True, text=True, check=True
    ).stdout

    assert names == ["enp25s0", "enp25s0v0", "enp25s0v1", "enp25s0f1"]
    assert all(f" {name}@" in said for name in names[:3])
    assert "enp25s0f1" not in said
    assert [each.name for each in host.nics.reader.interfaces(FIRST)] == ["enp25s0v0"]


def test_pods_reach_each_other_over_the_nics_switch(host: Host) -> None:
    pods = [host.pod_of() for _ in range(2)]
    for number, (bdf, (_, pod)) in enumerate(zip((FIRST, SECOND), pods, strict=True), 1):
        wanted = WantedInterface(name="fast0", addresses=(f"10.9.0.{number}/24",))
        host.nics.interfaces.move_in(bdf, pod, wanted)

    ping = ["nsenter", f"--net={pods[0][1]}", "busybox", "ping", "-c1", "-W5", "10.9.0.2"]
    said = subprocess.run(ping, capture_output=True, text=True, check=False, timeout=30)

    assert "1 packets received" in said.stdout
    assert host.nics.reader.interfaces(FIRST) == ()


def test_the_end_of_a_namespace_gives_it_back_down_and_under_the_name_that_it_had_there(host: Host) -> None:
    before = host.link(FIRST)
    assert before is not None
    process, pod = host.pod_of()
    host.nics.interfaces.move_in(FIRST, pod, WantedInterface(name="fast0", mtu=1400))
    ended(process)

    found = returned(host, FIRST)

    assert shown(found) == ("fast0", before.mac, 1400, False)
    assert found.addresses == ()
    back = host.nics.interfaces.move_back(FIRST, WantedInterface.like(before), None)
    assert shown(back) == shown(before)


def test_a_name_that_is_taken_when_it_comes_back_makes_it_dev_and_its_number(host: Host) -> None:
    process, pod = host.pod_of()
    host.nics.interfaces.move_in(FIRST, pod, WantedInterface(name="fast0"))
    host.nics.interfaces.move_back(SECOND, WantedInterface(name="fast0"), None)
    ended(process)

    assert returned(host, FIRST).name.startswith("dev")


def test_taken_back_from_a_living_pod_it_is_the_same_device(host: Host) -> None:
    before = host.link(FIRST)
    assert before is not None
    _, pod = host.pod_of()
    host.nics.interfaces.move_in(FIRST, pod, WantedInterface(name="fast0", mtu=1400))

    back = host.nics.interfaces.move_back(FIRST, WantedInterface.like(before), pod)

    assert shown(back) == shown(before)


def test_a_vf_that_goes_takes_its_device_along(host: Host) -> None:
    host.link(FIRST)
    host.machine.set_vfs(PF, 0)

    assert host.link(FIRST) is None
    said = ["nsenter", f"--net={host.network}", "ip", "-o", "link"]
    listed = subprocess.run(said, capture_output=True, text=True, check=True).stdout
    assert "enp25s0v0" not in listed
    assert "enp25s0@" in listed


def test_faults_of_links_concern_real_ones_too(host: Host) -> None:
    host.machine.inject(parse_fault("nic-0:change-link:in-use:1"))
    _, pod = host.pod_of()
    before = host.link(FIRST)

    with pytest.raises(Exception, match="EBUSY"):
        host.nics.interfaces.move_in(FIRST, pod, WantedInterface(name="fast0"))

    assert host.link(FIRST) == before


def test_real_links_of_infiniband_are_refused_when_the_node_file_is_read() -> None:
    text = TEXT.replace("link: ethernet, vfs: 2", "link: infiniband, vfs: 2")

    with pytest.raises(InvalidNodeFile, match="kernel_links"):
        parse_node("real.yaml", text)
