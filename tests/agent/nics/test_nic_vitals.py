"""The health of NICs: links without a carrier, ports that are not active."""

from __future__ import annotations

import pytest

from agent.hardware.errors import NotFound
from agent.hardware.health.types import NicVitals
from agent.hardware.nics.links import SetUp
from agent.hardware.nics.reading.sysfs_nics import SysfsNics
from agent.hardware.nics.types import LinkState, VfSettings
from agent.hardware.simulated import InvalidFault, SimulatedMachine, parse_fault
from agent.hardware.types import Bdf

PF, VF, OTHER_PF = Bdf("0000:19:00.0"), Bdf("0000:19:00.2"), Bdf("0000:19:00.1")
INFINIBAND_PF = Bdf("0000:0c:00.0")


def vitals(host: SimulatedMachine, bdf: Bdf) -> NicVitals:
    return SysfsNics(host.root).nic_vitals(bdf)


def test_a_healthy_nic_and_its_vf_have_links_and_active_ports(host) -> None:
    for bdf in (PF, VF):
        assert vitals(host, bdf) == NicVitals(bdf=bdf, has_link=True)


def test_a_link_that_goes_down_takes_vfs_and_ports_with_it_and_no_other_nic(host) -> None:
    host.inject(parse_fault("nic-0:link-down"))

    for bdf in (PF, VF):
        found = vitals(host, bdf)
        assert found.has_link is False
        assert len(found.ports_down) == 1
    assert vitals(host, OTHER_PF) == NicVitals(bdf=OTHER_PF, has_link=True)


def test_a_port_can_be_down_while_an_ethernet_link_is_up(host) -> None:
    host.inject(parse_fault("nic-0:port-down"))

    assert vitals(host, PF) == NicVitals(bdf=PF, has_link=True, ports_down=("mlx5_0/1",))


def test_an_infiniband_link_is_down_while_its_port_is(infiniband) -> None:
    infiniband.inject(parse_fault("nic-0:port-down"))

    found = vitals(infiniband, INFINIBAND_PF)

    assert found.has_link is False
    assert found.ports_down == ("mlx5_0/1",)


@pytest.mark.parametrize(("state", "has_link"), [(LinkState.ENABLE, True), (LinkState.AUTO, False)])
def test_a_vf_follows_its_pf_unless_its_setting_holds_it_up(host, state: LinkState, has_link: bool) -> None:
    pf = host.node.nics[0]
    name = SysfsNics(host.root).interfaces(pf.bdf)[0].name
    host.kernel.set_vf(name, 0, VfSettings(link_state=state))

    host.inject(parse_fault("nic-0:link-down"))

    assert vitals(host, VF).has_link is has_link


def test_a_vf_whose_setting_holds_it_down_has_no_link(host) -> None:
    name = SysfsNics(host.root).interfaces(PF)[0].name

    host.kernel.set_vf(name, 0, VfSettings(link_state=LinkState.DISABLE))

    assert vitals(host, VF).has_link is False
    assert vitals(host, PF).has_link is True


def test_nothing_is_known_of_a_link_that_is_set_down(host) -> None:
    name = SysfsNics(host.root).interfaces(PF)[0].name

    host.kernel.apply(None, SetUp(name, False))

    assert vitals(host, PF).has_link is None


def test_a_cleared_fault_brings_link_and_port_back(host) -> None:
    healthy = vitals(host, PF)
    host.inject(parse_fault("nic-0:link-down"))

    host.clear_faults()

    assert vitals(host, PF) == healthy


def test_a_function_that_is_gone_is_not_found(host) -> None:
    with pytest.raises(NotFound):
        vitals(host, Bdf("0000:99:00.0"))


@pytest.mark.parametrize("text", ["machine:link-down", "nic-0:port-down=1"])
def test_a_link_fault_is_one_of_a_nic_and_takes_no_number(text: str) -> None:
    with pytest.raises(InvalidFault):
        parse_fault(text)
