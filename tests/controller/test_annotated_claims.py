"""Koordinator's annotations count on pods: a claim with one gets nothing, and its pod is told why."""

from __future__ import annotations

import json

import pytest
from claims_at_server import claim, pod
from claims_at_server.world import World

from scheduler_core.model.ownership import TEMPLATES

JOINT = "scheduling.koordinator.sh/device-joint-allocate"
SPEC = "scheduling.koordinator.sh/gpu-partition-spec"


@pytest.mark.parametrize("key", [JOINT, SPEC])
def test_an_annotation_on_a_claim_is_refused_and_the_same_claim_without_it_is_served(
    world: World, key: str
) -> None:
    world.server.put("ResourceClaim", claim("marked", annotations={key: "{}"}))
    world.server.put("ResourceClaim", claim("plain"))
    for name in ("marked", "plain"):
        world.server.put("Pod", pod(name, name))
    world.settle()

    assert (world.node_of("marked"), world.node_of("plain") is None) == (None, False)
    assert f"claim default/marked: metadata.annotations[{key}]: counts only on pods" in world.told("marked")


def test_an_annotation_in_a_claim_template_is_refused_too(world: World) -> None:
    inner = {"metadata": {"annotations": {JOINT: "{}"}}, "spec": claim("t")["spec"]}
    world.server.put("ResourceClaimTemplate", {**claim("t"), "spec": inner})
    world.settle()
    wanted = dict(pod("p", "p-c"))
    wanted["metadata"]["annotations"][TEMPLATES] = json.dumps({"p-c": "t"})
    world.server.put("Pod", wanted)
    world.settle()

    assert "ResourceClaim" not in world.server.objects or "p-c" not in world.server.objects["ResourceClaim"]
    assert JOINT in world.told("p")


def test_annotations_of_others_do_not_matter(world: World) -> None:
    world.server.put("ResourceClaim", claim("c", annotations={"example.com/a": "b"}))
    world.server.put("Pod", pod("p", "c"))
    world.settle()

    assert world.node_of("c") is not None
