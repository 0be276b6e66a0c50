"""Objects that cannot be read: one clear message about each, and everybody else is served."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from claims_at_server import DRIVER, claim, machine, node, pod
from claims_at_server.world import World

from controller.metrics import Metrics
from controller.run.report import Report
from scheduler_core.model.ownership import AMOUNTS, CLAIM, TEMPLATES

_TABLE = "scheduling.koordinator.sh/gpu-partitions"
_NO_OBJECTS = {
    "empty": "",
    "null": "null",
    "a number": "7",
    "a list": "[]",
    "a text": '"x"',
    "half": "{",
    "not a number": "NaN",
    "twice": '{"a": "b", "a": "b"}',
    "deep": "[" * 100_000,
    "deep objects": '{"a":' * 100_000,
    "huge": "9" * 200_000,
    "long number": '{"p": ' + "9" * 5000 + "}",
}
_NO_AMOUNTS = {
    "null": '{"nvidia.com/gpu": null}',
    "an object": '{"nvidia.com/gpu": {}}',
    "negative": '{"nvidia.com/gpu": "-1"}',
    "too large": '{"nvidia.com/gpu": "1e400"}',
    "a half": '{"nvidia.com/gpu": "500m"}',
    "unknown": '{"example.com/x": "1"}',
    "nothing": "{}",
    "zero": '{"nvidia.com/gpu": "0"}',
}
_NO_TEMPLATES = {"null": '{"p": null}', "a number": '{"p": 1}', "a list": '{"p": ["t"]}'}
_WRONG = [
    *[
        pytest.param(AMOUNTS, text, id=f"amounts: {name}")
        for name, text in {**_NO_OBJECTS, **_NO_AMOUNTS}.items()
    ],
    *[
        pytest.param(TEMPLATES, text, id=f"templates: {name}")
        for name, text in {**_NO_OBJECTS, **_NO_TEMPLATES}.items()
    ],
]


def asked(name: str, annotations: Mapping[str, str]) -> dict[str, Any]:
    """Return a gated pod with a claim of its name and with annotations."""
    found = dict(pod(name, name))
    found["metadata"] = {"name": name, "annotations": dict(annotations)}
    return found


def is_served(world: World, name: str) -> bool:
    world.server.put("ResourceClaim", claim(name, "half"))
    world.server.put("Pod", pod(name, name))
    world.settle()
    return world.node_of(name) is not None and not world.is_gated(name)


@pytest.mark.parametrize(("key", "text"), _WRONG)
def test_a_pod_whose_annotation_cannot_be_read_is_told_so_in_one_sentence(
    world: World, key: str, text: str
) -> None:
    world.server.put("Pod", asked("p", {key: text, CLAIM: "p"}))
    assert is_served(world, "good")
    assert world.is_gated("p")
    sentence = world.told("p")
    assert sentence.startswith("Pod default/p")
    assert key in sentence
    assert len(sentence) < 400
    assert "\n" not in sentence
    assert world.told("p") == sentence
    assert not list(world.coordinator.tells())


@pytest.mark.parametrize("named", [None, "", "other", "../p", "p" * 300])
def test_amounts_without_a_claim_of_the_pod_never_let_it_run_without_devices(
    world: World, named: str | None
) -> None:
    annotations = {AMOUNTS: '{"class.tangram.dev/x": "1"}', **({} if named is None else {CLAIM: named})}
    world.server.put("ResourceClaim", claim("p"))
    world.server.put("Pod", asked("p", annotations))
    world.settle()
    assert world.is_gated("p")
    assert f"metadata.annotations.{CLAIM}" in world.told("p")
    assert is_served(world, "good")


def test_annotations_that_are_mended_bring_the_pod_its_devices(world: World) -> None:
    world.server.put(
        "ResourceClaimTemplate", {"metadata": {"name": "t"}, "spec": {"spec": claim("t")["spec"]}}
    )
    world.server.put("Pod", asked("p", {TEMPLATES: "{"}))
    world.settle()
    assert "is not JSON" in world.told("p")
    world.server.put("Pod", asked("p", {TEMPLATES: json.dumps({"p": "t"})}))
    world.settle()
    assert world.node_of("p") is not None
    assert not world.is_gated("p")


def test_an_allocation_that_cannot_be_read_as_a_whole_holds_the_devices_that_it_names(world: World) -> None:
    devices = ("gpu-0", "gpu-1")
    results = [
        {"driver": DRIVER, "pool": "node-a", "device": one, "consumedCapacity": "?"} for one in devices
    ]
    status = {"allocation": {"devices": {"results": [*results, {"driver": DRIVER}, None, 7]}}}
    world.server.put("ResourceClaim", {**claim("odd"), "status": status})
    for number in range(3):
        world.server.put("ResourceClaim", claim(f"c{number}"))
        world.server.put("Pod", pod(f"p{number}", f"c{number}"))
    world.settle()
    assert sorted(str(world.node_of(f"c{number}")) for number in range(3)) == ["None", "node-b", "node-b"]


def test_slices_and_nodes_that_cannot_be_read_are_told_once_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    spoilt = copy.deepcopy(machine("node-a")[1])
    spoilt["spec"]["pool"] = {"name": "node-a", "generation": "x", "resourceSliceCount": 2}
    world.server.put("ResourceSlice", spoilt)
    world.server.put(
        "Node", {**node("node-b"), "metadata": {**node("node-b")["metadata"], "annotations": {_TABLE: "{"}}}
    )
    world.settle()
    report = Report(Metrics(), None, lambda: 0.0)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            report.state(world.coordinator, is_leading=True)
    of_slice, of_node = sorted(one.getMessage() for one in caplog.records)
    assert "Node default/node-b" in of_node
    assert "ResourceSlice default/node-a-1" in of_slice
    assert is_served(world, "good")
