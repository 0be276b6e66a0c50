"""An InfiniBand VF without GUIDs gets them when it is prepared, and loses them when it is unprepared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from infiniband_vfs import (
    EXAMPLES,
    NONE,
    OTHER_PF,
    PF,
    SIBLING,
    SIBLING_BDF,
    VF,
    VF_BDF,
    VF_ON_DEMAND,
    guids_of,
)

from agent.hardware.guids import ALL_ONES, NO_GUID, of_vf
from agent.hardware.nics.types import VFIO_PCI, LinkState, VfSettings
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.simulated.state import StateFile
from agent.hardware.types import Bdf
from plugin.base.errors import ClaimUnusable, HardwareFailed, NotReady, PluginError
from plugin.kinds.nic_vf.netdev import NetdevVfKind
from plugin.kinds.nic_vf.rdma import RdmaVfKind
from plugin.kinds.nic_vf.vfio import VfioVfKind
from plugin.kinds.table import AnyKind
from scheduler_core.model.claim import OpaqueConfig

OPERATORS = "11:22:33:44:55:66:77:88"
each_kind = pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
on_host = pytest.mark.parametrize(
    "kind", [kind for kind in EXAMPLES if kind is not VfioVfKind], ids=lambda kind: kind.__name__
)


@pytest.fixture
def bench(infiniband_bench: Any) -> Any:
    return infiniband_bench


def prepare(
    bench: Any, kind: type[AnyKind] = RdmaVfKind, device: str = VF, uid: str = "u1", **more: Any
) -> Any:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", **(EXAMPLES[kind].parameters or {}), **more}
    configs = (OpaqueConfig(driver="tangram.dev", parameters=parameters),)
    return bench.driver.prepare(bench.claim(uid, device, configs=configs))


def guids(bench: Any, function: Bdf = VF_BDF) -> tuple[str | None, str | None]:
    return guids_of(bench.machine.nics.reader, function)


def settings(bench: Any, pf: Bdf = PF, index: int = 0) -> VfSettings:
    found: VfSettings = bench.machine.nics.settings.read(pf, index)
    return found


def own_guid(bench: Any, pf: Bdf = PF, index: int = 0) -> str:
    node_guid, _ = guids(bench, pf)
    assert node_guid is not None
    return of_vf(node_guid, index)


def port_of(bench: Any, function: Bdf = VF_BDF) -> str:
    (device,) = bench.machine.nics.reader.rdma_devices(function)
    text: str = (bench.simulated.root / f"sys/class/infiniband/{device.name}/ports/1/state").read_text()
    return text.strip()


def test_vfs_without_guids_are_offered(bench: Any) -> None:
    assert guids(bench) == NONE
    assert {VF, SIBLING} <= set(bench.names())


@each_kind
def test_a_vf_gets_its_guids_and_follows_the_link_and_is_as_before_afterwards(
    bench: Any, kind: type[AnyKind]
) -> None:
    before = settings(bench)

    prepare(bench, kind)
    during = settings(bench)
    bench.unprepare("u1")

    own = own_guid(bench)
    assert (during.node_guid, during.port_guid, during.link_state) == (own, own, LinkState.AUTO)
    assert (
        settings(bench)
        == before
        == VfSettings(
            **{name: getattr(before, name) for name in ("mac", "vlan", "qos", "min_rate", "max_rate")},
            link_state=LinkState.DISABLE,
            node_guid=NO_GUID,
            port_guid=NO_GUID,
        )
    )
    assert guids(bench) == NONE
    assert bench.leftovers() == []


@on_host
def test_the_driver_has_read_them_and_the_port_is_active(bench: Any, kind: type[AnyKind]) -> None:
    prepare(bench, kind)

    assert guids(bench) == (own_guid(bench),) * 2
    assert port_of(bench) == "4: ACTIVE"
    assert guids(bench, SIBLING_BDF) == NONE
    assert port_of(bench, SIBLING_BDF) == "1: DOWN"


def test_a_vf_for_vfio_is_read_by_the_programs_driver_from_the_pf(bench: Any) -> None:
    bench.machine.nics.functions.give_to(VF_BDF, VFIO_PCI)  # an operator did: nothing of the VF can be read

    prepare(bench, VfioVfKind)
    during = settings(bench).port_guid
    bench.unprepare("u1")

    assert during == own_guid(bench)
    assert settings(bench).port_guid == NO_GUID
    assert bench.machine.nics.reader.binding(VF_BDF).driver == VFIO_PCI


@each_kind
def test_a_vf_on_demand_gets_them_too(bench: Any, kind: type[AnyKind]) -> None:
    prepare(bench, kind, VF_ON_DEMAND)
    during = settings(bench, OTHER_PF, 1).node_guid
    expected = own_guid(bench, OTHER_PF, 1)
    bench.unprepare("u1")

    assert during == expected
    assert bench.vfs(OTHER_PF) == 0
    assert bench.leftovers() == []


@each_kind
def test_a_second_call_and_a_restart_change_nothing(bench: Any, kind: type[AnyKind]) -> None:
    def functions() -> object:
        return StateFile(bench.simulated.directory).read().functions

    first = prepare(bench, kind)
    hardware = functions()

    assert prepare(bench, kind) == first
    bench.restart()
    assert prepare(bench, kind) == first
    assert functions() == hardware


def test_guids_that_an_operator_set_and_the_driver_read_are_left_alone(bench: Any) -> None:
    nics = bench.machine.nics
    nics.settings.write(
        PF, 0, VfSettings(node_guid=OPERATORS, port_guid=OPERATORS, link_state=LinkState.AUTO)
    )
    nics.functions.restart(VF_BDF, nics.reader.binding(VF_BDF))
    state = StateFile(bench.simulated.directory).read().functions

    prepare(bench)
    assert StateFile(bench.simulated.directory).read().functions == state
    bench.unprepare("u1")

    assert guids(bench) == (OPERATORS, OPERATORS)


@on_host
def test_guids_that_an_operator_set_and_the_driver_did_not_read_are_used(
    bench: Any, kind: type[AnyKind]
) -> None:
    bench.machine.nics.settings.write(PF, 0, VfSettings(node_guid=OPERATORS, port_guid=OPERATORS))

    prepare(bench, kind)
    during = guids(bench)
    bench.unprepare("u1")

    assert during == (OPERATORS, OPERATORS) == guids(bench)
    assert settings(bench).link_state is LinkState.DISABLE


@each_kind
def test_a_firmware_that_takes_no_zero_gets_all_ones_which_is_no_guid(
    bench: Any, kind: type[AnyKind]
) -> None:
    bench.inject("nic-0:no-zero-guid")
    prepare(bench, kind)

    bench.unprepare("u1")

    left = StateFile(bench.simulated.directory).read().functions[VF_BDF]
    assert (left.setting.node_guid, left.setting.port_guid) == (ALL_ONES, ALL_ONES)
    assert guids(bench) == NONE
    assert bench.machine.nics.reader.nic_vitals(VF_BDF).ports_down == ()
    assert VF in bench.names()
    assert prepare(bench, kind, uid="u2")
    assert settings(bench).node_guid == own_guid(bench)
    bench.unprepare("u2")
    assert bench.records() == ()


def test_the_link_state_of_a_claim_stays_as_it_asks(bench: Any) -> None:
    prepare(bench, linkState="enable")
    during = settings(bench)
    bench.unprepare("u1")

    assert (during.link_state, during.node_guid) == (LinkState.ENABLE, own_guid(bench))
    assert settings(bench).link_state is LinkState.DISABLE


@pytest.mark.parametrize("call", ["set-vf-settings", "unbind", "probe", "override-driver"])
@pytest.mark.parametrize("refusal", ["not-supported", "hardware-fault", "in-use"])
@on_host
def test_a_refusal_is_reported_and_leaves_nothing(
    bench: Any, kind: type[AnyKind], call: str, refusal: str
) -> None:
    bench.inject(f"nic-0:{call}:{refusal}:1")

    with pytest.raises(PluginError, match=r"VF 0 of PF|0000:21:00\.1"):
        prepare(bench, kind)

    assert bench.leftovers() == []
    assert guids(bench) == NONE
    assert prepare(bench, kind)


def test_a_driver_that_does_not_let_go_at_the_end_is_asked_again(bench: Any) -> None:
    prepare(bench)
    bench.inject("nic-0:in-use")

    with pytest.raises(HardwareFailed, match="a program still uses the function"):
        bench.unprepare("u1")
    assert bench.records()
    bench.simulated.clear_faults()
    bench.unprepare("u1")

    assert guids(bench) == NONE
    assert bench.leftovers() == []


@on_host
def test_rdma_devices_that_come_late_are_awaited_each_time(bench: Any, kind: type[AnyKind]) -> None:
    bench.inject("nic-0:late-rdma=3")

    prepare(bench, kind)
    during = guids(bench)
    bench.unprepare("u1")

    assert during == (own_guid(bench),) * 2
    for _ in range(3):
        bench.machine.nics.reader.rdma_devices(VF_BDF)
    assert guids(bench) == NONE
    assert bench.leftovers() == []


def test_a_pf_whose_interface_is_gone_since_the_allocation_is_named(bench: Any) -> None:
    bench.driver.reconcile()
    interfaces = bench.machine.nics.interfaces
    interfaces.move_in(PF, bench.pod, WantedInterface())

    with pytest.raises(NotReady, match=r"zero.*no interface on the host.*ib_ipoib"):
        prepare(bench)


def test_an_interface_in_a_pod_has_the_guid_in_its_address_and_comes_back(bench: Any) -> None:
    prepare(bench, NetdevVfKind)
    bench.bring_in("u1", VF)
    link = bench.machine.nics.interfaces.find(VF_BDF, bench.pod)
    bench.unprepare("u1")

    assert link is not None
    assert link.mac.endswith(own_guid(bench))
    assert bench.leftovers() == []


def test_a_record_with_guids_is_not_read_by_a_version_that_would_leave_them(bench: Any) -> None:
    prepare(bench)
    (path,) = Path(bench.options.claims_dir).iterdir()

    *_, last = path.read_text().splitlines()
    assert last.startswith('{"version":4,')
    assert bench.restart()


@each_kind
def test_a_claim_names_its_guid(bench: Any, kind: type[AnyKind]) -> None:
    prepare(bench, kind, guid=OPERATORS.upper())
    during = settings(bench)
    bench.unprepare("u1")

    assert (during.node_guid, during.port_guid, during.link_state) == (OPERATORS, OPERATORS, LinkState.AUTO)
    assert guids(bench) == NONE
    assert bench.leftovers() == []


@each_kind
def test_a_vf_that_has_guids_gets_the_claims_and_then_its_own_back(
    infiniband_bench_in: Callable[..., Any], folder: Path, kind: type[AnyKind]
) -> None:
    bench = infiniband_bench_in(folder, "guids: false", "guids: true")
    before, had = settings(bench), guids(bench)

    prepare(bench, kind, guid=OPERATORS)
    during = settings(bench), None if kind is VfioVfKind else guids(bench)
    bench.unprepare("u1")

    assert during[0].port_guid == OPERATORS
    assert during[1] in (None, (OPERATORS, OPERATORS))
    assert (settings(bench), guids(bench)) == (before, had)
    assert NO_GUID not in had
    assert bench.leftovers() == []


def test_a_vf_that_has_guids_keeps_them_without_a_restart(
    infiniband_bench_in: Callable[..., Any], folder: Path
) -> None:
    bench = infiniband_bench_in(folder, "guids: false", "guids: true")
    bench.inject("nic-0:unbind:hardware-fault", "nic-0:set-vf-settings:hardware-fault")
    had = guids(bench)

    prepare(bench)

    assert guids(bench) == had


def of_pf(bench: Any) -> str:
    return guids(bench, PF)[0] or ""


def of_sibling(bench: Any) -> str:
    prepare(bench, device=SIBLING, uid="u0")
    return settings(bench, PF, 1).node_guid or ""


def of_other_nics_vf(bench: Any) -> str:
    prepare(bench, VfioVfKind, VF_ON_DEMAND, "u0")
    return settings(bench, OTHER_PF, 1).node_guid or ""


@each_kind
@pytest.mark.parametrize(
    ("holder", "said"),
    [
        (of_pf, "the PF itself"),
        (of_sibling, "VF 1 of the same PF"),
        (of_other_nics_vf, "VF 1 of PF 0000:22:00.0"),
    ],
)
def test_a_guid_that_the_node_has_already_is_refused_before_anything_is_changed(
    bench: Any, kind: type[AnyKind], holder: Callable[[Any], str], said: str
) -> None:
    taken = holder(bench)
    before = StateFile(bench.simulated.directory).read().functions

    with pytest.raises(HardwareFailed, match=rf"set the GUID.*{said}.* has {taken} already"):
        prepare(bench, kind, guid=taken)

    assert StateFile(bench.simulated.directory).read().functions == before


def test_a_guid_for_an_ethernet_vf_is_refused_with_the_field(
    bench_of: Callable[..., Any], folder: Path
) -> None:
    bench = bench_of("a30x4")

    with pytest.raises(ClaimUnusable, match=r"VfConfig\.guid: .*is for InfiniBand VFs"):
        prepare(bench, device="nic-0000-19-00-0-vf-0", guid=OPERATORS)

    assert bench.leftovers() == []
