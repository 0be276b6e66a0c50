"""Symmetry: which parts of a node are exchanged for one another when failures are remembered."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from searched_nodes import SEEDS, SETTINGS, questioned, settled

from scheduler_core.engine.search.search_rules import DistinctRule, MatchRule, SameScopeRule
from scheduler_core.engine.search.symmetry import Symmetry
from scheduler_core.model.claim import MatchAttribute
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.testing import DRIVER, claim, device, pool, request
from scheduler_core.tables.bits import mask_of, positions

ROOT = QualifiedName(f"{DRIVER}/root")


def compared(found):
    return [rule.values for rule in found.rules if isinstance(rule, MatchRule | DistinctRule | SameScopeRule)]


def symmetry_of(found, *, is_fixed=False):
    return Symmetry(found.space, compared(found), is_fixed=is_fixed)


@SETTINGS
@given(SEEDS)
def test_every_component_with_devices_is_in_one_cluster(seed):
    found = settled(seed)
    if found is None:
        return

    clusters = symmetry_of(found).clusters

    joined = [component for cluster in clusters for component in cluster]
    assert sorted(joined) == [number for number, mask in enumerate(found.space.masks) if mask]


@SETTINGS
@given(SEEDS)
def test_devices_have_a_place_in_the_cluster_of_their_component_alone(seed):
    found = settled(seed)
    if found is None:
        return
    symmetry = symmetry_of(found)

    for device_number, (component, _) in enumerate(found.space.devices):
        for number, cluster in enumerate(symmetry.clusters):
            assert bool(symmetry.local(number, 1 << device_number)) is (component in cluster)
    for number, cluster in enumerate(symmetry.clusters):
        mine = mask_of(bit for bit, (component, _) in enumerate(found.space.devices) if component in cluster)
        assert symmetry.local(number, mine) == (1 << mine.bit_count()) - 1


@SETTINGS
@given(SEEDS)
def test_a_value_is_shared_or_belongs_to_the_one_cluster_that_has_it(seed):
    found = settled(seed)
    if found is None:
        return
    symmetry = symmetry_of(found)

    for number, values in enumerate(compared(found)):
        for value, holders in enumerate(values.holders):
            owners = [
                cluster
                for cluster in range(len(symmetry.clusters))
                if symmetry.local_values(cluster, number, 1 << value)
            ]
            holding = {found.space.devices[bit][0] for bit in positions(holders)}
            assert owners == [
                cluster
                for cluster, components in enumerate(symmetry.clusters)
                if holding and holding <= set(components)
            ]
            assert bool(symmetry.shared[number] >> value & 1) is (not owners)


def switches(sizes, roots):
    """GPUs of some sizes, each with a NIC below its PCIe root."""
    return pool(
        *(
            device(f"g{n}", attributes={"root": root}, m=size)
            for n, (size, root) in enumerate(zip(sizes, roots, strict=True))
        ),
        *(device(f"n{n}", attributes={"root": root}, link=1) for n, root in enumerate(roots)),
    )


@given(st.lists(st.sampled_from([1, 2]), min_size=1, max_size=4))
def test_gpus_with_their_nics_are_exchanged_where_they_are_equal(sizes):
    published = switches(sizes, [f"r{n}" for n in range(len(sizes))])
    large = f"device.capacity['{DRIVER}'].m.compareTo(quantity('2')) >= 0"
    has_memory = f"'m' in device.capacity['{DRIVER}']"
    wanted = claim(
        request("gpu", has_memory), request("any"), request("large", f"{has_memory} && {large}"),
        constraints=[MatchAttribute(ROOT)],
    )  # fmt: skip

    symmetry = symmetry_of(questioned(published, wanted))

    assert symmetry.clusters == tuple((n, n + len(sizes)) for n in range(len(sizes)))
    for one, other in combinations(range(len(sizes)), 2):
        assert (symmetry.classes[one] == symmetry.classes[other]) is (sizes[one] == sizes[other])


def test_gpus_below_one_root_form_one_cluster_and_nothing_is_exchanged_where_all_is_fixed():
    wanted = claim(request("r"), constraints=[MatchAttribute(ROOT)])

    together = symmetry_of(questioned(switches([1, 1], ["r0", "r0"]), wanted))
    fixed = symmetry_of(questioned(switches([1, 1], ["r0", "r1"]), wanted), is_fixed=True)

    assert together.clusters == ((0, 1, 2, 3),)
    assert len(set(fixed.classes)) == 2


def test_a_value_that_joins_too_many_components_counts_as_itself():
    wanted = claim(request("r"), constraints=[MatchAttribute(ROOT)])

    symmetry = symmetry_of(questioned(switches([1] * 5, ["r0"] * 5), wanted))

    assert len(symmetry.clusters) == 10
    assert symmetry.shared == (1,)
