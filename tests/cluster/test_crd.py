"""CompositeResourceSlices in a real API server: what it stores, and which limits it holds."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_support import COMPOSITES
from cluster_support import Document
from crd_support import installed_definition

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.inventory import describe, discover, offered
from agent.slices import composite_slices, encoded
from kube_api import Invalid, KubeApi
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.mixins import flatten

pytestmark = pytest.mark.layout


@pytest.fixture(scope="module", autouse=True)
def installed(api: KubeApi) -> Iterator[None]:
    with installed_definition(api):
        yield


def described(name: str, folder: Path) -> tuple[Document, ...]:
    machine = SimulatedMachine.open(load_node(name), folder / name)
    readers = simulated_hardware(machine).readers
    inventory = discover(readers, f"crd-{uuid.uuid4().hex[:8]}")
    return encoded(composite_slices(describe(offered(inventory))))


@pytest.fixture
def store(api: KubeApi) -> Iterator[Callable[[Document], Document]]:
    """Create a slice; it is deleted after the test."""
    made: list[str] = []

    def create(document: Document) -> Document:
        stored = api.create(COMPOSITES, document)
        made.append(stored.metadata.name)
        return dict(stored.document)

    yield create
    for name in made:
        api.delete(COMPOSITES, name)


@pytest.fixture
def slice_(tmp_path: Path) -> Document:
    """A sound slice with mixins, a GPU and its partitions."""
    return copy.deepcopy(described("a100x2", tmp_path)[0])


@pytest.mark.parametrize("name", shipped_nodes())
def test_every_shipped_machine_is_stored_and_read_back_the_same(
    name: str, tmp_path: Path, store: Callable[[Document], Document]
) -> None:
    sent = described(name, tmp_path)

    stored = [store(one) for one in sent]

    assert flatten([decode_slice(one) for one in stored]) == flatten([decode_slice(one) for one in sent])


def many(slice_: Document, devices: int, mixins: int) -> None:
    slice_["spec"]["devices"] = [{"name": f"d-{index}", "composite": {}} for index in range(devices)]
    slice_["spec"]["deviceMixins"] = [{"name": f"m-{index}", "composite": {}} for index in range(mixins)]


def of_first(slice_: Document, **fields: Any) -> None:
    slice_["spec"]["devices"][0]["composite"].update(fields)


def delegated(slice_: Document, **selection: Any) -> None:
    del slice_["spec"]["nodeName"]
    devices = [{"name": "d", "composite": selection}]
    slice_["spec"].update(nodeSelectionDelegated=True, deviceMixins=[], devices=devices)


def attributes(count: int) -> dict[str, Any]:
    return {f"a{index}": {"int": index} for index in range(count)}


def capacities(count: int) -> dict[str, Any]:
    return {f"c{index}": {"quantity": "1Gi"} for index in range(count)}


WRONG: dict[str, tuple[Callable[[Document], object], str]] = {
    "128 mixins and devices": (lambda s: many(s, 100, 28), "fewer than 128"),
    "more than 32 properties": (
        lambda s: of_first(s, attributes=attributes(20), capacity=capacities(13)),
        "at most 32 attributes and capacities",
    ),
    "nine includes": (
        lambda s: of_first(s, includes=[{"name": f"m-{index}"} for index in range(9)]),
        "at most 8 items",
    ),
    "nine sources": (
        lambda s: of_first(s, consumesCapacityFrom=[{"name": f"d-{index}"} for index in range(9)]),
        "at most 8 items",
    ),
    "no node": (lambda s: s["spec"].pop("nodeName"), "exactly one of nodeName"),
    "two node selections": (lambda s: s["spec"].update(allNodes=True), "exactly one of nodeName"),
    "a node that nobody delegated": (
        lambda s: of_first(s, nodeName="elsewhere"),
        "exactly when the slice has nodeSelectionDelegated",
    ),
    "a delegated slice without nodes": (
        lambda s: (s["spec"].pop("nodeName"), s["spec"].update(nodeSelectionDelegated=True)),
        "exactly when the slice has nodeSelectionDelegated",
    ),
    "a basic device with a node that nobody delegated": (
        lambda s: s["spec"].update(devices=[{"name": "d", "basic": {"nodeName": "elsewhere"}}]),
        "exactly when the slice has nodeSelectionDelegated",
    ),
    "a delegated device with two node selections": (
        lambda s: delegated(s, nodeName="node-a", allNodes=True),
        "at most one of nodeName",
    ),
    "a node selector of two terms": (
        lambda s: delegated(s, nodeSelector={"nodeSelectorTerms": [{}, {}]}),
        "at most 1 item",
    ),
    "basic and composite": (
        lambda s: s["spec"]["devices"][0].update(basic={}),
        "exactly one of basic and composite",
    ),
    "neither basic nor composite": (
        lambda s: s["spec"]["devices"][0].pop("composite"),
        "exactly one of basic and composite",
    ),
    "one name twice": (
        lambda s: s["spec"]["devices"].append(s["spec"]["devices"][0]),
        "Duplicate value",
    ),
    "an attribute of two types": (
        lambda s: of_first(s, attributes={"a": {"int": 1, "bool": True}}),
        "at most 1 item",
    ),
    "a quantity that is none": (
        lambda s: of_first(s, capacity={"c": {"quantity": "much"}}),
        "should match",
    ),
    "a negative quantity": (lambda s: of_first(s, capacity={"c": {"quantity": -1}}), "greater than or equal"),
    "a taint with an effect that there is not": (
        lambda s: of_first(s, taints=[{"key": "k", "effect": "Evict"}]),
        "Unsupported value",
    ),
    "a taint without an effect": (lambda s: of_first(s, taints=[{"key": "k"}]), "Required value"),
    "seventeen taints": (
        lambda s: of_first(s, taints=[{"key": f"k{n}", "effect": "NoSchedule"} for n in range(17)]),
        "at most 16 items",
    ),
    "no slice at all": (lambda s: s["spec"]["pool"].update(resourceSliceCount=0), "greater than or equal"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_breaks_a_limit_is_refused_with_the_rule(what: str, api: KubeApi, slice_: Document) -> None:
    spoil, rule = WRONG[what]
    spoil(slice_)

    with pytest.raises(Invalid, match=rule):
        api.create(COMPOSITES, slice_)


def test_the_largest_slice_that_the_limits_allow_is_stored(
    slice_: Document, store: Callable[[Document], Document]
) -> None:
    many(slice_, 64, 63)
    for one in (*slice_["spec"]["devices"], *slice_["spec"]["deviceMixins"]):
        one["composite"] = {"attributes": attributes(16), "capacity": capacities(16)}

    stored = store(slice_)

    assert stored["spec"] == slice_["spec"]


def test_the_taints_of_a_device_are_stored(slice_: Document, store: Callable[[Document], Document]) -> None:
    lost = {"key": "health.tangram.dev/gpu-lost", "value": "79", "effect": "NoExecute"}
    of_first(
        slice_, taints=[lost | {"timeAdded": "2026-11-24T20:00:00Z"}, {"key": "k", "effect": "NoSchedule"}]
    )

    stored = store(slice_)

    assert stored["spec"] == slice_["spec"]


@pytest.mark.parametrize("field", ["driver", "pool"])
def test_driver_and_pool_of_a_slice_never_change(
    field: str, api: KubeApi, slice_: Document, store: Callable[[Document], Document]
) -> None:
    stored = store(slice_)
    if field == "driver":
        stored["spec"]["driver"] = "other.example"
    else:
        stored["spec"]["pool"]["name"] = "other-node"

    with pytest.raises(Invalid, match=f"the {field} of a slice cannot change"):
        api.replace(COMPOSITES, stored)
