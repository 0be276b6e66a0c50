"""How many VFs NICs shall have: read from the option, and offered before they exist."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.__main__ import main as agent
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, parse_fault
from agent.inventory import describe, discover
from agent.inventory.published import NicVf
from agent.inventory.vfs.option import read_vf_rules
from agent.inventory.vfs.rules import VfRule, VfRules
from agent.publishing.fixed import fixed_pool
from agent.slices import composite_slices, encoded, v1_slices
from daemon.command_line import InvalidOption
from plugin.__main__ import main as plugin
from scheduler_core.books.ledger import Ledger
from scheduler_core.codec import v1
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten

PF, NAME = "0000:19:00.1", "nic-0000-19-00-1"
OTHER = "nic-0000-19-00-0"
ON_DEMAND = f"{PF}=on-demand:3"
WRONG = [
    "",
    "all",
    "all=",
    "all=static",
    "all=static:0",
    "all=static:08",
    "all=static:65536",
    "all=on-demand:-1",
    "all=on_demand:4",
    "all=keep:1",
    "=static:1",
    "all=static:1,",
    "all=static:1,all=keep",
    "0000:19:00.1=keep,0000:19:00.1=keep",
    "0000:3B:00.0=keep,0000:3b:00.0=keep",
    "a-name-that-is-too-long=keep",
    "..=keep",
    "ens 1=keep",
    "0000:19:00=keep",
    "all=static:١",
]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A NIC with two VFs, and one without any that can have four."""
    return SimulatedMachine.open(load_node("a30x4"), tmp_path_factory.mktemp("a30x4"))


@pytest.fixture
def described(machine):
    def run(text, present=0):
        machine.set_vfs(PF, 0)
        machine.set_vfs(PF, present)
        inventory = discover(simulated_hardware(machine).readers, "a30x4")
        return describe(replace(inventory, vfs=read_vf_rules(text)))

    return run


def vfs_of(devices, nic=NAME):
    return [str(name) for name in devices.by_name if name.startswith(f"{nic}-vf-")]


def counted(devices):
    """What is counted, in composite form: sources, draws and capacities of NICs by name."""
    return {
        one.name: (dict(one.capacity), one.draws)
        for one in devices.pool.devices
        if one.name.startswith("nic-")
    }


def attributes(devices, name):
    (found,) = (one.attributes for one in devices.pool.devices if one.name == name)
    return {str(key).rpartition("/")[2]: value for key, value in found.items()}


def admits(pool, taken, name):
    books = Ledger(pool)
    books.take(taken, "first")
    return copy(books).admits(name)


def test_the_option_is_read_as_rules_by_address_by_interface_and_for_the_rest():
    found = read_vf_rules("0000:3B:00.0=static:8,ens1f0=on-demand:16,eth9=keep,all=on-demand:4")

    named = {"0000:3b:00.0": VfRule(8), "ens1f0": VfRule(16, on_demand=True), "eth9": None}
    assert found == VfRules(named, VfRule(4, on_demand=True))
    assert read_vf_rules(None) is None


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_option_is_refused_with_its_value_and_rule(text):
    with pytest.raises(InvalidOption, match="NIC=static:N, NIC=on-demand:N or NIC=keep") as refusal:
        read_vf_rules(text)

    assert (refusal.value.option, refusal.value.value) == ("--vfs", text)


@pytest.mark.parametrize("program", [agent, plugin])
def test_agent_and_plugin_refuse_it_with_one_message(program, capsys, tmp_path):
    more = ["--claims", str(tmp_path)] if program is plugin else []

    assert program(["--vfs", "all=static:0", "--node-name", "n", *more]) == 2
    assert capsys.readouterr().err.count("cannot use --vfs 'all=static:0': must be NIC=static:N") == 1


@given(st.text(alphabet="0123456789abcdef:.=,-staticondemandkeepall", max_size=40))
def test_any_text_is_rules_or_one_error(text):
    try:
        rules = read_vf_rules(text)
    except InvalidOption:
        return
    ruled = [*rules.named.values(), rules.rest]
    assert all(1 <= rule.count <= 65535 for rule in ruled if rule is not None)


def test_an_address_counts_before_an_interface_and_both_before_all(machine):
    inventory = discover(simulated_hardware(machine).readers, "a30x4")
    pf = inventory.nics[1]
    by_name, by_address, rest = VfRule(1), VfRule(2), VfRule(3)

    assert VfRules({pf.netdev: by_name, PF: by_address}, rest).rule_of(pf) == by_address
    assert VfRules({pf.netdev: by_name}, rest).rule_of(pf) == by_name
    assert VfRules({PF: None}, rest).rule_of(pf) is None
    assert VfRules({}, rest).rule_of(pf) == rest
    assert VfRules({}, rest).rule_of(replace(pf, total_vfs=0)) is None


