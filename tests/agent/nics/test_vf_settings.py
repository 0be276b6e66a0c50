"""What a PF sets for its VFs is set field by field, refused by name, and restored."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.requests.link import LinkIPRouteFilter

from agent.hardware.errors import AlreadyTaken, InvalidArgument, NotFound, NotSupported
from agent.hardware.guids import ALL_ONES, NO_GUID
from agent.hardware.nics.types import VFIO_PCI, LinkState, VfSettings
from agent.hardware.nics.vf_messages import request, settings
from agent.hardware.nics.vf_settings import changes
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import parse_fault
from agent.hardware.types import Bdf

PF, QUIET_PF, VF = Bdf("0000:19:00.0"), Bdf("0000:19:00.1"), Bdf("0000:19:00.2")
MAC = "02:00:00:00:00:77"
ALL = VfSettings(
    mac=MAC,
    vlan=100,
    qos=3,
    min_rate=1000,
    max_rate=10_000,
    spoof_check=False,
    trust=True,
    link_state=LinkState.ENABLE,
)
complete = st.builds(
    VfSettings,
    mac=st.sampled_from(["00:00:00:00:00:00", MAC, "02:00:00:00:00:78"]),
    vlan=st.integers(0, 3),
    qos=st.integers(0, 2),
    min_rate=st.integers(0, 2),
    max_rate=st.integers(2, 4),
    spoof_check=st.booleans(),
    trust=st.booleans(),
    link_state=st.sampled_from(LinkState),
    node_guid=st.sampled_from([NO_GUID, "02:00:00:00:00:00:00:01"]),
    port_guid=st.sampled_from([NO_GUID, "02:00:00:00:00:00:00:02"]),
)


def merged(present: VfSettings, change: VfSettings) -> VfSettings:
    names = VfSettings.__dataclass_fields__
    given = {name: getattr(change, name) for name in names if getattr(change, name) is not None}
    return VfSettings(**{name: getattr(present, name) for name in names} | given)


def test_all_settings_are_set_and_restored(nics) -> None:
    before = nics.settings.write(PF, 0, ALL)
    during = nics.settings.read(PF, 0)

    nics.settings.restore(PF, 0, before)

    assert during == ALL
    assert nics.settings.read(PF, 0) == before
    assert before.spoof_check is True


def test_what_is_not_given_stays(nics) -> None:
    nics.settings.write(PF, 1, ALL)

    nics.settings.write(PF, 1, VfSettings(vlan=7))

    assert nics.settings.read(PF, 1) == merged(ALL, VfSettings(vlan=7))


def test_what_is_set_already_is_not_written(host, nics) -> None:
    nics.settings.write(PF, 0, ALL)
    host.inject(parse_fault("nic-0:set-vf-settings:hardware-fault"))

    assert nics.settings.write(PF, 0, ALL) == ALL


@given(complete, complete)
def test_the_changes_lead_from_one_to_the_other_and_each_changes_something(
    present: VfSettings, wanted: VfSettings
) -> None:
    now = present
    for change in changes(wanted, present):
        assert merged(now, change) != now
        now = merged(now, change)
    assert now == wanted


@given(complete)
def test_the_address_is_set_before_trust_and_spoof_check(wanted: VfSettings) -> None:
    order = list(changes(wanted, VfSettings()))
    macs = [at for at, change in enumerate(order) if change.mac is not None]
    switches = [
        at for at, change in enumerate(order) if change.trust is not None or change.spoof_check is not None
    ]

    assert not macs or macs[0] < min(switches)


@given(st.integers(0, 127), complete)
def test_what_is_asked_of_the_kernel_is_what_it_reads(index: int, wanted: VfSettings) -> None:
    message = ifinfmsg()
    message["attrs"] = [("IFLA_VFINFO_LIST", LinkIPRouteFilter("set").get_vf(request(index, wanted)))]
    message.encode()
    decoded = ifinfmsg(message.data)
    decoded.decode()

    assert settings(decoded) == {index: wanted}


def test_a_switch_that_the_driver_does_not_have_is_unknown() -> None:
    message = ifinfmsg()
    entry = [
        ("IFLA_VF_MAC", {"vf": 4, "mac": MAC}),
        ("IFLA_VF_SPOOFCHK", {"vf": 4, "spoofchk": 0xFFFFFFFF}),
        ("IFLA_VF_TRUST", {"vf": 4, "trust": 0xFFFFFFFF}),
    ]
    message["attrs"] = [("IFLA_VFINFO_LIST", {"attrs": [("IFLA_VF_INFO", {"attrs": entry})]})]
    message.encode()
    decoded = ifinfmsg(message.data)
    decoded.decode()

    assert settings(decoded) == {4: VfSettings(mac=MAC)}


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (VfSettings(vlan=4095), "between 0 (none) and 4094"),
        (VfSettings(vlan=5, qos=8), "between 0 and 7"),
        (VfSettings(vlan=0, qos=1), "needs a VLAN"),
        (VfSettings(mac="nonsense"), "six hex bytes"),
        (VfSettings(mac="01:00:00:00:00:01"), "unicast"),
        (VfSettings(min_rate=-1), "must not be negative"),
        (VfSettings(min_rate=20, max_rate=10), "above max_rate, 10"),
        (VfSettings(node_guid="02:00:00:00:00:01"), "eight hex bytes"),
        (VfSettings(port_guid=NO_GUID), "no GUID"),
        (VfSettings(port_guid=ALL_ONES.upper()), "no GUID"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_rule_and_nothing_changes(nics, wrong, rule: str) -> None:
    before = nics.settings.read(PF, 0)

    with pytest.raises(InvalidArgument) as refusal:
        nics.settings.write(PF, 0, wrong)

    assert rule in refusal.value.reason
    assert nics.settings.read(PF, 0) == before


def test_a_rate_above_the_link_s_is_the_driver_s_refusal(nics) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        nics.settings.write(PF, 0, VfSettings(max_rate=999_999))

    assert refusal.value.errno == errno.EINVAL
    assert "max rate 999999" in str(refusal.value)


def test_an_address_that_a_sibling_has_is_refused_before_anything_is_set(nics) -> None:
    nics.settings.write(PF, 1, VfSettings(mac=MAC))
    before = nics.settings.read(PF, 0)

    with pytest.raises(AlreadyTaken) as refusal:
        nics.settings.write(PF, 0, ALL)

    assert f"VF 1 of the same PF has {MAC}" in refusal.value.reason
    assert nics.settings.read(PF, 0) == before


def test_the_kernel_refuses_a_taken_address_too(host, nics) -> None:
    nics.settings.write(PF, 1, VfSettings(mac=MAC))

    with pytest.raises(OSError) as refusal:  # noqa: PT011 (the number is compared)
        host.kernel.set_vf("enp25s0", 0, VfSettings(mac=MAC))

    assert refusal.value.errno == errno.EADDRINUSE


def test_a_vf_that_does_not_exist_is_not_found(nics) -> None:
    with pytest.raises(NotFound) as refusal:
        nics.settings.read(PF, 2)

    assert "VFs [0, 1]" in refusal.value.reason


def test_an_infiniband_pf_sets_the_link_state_alone(infiniband) -> None:
    port = simulated_hardware(infiniband).nics.settings
    pf = infiniband.node.nics[0].bdf
    port.write(pf, 0, VfSettings(link_state=LinkState.DISABLE))

    with pytest.raises(NotSupported) as refusal:
        port.write(pf, 0, VfSettings(max_rate=5))

    assert "leave this setting out" in refusal.value.remedy
    assert port.read(pf, 0).link_state is LinkState.DISABLE
    assert port.read(pf, 0).trust is None


def test_a_pf_without_an_interface_says_who_must_act(nics, namespace) -> None:
    nics.interfaces.move_in(PF, namespace, WantedInterface())

    with pytest.raises(NotFound) as refusal:
        nics.settings.read(PF, 0)

    assert "in the host's network namespace" in refusal.value.remedy


def test_a_vf_s_interface_has_the_pf_s_address_after_its_driver_started_again(nics) -> None:
    nics.settings.write(PF, 0, VfSettings(mac=MAC))
    before = nics.reader.interfaces(VF)[0].mac
    original = nics.functions.give_to(VF, VFIO_PCI)
    nics.functions.restore(VF, original)

    assert before != MAC
    assert nics.reader.interfaces(VF)[0].mac == MAC
