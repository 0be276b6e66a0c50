"""A VF as a network interface: noted at prepare, in the pod as it was wanted, on the host again as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from devices_of_kinds import NETDEV

from agent.hardware.nics.links import AddRoute, Link, SetMtu, SetUp
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.types import Bdf
from plugin.assembly import assemble
from plugin.base.errors import (
    ClaimUnusable,
    HardwareFailed,
    InterfaceElsewhere,
    NotReady,
)
from plugin.base.locks import Locks
from plugin.claim.metadata import request_files
from plugin.telling.status import device_statuses
from scheduler_core.model.claim import OpaqueConfig

PF, BDF = Bdf("0000:19:00.0"), Bdf("0000:19:00.2")
VF, SIBLING = "nic-0000-19-00-0-vf-0", "nic-0000-19-00-0-vf-1"
MAC = "02:00:00:00:00:07"


@pytest.fixture
def bench(bench_of: Callable[..., Any]) -> Any:
    """A machine with an Ethernet NIC that has two VFs."""
    return bench_of("a30x4")


def claim(bench: Any, device: str = VF, uid: str = "u1", netdev: Any = NETDEV, **fields: Any) -> Any:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", "mode": "netdev", **fields}
    if netdev is not None:
        parameters["netdev"] = netdev
    config = OpaqueConfig(driver="tangram.dev", parameters=parameters)
    return bench.claim(uid, device, configs=(config,))


def prepare(bench: Any, *arguments: Any, **fields: Any) -> Any:
    return bench.driver.prepare(claim(bench, *arguments, **fields))


def link(bench: Any, namespace: Path | None = None, bdf: Bdf = BDF) -> Link | None:
    found: Link | None = bench.machine.nics.interfaces.find(bdf, namespace)
    return found


def recorded(bench: Any) -> Any:
    ((device,),) = (record.devices for record in bench.records())
    return device


def another_pod(bench: Any, name: str = "other") -> Path:
    file: Path = bench.pod.with_name(name)
    file.touch()
    return file


def test_the_pod_has_it_as_wanted_and_the_host_has_it_no_longer(bench: Any) -> None:
    prepare(bench, mac=MAC)
    before = link(bench)
    bench.bring_in("u1", VF)
    found = link(bench, bench.pod)

    assert before is not None
    assert found is not None
    assert (found.name, found.mtu, found.mac, found.is_up) == ("fast0", 1400, MAC, True)
    assert list(found.addresses) == NETDEV["addresses"]
    assert [(route.to, route.via) for route in found.routes] == [("10.8.0.0/16", "10.9.0.1")]
    assert link(bench) is None


def test_it_comes_back_as_it_was(bench: Any) -> None:
    before = link(bench)
    prepare(bench, mac=MAC, trust=True)
    bench.bring_in("u1", VF)
    bench.unprepare("u1")

    assert link(bench) == before
    assert bench.leftovers() == []


def test_without_a_netdev_it_has_its_host_name_in_the_pod(bench: Any) -> None:
    before = link(bench)
    prepare(bench, netdev=None)
    bench.bring_in("u1", VF)
    found = link(bench, bench.pod)

    assert before is not None
    assert found is not None
    assert (found.name, found.mtu, found.mac) == (before.name, before.mtu, before.mac)


def test_containers_get_a_hook_and_with_rdma_the_verbs_device(bench: Any) -> None:
    prepare(bench)
    document = json.loads(bench.document("u1").read_text())
    (device,) = document["devices"]
    (hook,) = device["containerEdits"]["hooks"]
    folder = str(bench.options.hook_dir)

    assert hook["hookName"] == "createRuntime"
    assert hook["path"] == f"{folder}/bring-in.sh"
    assert hook["args"] == ["bring-in.sh", folder, "u1", VF, "20"]
    assert hook["timeout"] > int(hook["args"][-1])
    nodes = [node["path"] for node in device["containerEdits"]["deviceNodes"]]
    assert (nodes[0][:-1], nodes[1]) == ("/dev/infiniband/uverbs", "/dev/infiniband/rdma_cm")
    assert recorded(bench).status_data["rdmaDevices"]


def test_a_vf_without_an_rdma_device_is_an_interface_alone(bench: Any) -> None:
    bench.inject("nic-0:no-rdma")
    for count in (0, 2):
        bench.simulated.set_vfs(PF, count)
    prepare(bench)
    (device,) = json.loads(bench.document("u1").read_text())["devices"]
    bench.bring_in("u1", VF)

    assert "deviceNodes" not in device["containerEdits"]
    assert "rdmaDevices" not in recorded(bench).status_data
    assert link(bench, bench.pod) is not None


def test_a_second_container_and_a_restarted_one_find_it_there(bench: Any) -> None:
    prepare(bench)
    bench.bring_in("u1", VF)
    first, record = link(bench, bench.pod), bench.records()
    bench.inject("nic-0:change-link:in-use")  # whoever would change the link is refused

    bench.bring_in("u1", VF)

    assert link(bench, bench.pod) == first
    assert bench.records() == record


def test_a_second_pod_is_refused_while_the_first_one_has_it(bench: Any) -> None:
    prepare(bench)
    bench.bring_in("u1", VF)
    other = another_pod(bench)

    with pytest.raises(InterfaceElsewhere, match=r"another pod has it.*a claim of its own"):
        bench.bring_in("u1", VF, other)

    assert link(bench, bench.pod) is not None
    assert link(bench, other) is None


def test_the_next_pod_of_the_claim_gets_it_when_the_first_has_ended(bench: Any) -> None:
    prepare(bench)
    bench.bring_in("u1", VF)
    other = another_pod(bench)  # first: a file that is made after may have the same number
    bench.pod.unlink()
    bench.bring_in("u1", VF, other)
    found = link(bench, other)

    assert found is not None
    assert (found.name, found.mtu) == ("fast0", 1400)
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_a_name_that_the_pod_has_is_refused_and_the_interface_stays_on_the_host(bench: Any) -> None:
    prepare(bench, SIBLING, "u2")
    bench.bring_in("u2", SIBLING)
    prepare(bench, netdev={"name": "fast0"})
    before = link(bench)

    with pytest.raises(HardwareFailed, match="has an interface fast0 already"):
        bench.bring_in("u1", VF)

    assert link(bench) == before
    assert not recorded_of(bench, "u1").is_in_pod


def recorded_of(bench: Any, uid: str) -> Any:
    ((device,),) = (record.devices for record in bench.records() if record.claim_uid == uid)
    return device


@pytest.mark.parametrize("step", [SetMtu, SetUp, AddRoute])
def test_where_the_kernel_refuses_a_step_the_pod_has_nothing_of_it(bench: Any, step: type) -> None:
    prepare(bench)
    before = link(bench)
    bench.driver = driver_with(bench, RefusingKernel(bench.simulated.kernel, step))

    with pytest.raises(HardwareFailed):
        bench.bring_in("u1", VF)

    assert link(bench, bench.pod) is None
    assert link(bench) == before
    assert not recorded(bench).is_in_pod
    bench.restart().prepare(claim(bench))
    bench.bring_in("u1", VF)
    assert link(bench, bench.pod) is not None


class RefusingKernel:
    """A kernel that refuses one kind of step in pods."""

    def __init__(self, kernel: Any, step: type) -> None:
        self._kernel = kernel
        self._step = step

    def apply(self, namespace: Path | None, step: object) -> None:
        if namespace is not None and isinstance(step, self._step):
            raise OSError(95, os.strerror(95))
        self._kernel.apply(namespace, step)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def driver_with(bench: Any, kernel: Any) -> Any:
    interfaces = replace(bench.machine.nics.interfaces, kernel=kernel)
    machine = replace(bench.machine, nics=replace(bench.machine.nics, interfaces=interfaces))
    return assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)


def test_an_mtu_above_that_of_the_nic_is_refused_and_nothing_changes(bench: Any) -> None:
    with pytest.raises(ClaimUnusable, match=r"VfConfig\.netdev\.mtu: 9000: must be at most 1500, the MTU of"):
        prepare(bench, netdev={"mtu": 9000})

    assert bench.leftovers() == []


def test_an_interface_that_the_default_route_needs_stays(bench: Any) -> None:
    reader = NeededNic(bench.machine.nics.reader)
    machine = replace(bench.machine, nics=replace(bench.machine.nics, reader=reader))
    bench.driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)

    with pytest.raises(NotReady, match="carries the node's default route"):
        prepare(bench)

    assert bench.records() == ()


class NeededNic:
    """A reader of NICs on a machine whose default route leads through each of them."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def needed_for_default_route(self, bdf: str) -> tuple[str, ...]:
        return ("enp25s0v0",)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


