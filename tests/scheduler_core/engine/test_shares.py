"""Shareable devices: how the engine allocates devices that several claims use."""

from dataclasses import replace

import pytest

from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, DeviceRequest, Request
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.state.testing import ANY, NODE, claim, device, pool


def cluster(*held):
    links = pool(device("left", bw=4), device("right", bw=4))
    shared = replace(links, devices=tuple(replace(one, is_shareable=True) for one in links.devices))
    results = [
        AllocatedDevice(
            "r", shared.id_of(shared.devices[number]), share_id="s", consumed={"bw": Quantity.of(amount)}
        )
        for number, amount in enumerate(held)
        if amount
    ]
    user = AllocatedClaim(ref=ClaimRef("default", "user"), results=tuple(results))
    return Cluster(pools=(shared,), classes={"any": ANY}, allocated=(user,))


def links(name, count, amount):
    wanted = {"bw": Quantity.of(amount)}
    return Request(
        name=name, alternatives=(DeviceRequest(name=name, class_name="any", count=count, capacity=wanted),)
    )


def answers(cluster, asked):
    """The engine's answer and the plain search's, which must be one."""
    found = Engine.of(cluster, FIRST_FIT).allocate([asked], NODE)
    assert found == allocate([asked], cluster, NODE)
    return found


def names(answer):
    return [one.device.device for results in answer.results.values() for one in results]


def test_all_devices_include_one_that_has_too_little_left_and_so_fail_as_in_kubernetes_1_37():
    """Measured with v0.37.2: what is static counts for "all", what is left is looked at when taking."""
    assert isinstance(answers(cluster(3, 0), claim(links("r", None, 2))), Unallocatable)


def test_all_devices_leave_out_what_could_never_give_so_much():
    large = cluster()
    (one,) = large.pools
    small = replace(one.devices[0], capacity={name: Quantity.of(1) for name in one.devices[0].capacity})
    mixed = replace(large, pools=(replace(one, devices=(small, one.devices[1])),))

    answer = answers(mixed, claim(links("r", None, 2)))

    assert names(answer) == ["right"]


@pytest.mark.parametrize(("held", "expected"), [((3, 0), ["right", "right"]), ((0, 0), ["left", "left"])])
def test_two_requests_may_share_a_device_that_has_enough_for_both(held, expected):
    answer = answers(cluster(*held), claim(links("a", 1, 2), links("b", 1, 2)))

    assert names(answer) == expected


def test_one_request_never_gets_the_same_device_twice():
    answer = answers(cluster(), claim(links("a", 2, 1)))

    assert isinstance(answer, Allocation)
    assert names(answer) == ["left", "right"]
    assert isinstance(answers(cluster(), claim(links("a", 3, 1))), Unallocatable)
