"""Slices and claims as each version of the API writes them: one meaning."""

from __future__ import annotations

import pytest

from scheduler_core.base.errors import InvalidSlice
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_claim
from scheduler_core.dialects.layout import Layout
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Cause
from scheduler_core.state.testing import ANY, claim, request

SPEC = {
    "driver": "d.example.com",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    "nodeName": "n",
}
COUNTERS = [{"name": "set", "counters": {"units": {"value": "2"}}}]
BODY = {
    "attributes": {"kind": {"string": "part"}, "major": {"int": 3}, "is-new": {"bool": True}},
    "capacity": {"memory": {"value": "10Gi"}},
    "consumesCounters": [{"counterSet": "set", "counters": {"units": {"value": "1"}}}],
    "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
}


def slice_of(version, *devices, **more):
    return v1.decode_slice(
        {
            "apiVersion": f"resource.k8s.io/{version}",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": SPEC | {"sharedCounters": COUNTERS, "devices": list(devices)} | more,
        }
    )


FLAT = {"name": "a"} | BODY
WRAPPED = {"name": "a", "basic": BODY}


def test_the_slices_of_v1beta1_wrap_their_devices_and_mean_those_of_v1():
    expected = slice_of("v1", FLAT)

    assert slice_of("v1beta2", FLAT) == expected == slice_of("v1beta1", WRAPPED)
    assert expected.broken == {}


def test_what_v1beta1_says_is_encoded_as_v1_and_comes_back():
    (pool,) = v1.pools([slice_of("v1beta1", WRAPPED)])

    (written,) = v1.encode_pool(pool, Layout.TOGETHER)

    assert written["apiVersion"] == "resource.k8s.io/v1"
    assert written["spec"]["devices"] == [FLAT]
    assert v1.pools([v1.decode_slice(written)]) == (pool,)


def test_a_device_is_not_written_in_both_versions_at_once():
    found = slice_of("v1beta1", WRAPPED | {"attributes": {}})

    assert "unknown field" in found.broken["a"]


@pytest.mark.parametrize(
    "request_",
    [
        {"name": "r", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 2}},
        {"name": "r", "deviceClassName": "c", "allocationMode": "ExactCount", "count": 2},
    ],
    ids=["v1 and v1beta2", "v1beta1"],
)
def test_the_claims_of_all_versions_mean_the_same(request_):
    claim = decode_claim({"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request_]}}})

    (request,) = claim.requests
    (option,) = request.alternatives
    assert (request.name, option.name, option.class_name, option.count) == ("r", "r", "c", 2)


@pytest.mark.parametrize("counters", [{}, {"counters": None}, {"counters": {}}])
def test_a_counter_set_without_counters_is_refused_as_the_api_server_does(counters):
    with pytest.raises(InvalidSlice, match=r"spec.sharedCounters\[0\].counters: is required"):
        slice_of("v1", FLAT, sharedCounters=[{"name": "set"} | counters])


def test_a_device_held_of_an_invalid_pool_leaves_the_claims_refused_and_no_crash():
    absent = FLAT | {"consumesCounters": [{"counterSet": "gone", "counters": {"units": {"value": "1"}}}]}
    (pool,) = v1.pools([slice_of("v1", absent)])
    holder = AllocatedClaim(
        ref=ClaimRef("default", "h"), results=(AllocatedDevice("r", pool.id_of(pool.devices[0])),)
    )
    cluster = Cluster(pools=(pool,), classes={"any": ANY}, allocated=(holder,))

    answer = allocate([claim(request("r"))], cluster, Node("n"))

    assert answer.cause is Cause.POOL_INVALID


@pytest.mark.parametrize("capacity", [7, 0.5, True, "x", ["memory"]])
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_capacity_that_is_not_an_object_breaks_its_device_alone(version, capacity):
    broken = {"capacity": capacity}
    devices = (
        (WRAPPED, {"name": "b", "basic": broken}) if version == "v1beta1" else (FLAT, {"name": "b"} | broken)
    )

    found = slice_of(version, *devices)

    assert [one.name for one in found.devices] == ["a"]
    assert "must be an object" in found.broken["b"]
