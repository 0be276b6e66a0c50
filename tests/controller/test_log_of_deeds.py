"""What the controller does is one line each in its log, with pod, claim and devices as fields."""

from __future__ import annotations

import logging

import pytest
from claims_at_server import claim, pod
from claims_at_server.world import World

from controller.model.pods import PodRef
from controller.plan.log_fields import of_plan
from controller.plan.plans import LetGo, Release
from controller.run import messages
from controller.run.messages import Changed
from daemon.log_fields import AddFields, fields_of
from scheduler_core.model.claim import ClaimRef


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log, whose lines have the fields that JSON has."""
    caplog.set_level(logging.INFO)
    caplog.handler.addFilter(AddFields())
    return caplog


def about(log: pytest.LogCaptureFixture, words: str) -> tuple[str, dict[str, str]]:
    """Return text and fields of the one line with these words."""
    (found,) = [one for one in log.records if words in one.getMessage()]
    return found.getMessage(), dict(fields_of(found))


def test_an_allocation_is_one_line_that_names_pod_claim_uid_request_devices_and_node(
    world: World, log: pytest.LogCaptureFixture
) -> None:
    world.server.put("ResourceClaim", claim("c", "half"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()

    stored = world.server.claim("c")
    (result,) = stored["status"]["allocation"]["devices"]["results"]
    uid, device, node = stored["metadata"]["uid"], result["device"], world.node_of("c")
    text, fields = about(log, "allocated")
    assert text == f"claim default/c ({uid}): allocated on node {node} for pod default/p, with {device}"
    assert fields == {
        "node": node,
        "namespace": "default",
        "pod": "p",
        "claim": "c",
        "uid": uid,
        "request": result["request"],
        "device": device,
    }
    assert about(log, "its gate was removed")[1]["pod"] == "p"


def test_a_pod_that_waits_is_told_in_one_line_with_the_reason(
    world: World, log: pytest.LogCaptureFixture
) -> None:
    world.server.put("ResourceClaim", claim("c", "unknown-class"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()

    assert "unknown-class" in world.told("p")
    text, fields = about(log, "pod default/p waits: ")
    assert "unknown-class" in text
    assert fields == {"namespace": "default", "pod": "p"}


def test_a_release_is_one_line_that_names_the_claim(world: World, log: pytest.LogCaptureFixture) -> None:
    world.server.put("ResourceClaim", claim("c", "half"))
    world.server.put("Pod", pod("p", "c"))
    world.settle()
    uid, of_pod = world.server.claim("c")["metadata"]["uid"], world.server.pods()["p"]["metadata"]["uid"]

    world.write(Release(ClaimRef("default", "c"), uid, frozenset([of_pod])))

    text, fields = about(log, "released")
    assert text == f"claim default/c ({uid}): released, since its pods are gone"
    assert fields == {"namespace": "default", "claim": "c", "uid": uid}


def test_a_plan_without_a_pod_names_its_claim_and_a_change_its_object() -> None:
    ref = ClaimRef("default", "c")
    assert of_plan(Release(ref, "u1", frozenset())) == {"namespace": "default", "claim": "c", "uid": "u1"}
    assert of_plan(LetGo(PodRef("default", "p"), "u2")) == {"namespace": "default", "pod": "p"}
    assert messages.fields_of(Changed("Pod", "default", "p", None, None)) == {
        "namespace": "default",
        "pod": "p",
    }
    assert messages.fields_of(Changed("Node", "", "node-a", None, None)) == {"node": "node-a"}
    assert messages.fields_of(Changed("ResourceClaim", "default", "c", None, None)) == {
        "namespace": "default",
        "claim": "c",
    }
