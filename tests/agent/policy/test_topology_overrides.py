"""Where an operator says that devices are counts before what the kernel says, and is marked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.hardware.types import Bdf, PciePath, PciFunction
from agent.inventory.describe import describe
from agent.inventory.model import Fabric, LinkedGpus
from agent.inventory.offered import offered
from agent.inventory.options.settings import Settings
from agent.inventory.topology import StatedPlace
from agent.policy.applied import settings_on
from agent.policy.effect import Held, in_effect
from agent.policy.files import BadPolicy
from agent.policy.resolution import resolve
from agent.policy.resolved import Resolved
from scheduler_core.base import limits
from scheduler_core.frontends.partitions.table import table_of

MARK = "tangram.dev/topologyOverride"
NUMA, ROOT = "resource.kubernetes.io/numaNode", "resource.kubernetes.io/pcieRoot"
SWITCH = "tangram.dev/pcieSwitch"


@pytest.fixture
def published(policy, nics):
    """Return the devices of four A30s and two NICs under these rules, by name, and what is left out."""

    def describe_under(rules: str, node=nics, linked: LinkedGpus | None = None):
        found = policy(rules).placed(lambda one: resolve(one, {}, node)).settings
        inventory = settings_on(Settings(linked=linked), found, node).on(node)
        devices = describe(offered(inventory))
        return {one.name: dict(one.attributes) for one in devices.pool.devices}, devices.left_out

    return describe_under


def test_a_pattern_moves_a_nic_with_its_vfs_and_every_one_of_them_says_so(published) -> None:
    devices, _ = published(
        "- topology:\n  - {pciAddresses: ['0000:19:*'], numaNode: 1, pcieRoot: 'pci0000:85'}\n"
    )
    moved = [name for name in devices if name.startswith("nic-")]

    assert len(moved) == 4
    for name in moved:
        assert (devices[name][NUMA], devices[name][ROOT]) == (1, "pci0000:85")
        assert devices[name][MARK] == "numaNode,pcieRoot"
    assert not [name for name in devices if name not in moved and MARK in devices[name]]


def test_a_gpu_moves_with_all_that_is_cut_from_it(published) -> None:
    before, _ = published("- imexChannels: 0\n")
    after, _ = published("- topology:\n  - {pciAddresses: ['0000:17:00.0'], pcieSwitch: '0000:20:00.0'}\n")

    for name, attributes in after.items():
        is_moved = name == "gpu-0" or name.startswith("gpu-0-")
        assert attributes.get(SWITCH) == ("0000:20:00.0" if is_moved else before[name].get(SWITCH)), name
        assert attributes.get(MARK) == ("pcieSwitch" if is_moved else None), name
        assert attributes[NUMA] == before[name][NUMA]


def test_what_an_override_does_not_name_stays_as_the_kernel_says_it(nics) -> None:
    function = nics.gpus[0].function

    moved = StatedPlace(numa_node=7).on(function)

    assert replace(moved, numa_node=function.numa_node, stated=()) == function


def test_an_address_counts_before_a_pattern_and_a_rule_for_nodes_before_one_for_all(policy, nics) -> None:
    rules = (
        "- topology:\n  - {pciAddresses: ['0000:19:00.*'], numaNode: 2, pcieRoot: 'pci0000:85'}\n"
        "  - {pciAddresses: ['0000:19:00.1'], numaNode: 3}\n"
        "- nodes: {matchLabels: {a: b}}\n  topology:\n  - {pciAddresses: ['*:19:00.0'], numaNode: 4}\n"
    )
    file = policy(rules)

    def numa_nodes(**labels: str) -> list[int | None]:
        places = file.placed(lambda one: resolve(one, labels, nics)).settings.places
        return [places[pf.function.bdf].numa_node for pf in nics.nics]

    assert numa_nodes() == [2, 3]
    assert numa_nodes(a="b") == [4, 3]


def test_two_overrides_that_disagree_about_a_device_are_refused_with_the_line(policy, nics) -> None:
    rules = (
        "- topology:\n  - {pciAddresses: ['0000:19:*'], numaNode: 0}\n"
        "  - {pciAddresses: ['*:00.1'], numaNode: 1}\n"
    )

    with pytest.raises(BadPolicy) as refused:
        policy(rules).placed(lambda one: resolve(one, {}, nics))

    assert str(refused.value).startswith(
        "policy.yaml:6: rules[0].topology[1].numaNode: disagrees with rules[0].topology[0].numaNode "
        "about 0000:19:00.1; "
    )


def test_an_override_that_matches_no_device_is_told(policy, nics) -> None:
    rules = "- topology:\n  - {pciAddresses: ['0000:ff:*'], numaNode: 0}\n"

    found = policy(rules).placed(lambda one: resolve(one, {}, nics))

    assert found.idle == ("rules[0].topology[0]: matches no GPU or NIC of node node-1",)


def test_gpus_that_nvlink_joins_are_where_the_policy_says(published, nics) -> None:
    linked = LinkedGpus(table_of("table", {"2": [{"minors": [1, 2], "allocationScore": 1}]}))
    rules = "- topology:\n  - {pciAddresses: ['0000:86:00.0'], numaNode: 0}\n"

    apart, _ = published("- imexChannels: 0\n", replace(nics, fabric=Fabric()), linked)
    together, _ = published(rules, replace(nics, fabric=Fabric()), linked)

    assert NUMA not in apart["gpus-1-2"]
    assert (together["gpus-1-2"][NUMA], together["gpus-1-2"][MARK]) == (0, "numaNode")


def test_a_gpu_that_the_kernel_places_nowhere_gets_a_place(published, nics) -> None:
    first, *rest = nics.gpus
    lost = replace(first, function=replace(first.function, numa_node=None, path=PciePath()))

    devices, _ = published(
        "- topology:\n  - {pciAddresses: ['0000:17:*'], numaNode: 1, pcieRoot: 'pci0000:85'}\n",
        replace(nics, gpus=(lost, *rest)),
    )

    assert (devices["gpu-0"][NUMA], devices["gpu-0"][ROOT]) == (1, "pci0000:85")


def test_a_marked_device_stays_within_the_limit_and_gives_up_what_repeats_another_attribute(
    policy, node
) -> None:
    rules = (
        "- gpus:\n  - modes: [whole, mig, fraction, mps]\n    attributes: {a.b/c: x, a.b/d: y}\n"
        "  topology:\n  - {pciAddresses: ['*'], pcieRoot: 'pci0000:00', pcieSwitch: '0000:01:00.0'}\n"
    )
    found = policy(rules).placed(lambda one: resolve(one, {}, node)).settings
    devices = describe(offered(settings_on(Settings(), found, node).on(node)))

    for one in devices.pool.devices:
        assert len(one.attributes) + len(one.capacity) <= limits.PROPERTIES, one.name
        assert MARK in one.attributes, one.name


def test_an_override_counts_at_once_also_for_devices_that_claims_have(policy, nics) -> None:
    rules = "- topology:\n  - {pciAddresses: ['*'], numaNode: 1}\n"
    wanted = policy(rules).placed(lambda one: resolve(one, {}, nics)).settings

    effect = in_effect(Resolved(), wanted, Held(is_unknown=True), {})

    assert effect.settings.places == wanted.places
    assert effect.waiting == ()


STATED = st.builds(
    StatedPlace,
    st.none() | st.integers(0, 3),
    st.none() | st.just("pci0000:85"),
    st.none() | st.just(Bdf("0000:01:00.0")),
    st.none() | st.just(Bdf("0000:02:00.0")),
)
FUNCTIONS = st.builds(
    PciFunction,
    bdf=st.just(Bdf("0000:17:00.0")),
    vendor_id=st.just("10de"),
    device_id=st.just("20b7"),
    class_code=st.just("030200"),
    numa_node=st.none() | st.integers(0, 3),
    path=st.builds(PciePath, st.none() | st.just("pci0000:16"), st.none(), st.just(())),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(place=STATED, function=FUNCTIONS)
def test_what_is_stated_is_what_counts_and_saying_it_twice_changes_nothing(place, function) -> None:
    once = place.on(function)

    found = {
        "numaNode": once.numa_node,
        "pcieRoot": once.path.root_complex,
        "pcieRootPort": once.path.root_port,
        "pcieSwitch": next(iter(once.path.switches), None),
    }
    assert place.words.items() <= found.items()
    assert set(once.stated) == set(place.words)
    assert place.on(once) == once