def test_without_the_option_the_vfs_that_exist_are_offered_and_no_others(described):
    assert vfs_of(described(None)) == []
    assert vfs_of(described(None, present=2)) == [f"{NAME}-vf-0", f"{NAME}-vf-1"]
    assert described(f"{PF}=keep").pool == described(None).pool


def test_vfs_on_demand_are_offered_under_their_index_before_they_exist(described):
    devices = described(ON_DEMAND)

    assert vfs_of(devices) == [f"{NAME}-vf-{index}" for index in range(3)]
    assert devices.pool.rejected == {}
    found = attributes(devices, f"{NAME}-vf-2")
    assert found["type"] == "vf"
    assert found["vfIndex"] == 2
    assert found["rdmaCapable"] is True
    assert found["pfPciAddress"] == PF
    assert not {"pciBusID", "deviceID"} & found.keys()


def test_vfs_that_come_to_exist_get_their_address_and_change_nothing_that_is_counted(described):
    before, after = described(ON_DEMAND), described(ON_DEMAND, present=3)

    assert counted(before) == counted(after)
    assert list(before.by_name) == list(after.by_name)
    known, now = (attributes(devices, f"{NAME}-vf-1") for devices in (before, after))
    assert now == known | {"pciBusID": "0000:19:00.7", "deviceID": now["deviceID"]}


@pytest.mark.parametrize(("troubles", "is_capable"), [((), True), (("nic-1:no-iommu",), False)])
def test_what_a_vf_can_be_used_for_is_told_before_it_exists_and_stays(
    machine, described, troubles, is_capable
):
    for fault in troubles:
        machine.inject(parse_fault(fault))
    try:
        before, after = (attributes(described(ON_DEMAND, present), f"{NAME}-vf-1") for present in (0, 3))
    finally:
        machine.clear_faults()

    assert before["vfioCapable"] is after["vfioCapable"] is is_capable
    assert before["rdmaCapable"] is after["rdmaCapable"] is True


def test_what_is_offered_without_a_rule_does_not_depend_on_the_rules_of_others(described):
    plain, ruled = described(None), described(ON_DEMAND)

    def of_others(devices):
        return [one for one in devices.pool.devices if not one.name.startswith(NAME)]

    assert of_others(plain) == of_others(ruled)


@pytest.mark.parametrize("present", [0, 3])
def test_the_nic_and_its_vfs_on_demand_exclude_each_other_by_counting_in_both_dialects(described, present):
    devices = described(ON_DEMAND, present)
    composite = flatten([decode_slice(one) for one in encoded(composite_slices(devices))])
    projected = [
        v1.pools(v1.decode_slice(one) for one in v1_slices(devices, layout))[0]
        for layout in (Layout.SEPARATE, Layout.TOGETHER)
    ]
    for pool in (composite, *projected):
        assert not admits(pool, NAME, f"{NAME}-vf-0")
        assert not admits(pool, f"{NAME}-vf-2", NAME)
        assert admits(pool, f"{NAME}-vf-2", f"{NAME}-vf-0")
        assert admits(pool, NAME, OTHER)


def test_where_nothing_is_counted_vfs_on_demand_are_offered_instead_of_their_nic(described):
    names = {str(one.name) for one in fixed_pool(described(ON_DEMAND), ()).devices}

    assert NAME not in names
    assert {f"{NAME}-vf-{index}" for index in range(3)} <= names


def test_another_number_that_is_there_is_what_is_offered_and_is_told(described):
    devices = described(ON_DEMAND, present=2)

    assert vfs_of(devices) == [f"{NAME}-vf-0", f"{NAME}-vf-1"]
    assert any(one.startswith(f"{NAME}: 3 VFs are asked for, and it has 2 now") for one in devices.left_out)


def test_more_than_the_nic_can_have_is_not_offered_and_told(described):
    devices = described(f"{PF}=on-demand:5")

    assert vfs_of(devices) == []
    told = f"{NAME}: 5 VFs are asked for, and it can have 4: the operator asks for fewer"
    assert any(one.startswith(told) for one in devices.left_out)


def test_a_nic_that_the_node_lacks_is_told(described):
    assert (
        "VFs of NIC ens9: the node has no NIC with this address or interface"
        in described("ens9=static:2").left_out
    )


def test_of_a_fixed_number_only_what_exists_is_offered(described):
    devices = described(f"{PF}=static:3")

    assert vfs_of(devices) == []
    assert any(one.startswith(f"{NAME}: 3 VFs are asked for, and it has 0 now") for one in devices.left_out)
    assert all(
        vf.on_demand is None
        for vf in described(f"{PF}=static:3", 3).by_name.values()
        if isinstance(vf, NicVf)
    )
