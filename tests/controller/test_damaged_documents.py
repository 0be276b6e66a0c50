"""Documents that no API server should send: whatever is wrong in one, the others are served."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from claims_at_server import DRIVER, TAINT, claim, device_class, machine, node, pod
from claims_at_server.world import World
from hypothesis import given, settings
from hypothesis import strategies as st

from controller import reading
from scheduler_core.frontends.multi_node.pool_object import read_pool
from scheduler_core.model.claim import ClaimRef, DeviceClass
from scheduler_core.model.ownership import AMOUNTS, CLAIM, TEMPLATES

_JUNK = (None, 0, -1, 2**70, 0.5, True, "", "x", "9" * 400, [], [None], [[]], {}, {"a": None}, "NaN", "\x00")


def _named(kind: str, document: Mapping[str, Any], version: str = "v1", **metadata: Any) -> dict[str, Any]:
    found = {**document["metadata"], "namespace": "default", "uid": f"odd-{kind}", **metadata}
    return copy.deepcopy({"kind": kind, "apiVersion": version, **document, "metadata": found})


def _composite() -> dict[str, Any]:
    """A node's only slice: a GPU in two halves."""
    body = {"includes": [{"name": "m"}], "taints": [TAINT], "capacity": {"slices": {"quantity": "2"}}}
    half = {**body, "capacity": {"slices": {"quantity": "1"}}, "consumesCapacityFrom": [{"name": "gpu-0"}]}
    mixin = {"name": "m", "composite": {"attributes": {"type": {"string": "half"}}}}
    spec = {
        "driver": DRIVER,
        "nodeName": "odd",
        "pool": {"name": "odd", "generation": 1, "resourceSliceCount": 1},
        "deviceMixins": [mixin],
        "devices": [{"name": "gpu-0", "composite": body}, {"name": "half-0-0", "composite": half}],
    }
    return {"metadata": {"name": "odd"}, "spec": spec}


