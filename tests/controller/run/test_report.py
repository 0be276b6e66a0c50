"""Each decision is a JSON line with what is needed to ask the same again; metrics count what happened."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from claims_at_server import claim, pod
from claims_at_server.world import World

from controller.decide.allocator import Allocator
from controller.decide.decisions import Placed
from controller.decide.question import Question, Wanted, question_of
from controller.metrics import Metrics
from controller.model.claims import ClaimSeen, shape_of
from controller.run.report import Report, Times
from scheduler_core.codec.claims import decode_claim
from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.model.ownership import AMOUNTS, CLAIM, TEMPLATES


def logged(world: World) -> list[dict[str, Any]]:
    """Decide about the pods of a world and return the lines."""
    lines = io.StringIO()
    report = Report(Metrics(), lines, lambda: 1000.0004)
    world.watch()
    world.coordinator.wake()
    while (decided := world.coordinator.decide()) is not None:
        report.decided(decided, Times(0.0000004, 0.0000006, 2.5))
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def test_a_decision_can_be_asked_again_from_its_line(world: World) -> None:
    world.server.put("ResourceClaim", claim("c", "half", 2))
    world.server.put("Pod", pod("p", "c"))
    world.watch()
    (waiting,) = world.coordinator.seen.waiting.values()
    question = question_of(waiting, world.coordinator.seen)
    assert isinstance(question, Question)

    (line,) = logged(world)

    (asked,) = line["claims"]
    namespace, _, name = asked["claim"].partition("/")
    document = {"metadata": {"namespace": namespace, "name": name}, "spec": asked["spec"]}
    again = Wanted(asked=decode_claim(document), shape=shape_of(asked["spec"]))
    assert again.asked.requests == question.wanted[0].asked.requests
    fresh = World()
    fresh.server.objects = {
        kind: all_ for kind, all_ in world.server.objects.items() if kind not in ("Pod", "ResourceClaim")
    }
    fresh.restart()
    placed = Allocator(fresh.coordinator.seen, str).decide(Question(pod=waiting, wanted=(again,)))
    assert isinstance(placed, Placed)
    assert placed.node == line["node"]
    given = [str(one.device.device) for one in placed.devices[again.asked.ref]]
    assert given == [one["device"] for one in line["devices"]["default/c"]]


def test_what_a_line_says(world: World) -> None:
    world.server.put("ResourceClaim", claim("c", count=3))
    world.server.put("Pod", pod("p", "c"))
    (line,) = logged(world)
    assert (line["at"], line["took_s"], line["running_s"], line["waited_s"]) == (1000.0, 0.0, 0.000001, 2.5)
    assert (line["pod"], line["result"]) == ("default/p", "Refused")
    assert line["uid"] == world.server.pods()["p"]["metadata"]["uid"]
    assert "node" not in line


def test_amounts_are_in_the_line(world: World) -> None:
    wanted = pod("p", "p-amounts")
    annotations = {CLAIM: "p-amounts", AMOUNTS: '{"koordinator.sh/gpu": "100"}'}
    wanted["metadata"]["annotations"] = annotations
    world.server.put("Pod", wanted)
    (line,) = logged(world)
    assert line["amounts"] == annotations


def test_the_spec_of_a_claim_that_is_made_from_a_template_is_in_the_line(world: World) -> None:
    spec = claim("t")["spec"]
    world.server.put("ResourceClaimTemplate", {**claim("t"), "spec": {"spec": spec}})
    wanted = pod("p", "p-c")
    wanted["metadata"]["annotations"][TEMPLATES] = json.dumps({"p-c": "t"})
    world.server.put("Pod", wanted)
    (line,) = logged(world)
    assert line["claims"] == [{"claim": "default/p-c", "spec": spec}]


def test_waiting_pods_are_counted_by_why(world: World) -> None:
    world.server.put("ResourceClaim", claim("large", count=3))
    world.server.put("Pod", pod("large", "large"))
    world.server.put("Pod", pod("lost", "nowhere"))
    logged(world)
    metrics = Metrics()
    Report(metrics, None, lambda: 0.0).state(world.coordinator, is_leading=True)
    page = metrics.text()
    for expected in (
        'tangram_controller_waiting_pods{why="Refused"} 1.0',
        'tangram_controller_waiting_pods{why="Incomplete"} 1.0',
        "tangram_controller_owned_nodes 2.0",
        "tangram_controller_leader 1.0",
    ):
        assert any(line.startswith(expected) for line in page.splitlines()), expected


def test_nodes_without_the_taint_are_told_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    from claims_at_server import machine  # noqa: PLC0415

    for one in machine("node-a", taints=False):
        world.server.put("ResourceSlice", one)
    world.watch()
    report = Report(Metrics(), None, lambda: 0.0)
    for _ in range(2):
        report.state(world.coordinator, is_leading=True)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "nodes node-a are not served, since their devices lack the taint"
    ]


def test_the_log_tells_from_when_on_the_devices_of_a_claim_are_free_again() -> None:
    lines = io.StringIO()
    report = Report(Metrics(), lines, lambda: 1000.0004)
    asked = ClaimSeen(ref=ClaimRef("default", "c"), uid="u", version="1")
    held = replace(asked, held=AllocatedClaim(ref=asked.ref))

    report.claim_changed(None, held)
    report.claim_changed(asked, held)
    report.claim_changed(asked, None)
    assert lines.getvalue() == ""
    for gone in (asked, None, replace(held, uid="another")):
        report.claim_changed(held, gone)

    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert told == [{"at": 1000.0, "result": "Freed", "claim": "default/c"}] * 3
