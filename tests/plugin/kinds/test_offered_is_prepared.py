"""The law of what is offered: it can be prepared, in each mode that its attributes say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from short_folders import short_folder

from agent.hardware.nics.types import VFIO_PCI, DriverBinding
from agent.hardware.simulated import node_text, shipped_nodes
from agent.hardware.types import Bdf
from agent.inventory import describe, discover, offered
from agent.inventory.model import NodeDevices
from plugin.claim.plan import resolve
from plugin.claim.preparation import Plan
from scheduler_core.frontends.configuration.check import type_of, unprepared_devices
from scheduler_core.model.claim import OpaqueConfig
from scheduler_core.model.device import Device

DRIVER = "tangram.dev"
TROUBLES = ("no-rdma", "no-iommu", "shared-iommu", "fewer-vfs=1", "late-rdma=2", "no-zero-guid")
LINKS = ("link: ethernet,", "link: infiniband,", "link: infiniband, guids: false,")
NICS = {"a30x4": 2, "no-gpu": 2}
MODES = ("rdma", "netdev", "vfio")
CONFIGS: dict[str, dict[str, dict[str, str]]] = {
    "vf": {f"{mode}Capable": {"kind": "VfConfig", "mode": mode} for mode in MODES},
    "nic": {"rdmaCapable": {}, "netdevCapable": {"kind": "NicConfig"}},
}


def claims_for(bench: Any, device: Device) -> Iterator[Any]:
    """Yield a claim for a device in each mode that its attributes say."""
    configs = CONFIGS.get(type_of(device, DRIVER))
    if configs is None:
        yield bench.claim("u1", device.name)
        return
    for capable, fields in configs.items():
        if device.attributes[f"{DRIVER}/{capable}"]:
            parameters = {"apiVersion": "tangram.dev/v1alpha1", **fields}
            given = (OpaqueConfig(driver=DRIVER, parameters=parameters),) if fields else ()
            yield bench.claim("u1", device.name, configs=given)


def published(bench: Any) -> NodeDevices:
    return describe(offered(discover(bench.machine.readers, bench.node)), DRIVER)


def offers(found: NodeDevices) -> Iterator[Device]:
    return (device for device in found.pool.devices if device.name in found.by_name)


@pytest.mark.parametrize("node", shipped_nodes())
def test_the_plugin_accepts_every_device_that_a_shipped_node_offers(
    bench_of: Callable[..., Any], node: str
) -> None:
    bench = bench_of(node)
    found = published(bench)
    snapshot, steps = bench.driver._node.read_again(), bench.driver._steps
    boot_id = bench.machine.boot.boot_id()

    for device in offers(found):
        claims = list(claims_for(bench, device))
        assert claims
        for claim in claims:
            plan = Plan(resolve(claim, snapshot.devices, boot_id), snapshot)
            steps.refuse(plan, steps.context_of(plan))
            assert list(unprepared_devices(claim, DRIVER, [found.pool])) == []


def troubled(nic: int) -> st.SearchStrategy[list[str]]:
    each = st.sampled_from([f"nic-{nic}:{trouble}" for trouble in TROUBLES])
    return st.lists(each, max_size=3, unique_by=lambda text: text.partition("=")[0])


@st.composite
def nodes(draw: st.DrawFn) -> tuple[str, str, list[str], bool, bool]:
    """A node, its file, its faults, whether its VFs are made anew under them, and whether without drivers."""
    name = draw(st.sampled_from(sorted(NICS)))
    text = node_text(name)
    if draw(st.booleans()):
        text = text.replace(
            "link: ethernet,", "link: ethernet, default_route: true,", draw(st.integers(1, 2))
        )
    text = text.replace("link: ethernet,", draw(st.sampled_from(LINKS)))
    faults = [fault for nic in range(NICS[name]) for fault in draw(troubled(nic))]
    faults += ["machine:no-vfio"] if draw(st.booleans()) else []
    # A driver reads GUIDs when it takes the VF again: then RDMA devices are late again after the claim, which
    # is no lasting change, and one that stops making them spoils the VF.
    faults = [fault for fault in faults if "guids: false" not in text or "late-rdma" not in fault]
    is_spoilt = any("no-rdma" in fault for fault in faults)
    return name, text, faults, is_spoilt or draw(st.booleans()), draw(st.booleans())


def disturb(bench: Any, faults: list[str], *, anew: bool, unbound: bool) -> None:
    bench.inject(*faults)
    functions = bench.machine.nics.functions
    for nic in bench.simulated.node.nics:
        if anew and nic.form.total_vfs:
            functions.set_vf_count(nic.bdf, 0)
            functions.set_autoprobe(nic.bdf, not unbound)
            functions.set_vf_count(nic.bdf, 2)


@settings(max_examples=45, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(node=nodes())
def test_whatever_is_wrong_with_a_node_what_it_offers_can_be_prepared_and_changes_nothing_else(
    linked_bench_in: Callable[..., Any], node: tuple[str, str, list[str], bool, bool]
) -> None:
    name, text, faults, anew, unbound = node
    with short_folder() as folder:
        file = Path(folder) / f"{name}.yaml"
        file.write_text(text)
        bench = linked_bench_in(Path(folder), None, str(file))
        disturb(bench, faults, anew=anew, unbound=unbound)
        found = published(bench)

        for device in offers(found):
            for claim in claims_for(bench, device) if device.name.startswith("nic-") else ():
                bench.driver.prepare(claim)
                during = published(bench)
                bench.unprepare("u1")
                assert kept(during, is_unbound=unbound) == kept(found, is_unbound=unbound)
                assert during.by_name.keys() == found.by_name.keys()


def kept(found: NodeDevices, *, is_unbound: bool) -> dict[str, object]:
    """What is offered, without what is not known of a VF alone while VFIO has it: whether it had RDMA, which
    an interface on InfiniBand needs, and whether it had a driver where VFs get none.
    """

    def hidden(device: Device) -> set[str]:
        is_infiniband = device.attributes.get(f"{DRIVER}/linkType") == "infiniband"
        unknown = {"rdmaCapable"} | ({"netdevCapable"} if is_unbound or is_infiniband else set())
        return {f"{DRIVER}/{name}" for name in unknown}

    return {
        device.name: {key: value for key, value in device.attributes.items() if key not in hidden(device)}
        for device in found.pool.devices
    }


def test_a_vf_that_got_its_rdma_device_after_the_node_was_read_is_given(bench_of: Callable[..., Any]) -> None:
    bench = bench_of("a30x4")
    bench.inject("nic-0:no-rdma")
    for count in (0, 2):
        bench.simulated.set_vfs(Bdf("0000:19:00.0"), count)
    bench.driver.reconcile()
    bench.simulated.clear_faults()

    assert bench.prepare("u1", "nic-0000-19-00-0-vf-0")


def test_a_vf_that_an_operator_gave_to_vfio_is_offered_for_it(bench_of: Callable[..., Any]) -> None:
    bench = bench_of("a30x4")
    bench.machine.nics.functions.give_to(Bdf("0000:19:00.2"), VFIO_PCI)

    (device,) = (one for one in offers(published(bench)) if one.name == "nic-0000-19-00-0-vf-0")
    claim = list(claims_for(bench, device))[-1]

    assert bench.driver.prepare(claim)
    bench.unprepare("u1")
    assert bench.machine.nics.reader.binding(Bdf("0000:19:00.2")) == DriverBinding(VFIO_PCI, VFIO_PCI)
