"""Slices that an allocator ignores where ``DRAPartitionableDevices`` is off, as upstream v0.37.2 does.

Upstream, structured/internal/stable/pools_stable.go, GatherPools, first lines of the loop over slices:
``if !features.PartitionableDevices && (slice.Spec.PerDeviceNodeSelection != nil ||
len(slice.Spec.SharedCounters) > 0) { continue }``. The completeness of the pool is then judged on all
slices of the generation, ignored ones included (checkSlicesInPool).
"""

from dataclasses import replace

import pytest

from scheduler_core.base.features import ALL, Features
from scheduler_core.codec import composite, v1
from scheduler_core.dialects.mixins import pools as composite_pools
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT, best_fit
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Cause
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY, DRIVER, claim, request
from scheduler_core.tables.pool_compiler import PoolCompiler

OFF = replace(ALL, DRAPartitionableDevices=False)
NODE = Node("node-1")


def v1_slice(name, *devices, count=2, generation=1, **spec):
    """A slice of the pool; without ``spec`` it belongs to the node."""
    pool = {"name": "p", "generation": generation, "resourceSliceCount": count}
    listed = [
        {"name": one, **({"nodeName": NODE.name} if "perDeviceNodeSelection" in spec else {})}
        for one in devices
    ]
    spec = spec or {"nodeName": NODE.name}
    return {
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "pool": pool, **({"devices": listed} if listed else {}), **spec},
    }


PER_DEVICE = v1_slice("a", "chosen-by-device", perDeviceNodeSelection=True)
PLAIN = v1_slice("b", "chosen-by-slice")
COUNTERS = v1_slice(
    "c", nodeName=NODE.name, sharedCounters=[{"name": "set", "counters": {"m": {"value": "1"}}}]
)


def v1_pools(*slices):
    return v1.pools([v1.decode_slice(one) for one in slices])


def delegating(*, others=()):
    """A composite slice that delegates node selection, and others that do not."""
    selection = {"nodeSelectionDelegated": True}
    objects = [(("chosen-by-device",), selection), *((names, {"nodeName": NODE.name}) for names in others)]
    return composite_pools(
        composite.decode_slice(
            {
                "metadata": {"name": f"s{number}"},
                "spec": {
                    "driver": DRIVER,
                    "pool": {"name": "p", "resourceSliceCount": len(objects)},
                    **how,
                    "devices": [
                        {"name": name, "composite": {"nodeName": NODE.name} if how is selection else {}}
                        for name in names
                    ],
                },
            }
        )
        for number, (names, how) in enumerate(objects)
    )


def by_plain_search(cluster, *claims):
    return allocate(claims, cluster, NODE)


def by_tables(cluster, *claims):
    return Engine.of(cluster, FIRST_FIT).allocate(claims, NODE)


def by_best_fit(cluster, *claims):
    return Engine.of(cluster, best_fit()).allocate(claims, NODE)


BY_ALL = pytest.mark.parametrize("ask", [by_plain_search, by_tables, by_best_fit])
EITHER_DIALECT = pytest.mark.parametrize(
    "pools", [v1_pools(PER_DEVICE, PLAIN), delegating(others=[("chosen-by-slice",)])], ids=["v1", "composite"]
)


def given(answer):
    assert isinstance(answer, Allocation), answer
    return {one.device.device for results in answer.results.values() for one in results}


def cluster_of(pools, features=OFF):
    return Cluster(pools=tuple(pools), classes={"any": ANY}, features=features)


@BY_ALL
@EITHER_DIALECT
def test_slices_with_per_device_node_selection_are_ignored_without_partitionable_devices(ask, pools):
    assert given(ask(cluster_of(pools, ALL), claim(request("r", count=2)))) == {
        "chosen-by-device",
        "chosen-by-slice",
    }
    assert given(ask(cluster_of(pools), claim(request("r")))) == {"chosen-by-slice"}
    assert ask(cluster_of(pools), claim(request("r", count=2))).cause is Cause.INSUFFICIENT


@BY_ALL
@EITHER_DIALECT
def test_an_ignored_slice_counts_as_seen_so_all_devices_of_the_pool_can_be_had(ask, pools):
    assert given(ask(cluster_of(pools), claim(request("r", count=None)))) == {"chosen-by-slice"}


@BY_ALL
@pytest.mark.parametrize(
    "pools",
    [v1_pools(v1_slice("a", "x", count=9, perDeviceNodeSelection=True)), delegating()],
    ids=["incomplete", "complete"],
)
def test_a_pool_of_ignored_slices_concerns_no_node(ask, pools):
    refusal = ask(cluster_of(pools), claim(request("r")))

    assert refusal.cause is Cause.NO_MATCHING_DEVICE
    assert len(refusal.reasons) == 1


@BY_ALL
def test_devices_beside_counter_sets_are_ignored_with_their_slice(ask):
    beside = v1_slice("d", "beside", nodeName=NODE.name, sharedCounters=COUNTERS["spec"]["sharedCounters"])
    pools = v1_pools(beside, PLAIN)

    assert given(ask(cluster_of(pools, ALL), claim(request("r", count=2)))) == {"beside", "chosen-by-slice"}
    assert given(ask(cluster_of(pools), claim(request("r", count=None)))) == {"chosen-by-slice"}


@BY_ALL
def test_an_older_generation_counts_where_the_newer_one_is_ignored(ask):
    newer = v1_slice("a", "new", count=1, generation=2, perDeviceNodeSelection=True)
    older = v1_slice("b", "old", count=1)

    assert given(ask(cluster_of(v1_pools(newer, older), ALL), claim(request("r")))) == {"new"}
    assert given(ask(cluster_of(v1_pools(newer, older)), claim(request("r")))) == {"old"}


def test_what_is_left_of_a_pool_is_compiled_into_tables():
    (pool,) = v1_pools(PER_DEVICE, PLAIN)

    compiled = PoolCompiler(OFF).compile(pool)

    assert [one.name for one in compiled.restored().devices] == ["chosen-by-slice"]
    assert PoolCompiler(ALL).compile(pool).restored() == pool


def test_a_cluster_state_reads_back_ignored_slices_when_another_slice_changes():
    state = ClusterState(features=OFF)
    state.upsert_slices(v1.decode_slice(one) for one in (PER_DEVICE, PLAIN))
    state.upsert_slices([v1.decode_slice(v1_slice("b", "another"))])

    (pool,) = state.pools()
    assert [one.name for one in pool.devices] == ["another"]
    state.upsert_slices([v1.decode_slice(v1_slice("a", "chosen-by-device"))])
    (pool,) = state.pools()
    assert [one.name for one in pool.devices] == ["chosen-by-device", "another"]


def test_with_the_feature_a_pool_is_the_same_object():
    (pool,) = v1_pools(PER_DEVICE, PLAIN)

    assert pool.with_features(ALL) is pool
    assert pool.with_features(Features.only(["DRAPartitionableDevices"])) is pool
