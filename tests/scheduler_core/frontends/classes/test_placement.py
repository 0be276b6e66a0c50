"""Pods placed on classes over plain devices and published devices that exclude each other."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.frontends.classes.documents import ClassObjects
from scheduler_core.frontends.classes.events import PodPlaced, PodUnplaced
from scheduler_core.frontends.classes.model import (
    ClassDevice,
    Grant,
    ResourceClass,
    Use,
    ValueOperator,
    ValueRequirement,
)
from scheduler_core.frontends.classes.placement import ClassPlacement
from scheduler_core.frontends.classes.pods import ClassPod
from scheduler_core.frontends.classes.published_devices import PublishedDevices
from scheduler_core.frontends.classes.values import value_of
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.model.pool import PoolId
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import DRIVER, device, held, pool

CLASSES = {
    name: ResourceClass(name, ((ValueRequirement("kind", ValueOperator.IN, kinds),),))
    for name, kinds in {"gpus": ("gpu",), "parts": ("part",), "any": ("gpu", "part")}.items()
}


def gpu(name, *, parts=0, of=2):
    """Return a GPU with memory, and parts that take a share of it."""
    cut = (device(f"{name}-{n}", sources=[name], attributes={"kind": "part"}, memory=1) for n in range(parts))
    return (device(name, attributes={"kind": "gpu"}, memory=of), *cut)


def asks(name, **requests):
    return ClassPod(f"default/{name}", requests, None, False)


def holds(name, *devices, node="node-1"):
    return ClassPod(f"default/{name}", {}, Grant(node, tuple(Use("", one, 1) for one in devices)), False)


def placement(*devices, pods=(), plain=(), allocated=()):
    objects = ClassObjects(classes=CLASSES, devices={"node-1": plain}, pods={one.name: one for one in pods})
    return ClassPlacement(objects, PublishedDevices.of(state_of([pool(*devices)], allocated)), allocated)


def state_of(pools, allocated=()):
    return ClusterState.of(Cluster(pools=tuple(pools), classes={}, allocated=tuple(allocated)))


def given_to(outcome):
    assert isinstance(outcome, PodPlaced)
    return [use.device for use in outcome.grant.uses]


def test_a_part_of_a_held_gpu_is_not_given():
    found = placement(*gpu("a", parts=2), *gpu("b", parts=2), allocated=[held("a")])

    assert given_to(found.place(asks("p", parts=1))) == ["b-0"]


def test_a_gpu_of_which_a_part_is_held_is_not_given():
    found = placement(*gpu("a", parts=2), *gpu("b"), pods=[holds("old", "a-1")])

    assert given_to(found.place(asks("p", gpus=1))) == ["b"]
    assert found.free() == {"gpus": 0, "parts": 1, "any": 1}


def test_a_first_fit_that_excludes_itself_is_no_grant_and_changes_nothing():
    found = placement(*gpu("a", parts=2))
    before, blocked = found.state, found.published.blocked

    outcome = found.place(asks("p", gpus=1, parts=1))

    assert isinstance(outcome, PodUnplaced)
    assert "excludes itself" in outcome.reason
    assert (found.state, found.published.blocked) == (before, blocked)


def test_admin_access_holds_nothing():
    admin = AllocatedDevice("r", DeviceId(DRIVER, "node-1", DeviceName("a")), admin_access=True)
    found = placement(*gpu("a"), allocated=[AllocatedClaim(ref=ClaimRef("default", "c"), results=(admin,))])

    assert given_to(found.place(asks("p", gpus=1))) == ["a"]


def test_plain_devices_stand_behind_the_published_ones_of_their_node():
    plain = [ClassDevice("listed", 2, {"kind": value_of("gpu")})]
    found = placement(*gpu("a"), plain=plain)

    assert [one.name for one in found.state.nodes["node-1"]] == ["a", "listed"]
    assert found.free()["gpus"] == 3


def test_pods_without_a_grant_are_pending_in_the_order_of_asking():
    pods = [asks("b", gpus=1), holds("old", "a"), asks("a", gpus=1)]

    assert [one.name for one in placement(*gpu("a"), pods=pods).pending] == ["default/b", "default/a"]


@pytest.mark.parametrize("name", ["a", "a-0"])
@pytest.mark.parametrize("class_name", CLASSES)
def test_what_a_class_counts_as_free_can_be_given(name, class_name):
    found = placement(*gpu("a", parts=2), pods=[holds("old", name)])
    free = found.free()[class_name]

    outcome = found.place(asks("p", **{class_name: 1}))

    assert isinstance(outcome, PodPlaced) is (free > 0)


def test_devices_of_two_drivers_with_one_name_are_told_apart_by_the_driver():
    first = pool(*gpu("a"))
    second = replace(first, id=PoolId("other.example.com", "node-1"))

    found = PublishedDevices.of(state_of([first, second]))

    assert [one.name for one in found.by_node["node-1"]] == ["a", "a.other.example.com"]


def test_devices_that_no_pod_can_hold_exclusively_are_left_to_claims_with_a_note():
    plain = pool(*gpu("a"))
    shared = replace(plain, devices=tuple(replace(one, is_shareable=True) for one in plain.devices))

    found = PublishedDevices.of(state_of([shared]))

    assert not found.by_node
    assert ["1 devices are left to claims" in note for note in found.notes] == [True]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(tuple(CLASSES)), max_size=8),
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
)
def test_pods_never_hold_more_memory_than_a_gpu_has(wanted, cuts):
    devices = [one for n, parts in enumerate(cuts) for one in gpu(f"g{n}", parts=parts)]
    found = placement(*devices)

    outcomes = [found.place(asks(f"p{n}", **{name: 1})) for n, name in enumerate(wanted)]

    taken = [use.device for one in outcomes if isinstance(one, PodPlaced) for use in one.grant.uses]
    assert len(taken) == len(set(taken))
    for number in range(len(cuts)):
        parts = sum(name.startswith(f"g{number}-") for name in taken)
        assert parts <= 2
        assert not (f"g{number}" in taken and parts)