def test_a_claim_that_is_not_prepared_gets_nothing_into_a_pod(bench: Any) -> None:
    with pytest.raises(NotReady, match="the claim is not prepared"):
        bench.bring_in("u1", VF)
    prepare(bench)
    with pytest.raises(NotReady, match="the claim is not prepared"):
        bench.bring_in("u1", SIBLING)

    assert link(bench) is not None


def test_a_gpu_that_is_busy_does_not_keep_the_interface_from_the_pod(bench: Any) -> None:
    whole = claim(bench)
    gpu = bench.claim("u1", "gpu-0").results
    bench.driver.prepare(replace(whole, results=(*whole.results, *gpu)))
    locks = Locks(path=bench.options.lock_file, wait_s=1.0, clock=bench.clock, sleep=bench.clock.sleep)

    with locks.hold(f"gpu-{bench.uuid(0)}", "GPU 0", "keep it busy"):
        bench.bring_in("u1", VF)

    assert link(bench, bench.pod) is not None


def test_prepared_again_while_a_pod_has_it_nothing_changes(bench: Any) -> None:
    first = prepare(bench)
    bench.bring_in("u1", VF)
    before, record = link(bench, bench.pod), bench.records()

    again = prepare(bench)

    assert again == first
    assert link(bench, bench.pod) == before
    assert bench.records() == record


def test_the_status_tells_of_the_interface_once_a_pod_has_it_and_metadata_from_the_start(bench: Any) -> None:
    prepare(bench, mac=MAC)
    ((before,), (file,)) = (statuses(bench), request_files(bench.records()[0]))
    bench.bring_in("u1", VF)
    (after,) = statuses(bench)

    told = {"interfaceName": "fast0", "hardwareAddress": MAC, "ips": NETDEV["addresses"]}
    assert "networkData" not in before
    assert after["networkData"] == told
    assert json.loads(msgspec.json.encode(file.facts))["devices"][0]["networkData"] == told


def statuses(bench: Any) -> Any:
    return device_statuses(bench.records()[0], 0.0)


def test_an_interface_whose_driver_is_late_is_waited_for_and_then_refused_by_name(bench: Any) -> None:
    other = another_pod(bench)
    bench.machine.nics.interfaces.move_in(BDF, other, WantedInterface())

    with pytest.raises(
        NotReady, match=r"driver mlx5_core has no interface of it in the host's network"
    ) as no:
        prepare(bench)

    assert no.value.retry
    assert sum(bench.clock.slept) >= 5.0
    assert bench.records() == ()
