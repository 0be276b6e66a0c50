"""A state that projects composite pools knows exactly what their v1 slices would say, and no device twice."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from scheduler_core.base.errors import CannotProject
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_claim, decode_class
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation
from scheduler_core.state.cluster_state import ClusterState

DRIVER, NODE = "d.example.com", Node("n")
CLASS = decode_class({"metadata": {"name": "any"}, "spec": {}})
KINDS = ("whole", "half", "part")


def device(name, kind, *sources, mixin=None, **amounts):
    body = {"attributes": {"kind": {"string": kind}}}
    body |= {"capacity": {key: {"quantity": str(one)} for key, one in amounts.items()}} if amounts else {}
    body |= {"includes": [{"name": mixin}]} if mixin else {}
    body |= {"consumesCapacityFrom": [{"name": one} for one in sources]} if sources else {}
    return {"name": name, "composite": body}


@st.composite
def contents(draw):
    """GPUs of two dimensions, cut into halves, which are cut into parts; their sizes are in mixins or not."""
    few, devices = st.integers(0, 2), []
    for gpu in range(draw(st.integers(1, 2))):
        devices.append(device(f"gpu.{gpu}", "whole", mixin=draw(st.sampled_from(["big", "small"]))))
        for half in range(draw(st.integers(0, 2))):
            name, nests = f"gpu.{gpu}-half.{half}", draw(st.booleans())
            sources = [name, f"gpu.{gpu}"] if nests else [f"gpu.{gpu}"]
            own = {"slots": 2} if nests else {}
            devices.append(device(name, "half", *sources, memorySize=draw(few), cores=draw(few), **own))
            for part in range(draw(st.integers(0, 2)) if nests else 0):
                devices.append(device(f"{name}-{part}", "part", name, slots=1))
    for index in range(draw(st.integers(0, 2))):
        devices.append(device(f"both-{index}", "part", "gpu.0", "gpu.1", cores=draw(few)))
    return devices


MIXINS = [
    {"name": name, "composite": {"capacity": {"memorySize": {"quantity": size}, "cores": {"quantity": "3"}}}}
    for name, size in (("big", "4"), ("small", "2"))
]


def slices(devices, count=1, generation=1):
    """Return the devices in slices; mixins are in the last one, so that they lead from one to another."""
    pool = {"name": "n", "generation": generation, "resourceSliceCount": count}
    found = []
    for index in range(count):
        spec = {"driver": DRIVER, "nodeName": "n", "pool": pool, "devices": devices[index::count]}
        spec |= {"deviceMixins": MIXINS} if index == count - 1 else {}
        found.append(decode_slice({"metadata": {"name": f"s-{index}"}, "spec": spec}))
    return found


def as_v1(composites):
    encoded = v1.encode_pool(project(flatten(composites)), Layout.SEPARATE)
    return [v1.decode_slice(one) for one in encoded]


def wanted(number, kind, count):
    expression = f'device.attributes["{DRIVER}"].kind == "{kind}"'
    exactly = {"deviceClassName": "any", "count": count, "selectors": [{"cel": {"expression": expression}}]}
    return decode_claim(
        {
            "metadata": {"name": f"c{number}", "uid": f"u{number}"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        }
    )


def answers(state, claims, policy):
    """Allocate claims one after the other, each holding what it gets."""
    engine, found = Engine(state, policy), []
    for claim in claims:
        answer = engine.allocate([claim], NODE)
        found.append(answer.results if isinstance(answer, Allocation) else None)
        if isinstance(answer, Allocation):
            state.hold(AllocatedClaim(ref=claim.ref, uid=claim.uid, results=answer.results[claim.ref]))
    return found


def projecting():
    state = ClusterState({CLASS.name: CLASS}, projects=True)
    state.set_node(NODE)
    return state


claims = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 2)), min_size=1, max_size=5)


@given(contents(), st.integers(1, 3), claims, st.sampled_from([FIRST_FIT, BEST_FIT]), st.randoms())
def test_claims_get_from_composite_what_they_get_from_its_projection(devices, count, asked, policy, order):
    composites = slices(devices, count)
    asked = [wanted(number, *one) for number, one in enumerate(asked)]
    by_composite = projecting()
    shuffled = order.sample(composites, len(composites))
    for one in shuffled:
        by_composite.upsert_slices([one])
    by_v1 = projecting()
    with suppress(CannotProject):
        by_v1.upsert_slices(as_v1(composites))
    is_exact = bool([*by_v1.pools()])
    event("projected" if is_exact else "refused")

    assert is_exact is all(one.problem is None for one in by_composite.pools())
    assert answers(by_composite, asked, policy) == answers(by_v1, asked, policy)


GPU = [device("gpu.0", "whole", mixin="big"), device("gpu.0-half", "half", "gpu.0", cores=1)]


def test_a_pool_in_both_forms_counts_once_and_as_v1():
    composites = slices(GPU)
    newer = slices([*GPU, device("extra", "half", "gpu.0", cores=1)], generation=9)
    state = projecting()
    for steps in ((composites, as_v1(composites), newer), (newer, as_v1(composites))):
        for one in steps:
            state.upsert_slices(one)
        assert [[one.name for one in pool.devices] for pool in state.pools()] == [["gpu-0", "gpu-0-half"]]
    for one in as_v1(composites):
        state.remove_v1_slice(one.name)
    assert [[one.name for one in pool.devices] for pool in state.pools()] == [
        ["gpu-0", "gpu-0-half", "extra"]
    ]
    state.remove_composite_slice("s-0")
    assert list(state.pools()) == []


def test_what_a_claim_has_of_one_form_it_has_of_the_other():
    composites = slices(GPU)
    state = projecting()
    state.upsert_slices(as_v1(composites))
    assert answers(state, [wanted(0, "half", 1)], BEST_FIT) != [None]
    state.upsert_slices(composites)
    for one in as_v1(composites):
        state.remove_v1_slice(one.name)

    assert answers(state, [wanted(1, "whole", 1), wanted(2, "half", 1)], BEST_FIT) == [None, None]


def test_an_incomplete_pool_and_one_that_v1_cannot_express_are_not_used():
    state = projecting()
    state.upsert_slices(slices(GPU, count=2)[:1])
    assert answers(state, [wanted(0, "whole", 1)], BEST_FIT) == [None]
    state.upsert_slices(slices([*GPU, device("idle", "half", "gpu.0")]))
    assert "without drawing anything" in next(state.pools()).problem
    assert answers(state, [wanted(0, "whole", 1)], BEST_FIT) == [None]


@pytest.mark.parametrize("newest", [2, 3])
def test_an_older_generation_is_projected_too(newest):
    state = projecting()
    state.upsert_slices(slices(GPU))
    (other,) = slices(GPU, generation=newest)
    state.upsert_slices([replace(other, name="other")])

    (pool,) = state.pools()
    assert pool.older is not None
    assert {one.name for one in pool.older.devices} == {"gpu-0", "gpu-0-half"}