def _documents() -> dict[str, dict[str, Any]]:
    rules = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "In", "values": ["y"]}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": rules}}
    amounts = {AMOUNTS: '{"class.tangram.dev/x": "1"}', CLAIM: "odd", TEMPLATES: '{"odd": "t"}'}
    gang = {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "2"}
    wanted = dict(pod("odd", "odd", affinity=affinity, priority=5, tolerations=[{"operator": "Exists"}]))
    wanted["metadata"] = {"name": "odd", "annotations": amounts, "labels": {"x": "y"}}
    wanted["status"] = {
        "phase": "Pending",
        "resourceClaimStatuses": [{"name": "odd", "resourceClaimName": "odd"}],
    }
    member = dict(pod("odd", "odd"))
    member["metadata"] = {"name": "odd", "annotations": gang}
    given = {"request": "r", "driver": DRIVER, "pool": "node-a", "device": "gpu-0", "shareID": "s"}
    consumer = {"resource": "pods", "name": "odd", "uid": "odd-Pod"}
    nodes = {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}
        ]
    }
    status = {
        "allocation": {"devices": {"results": [given], "config": []}, "nodeSelector": nodes},
        "reservedFor": [consumer],
    }
    odd_node = node("odd", x="y")
    return {
        "Pod": _named("Pod", wanted),
        "member": _named("Pod", member),
        "ResourceClaim": _named("ResourceClaim", claim("odd", "half", 2), "resource.k8s.io/v1"),
        "allocated": _named("ResourceClaim", {**claim("odd"), "status": status}, "resource.k8s.io/v1"),
        "Node": _named("Node", {**odd_node, "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}),
        "counters": _named("ResourceSlice", machine("odd")[0], "resource.k8s.io/v1"),
        "ResourceSlice": _named("ResourceSlice", machine("odd")[1], "resource.k8s.io/v1"),
        "CompositeResourceSlice": _named("CompositeResourceSlice", _composite(), "tangram.dev/v1alpha1"),
        "DeviceClass": _named("DeviceClass", device_class("odd"), "resource.k8s.io/v1"),
        "plugins' group": _named(
            "PodGroup",
            {"metadata": {"name": "odd"}, "spec": {"minMember": 2, "scheduleTimeoutSeconds": 9}},
            "scheduling.x-k8s.io/v1alpha1",
        ),
        "PodGroup": _named(
            "PodGroup",
            {"metadata": {"name": "odd"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}},
            "scheduling.k8s.io/v1beta1",
        ),
    }


def _paths(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places in a document, without its metadata: ``kube_api`` has checked their types."""
    if so_far in [("kind",), ("apiVersion",), ("metadata",)]:
        return
    if so_far:
        yield so_far
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _paths(inner, (*so_far, key))


_DOCUMENTS = _documents()
_PLACES = [(name, path) for name, document in _DOCUMENTS.items() for path in _paths(document)]


def _damaged(name: str, damages: list[tuple[int, Any]]) -> dict[str, Any]:
    found = copy.deepcopy(_DOCUMENTS[name])
    places = [path for of, path in _PLACES if of == name]
    for number, junk in damages:
        at: Any = found
        *way, last = places[number % len(places)]
        try:
            for key in way:
                at = at[key]
            at[last] = copy.deepcopy(junk)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier damage took the place away
    return found


def _heard(world: World, document: Mapping[str, Any]) -> Callable[[], None]:
    """Return how the loop takes a document in."""
    coordinator = world.coordinator
    match document["kind"]:
        case "Pod":
            return lambda: coordinator.pod_changed(None, reading.pod(document))
        case "ResourceClaim":
            return lambda: coordinator.claim_changed(None, reading.claim(document))
        case "Node":
            return lambda: coordinator.node_changed("odd", reading.node(document))
        case "ResourceSlice":
            return lambda: coordinator.slices_changed([], [reading.slice_text(json.dumps(document).encode())])
        case "CompositeResourceSlice":
            return lambda: coordinator.slices_changed([], [reading.composite_slice(document)])
        case "PodGroup":
            return lambda: coordinator.group_changed(None, reading.pod_group(document))
        case _:
            found = reading.device_class(document)
            return lambda: coordinator.take(
                coordinator.seen.set_class(found)
                if isinstance(found, DeviceClass)
                else coordinator.seen.remove_class("odd")
            )


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(_DOCUMENTS)),
            st.lists(st.tuples(st.integers(0, 200), st.sampled_from(_JUNK)), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_whatever_is_wrong_in_a_document_another_pod_is_served(
    script: list[tuple[str, list[tuple[int, Any]]]],
) -> None:
    world = World()
    for kind in ("gpu", "half"):
        world.server.put("DeviceClass", device_class(kind))
    world.add_nodes("node-a", "node-b")
    world.coordinator.template_changed(ClaimRef("default", "t"), {"spec": {"spec": claim("t")["spec"]}})
    for name, damages in script:
        with suppress(Exception):  # as the loop does
            _heard(world, _damaged(name, damages))()
    world.watch()
    world.pass_time(0)
    world.pass_time(3)
    world.server.put("ResourceClaim", claim("good", "half"))
    world.server.put("Pod", pod("good", "good"))
    world.watch()
    for plan in world.plans():
        if any(one.pod.ref.name == "good" for one in getattr(plan, "members", (plan,))):
            world.write(plan)
    assert world.node_of("good") is not None
    world.pass_time(61)
    while world.coordinator.explain():
        pass


@settings(max_examples=100)
@given(st.integers(0, 200), st.sampled_from(_JUNK), st.integers(0, 200), st.sampled_from(_JUNK))
def test_a_pool_of_many_nodes_that_cannot_be_read_is_a_sentence(
    one: int, junk: Any, two: int, more: Any
) -> None:
    spec = {
        "driver": "tpu.example.com",
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}
            ]
        },
        "devices": [
            {"name": "d", "composition": {"attributes": {"x": {"int": 1}}, "capacity": {"c": {"value": "1"}}}}
        ],
    }
    document = {
        "kind": "MultiNodePool",
        "apiVersion": "tangram.dev/v1alpha1",
        "metadata": {"name": "p", "uid": "u"},
        "spec": spec,
    }
    places = list(_paths(document))
    for number, value in ((one, junk), (two, more)):
        at: Any = document
        *way, last = places[number % len(places)]
        try:
            for key in way:
                at = at[key]
            at[last] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue
    found = read_pool(document, DRIVER)
    assert found.name == "p"
