"""``tangram explain claim/NAME`` answers as who gives the claim devices: kube-scheduler or the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from claims_at_server import claim, machine, node, pod
from claims_at_server.reader import Reader, ask, read_world
from claims_at_server.world import World

from scheduler_core.model.ownership import CONTROLLER, OWNER
from tangram.errors import BadInput, Unreachable

Run = Callable[..., Any]
TAINT = f"{OWNER}={CONTROLLER}"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Two nodes of two GPUs that the controller allocates, and commands that read them."""
    return read_world(monkeypatch)


@pytest.fixture
def run(tangram: Run) -> Run:
    return tangram


def add_schedulers_node(world: World, name: str = "other") -> None:
    """Add a node of two GPUs that kube-scheduler allocates."""
    world.server.put("Node", {**node(name), "metadata": {"name": name}})
    for document in machine(name, taints=False):
        world.server.put("ResourceSlice", document)


def hold(world: World, pool: str, device: str) -> None:
    """Let a claim hold a device."""
    result = {"request": "r", "driver": "tangram.dev", "pool": pool, "device": device}
    held = {**claim(f"held-{pool}-{device}"), "status": {"allocation": {"devices": {"results": [result]}}}}
    world.server.put("ResourceClaim", held)


def cut_off(monkeypatch: pytest.MonkeyPatch, error: Exception, refused: str = "Pod") -> None:
    """Let the server refuse to list a kind."""
    listed = Reader.list

    def cut(self: Reader, kind: str, fields: str = "") -> Any:
        if kind == refused:
            raise error
        return listed(self, kind, fields)

    monkeypatch.setattr(Reader, "list", cut)


def test_the_claim_of_a_pod_at_the_gate_has_the_controllers_answer_for_the_pod(
    world: World, run: Run
) -> None:
    ask(world, "p", count=3)
    of_claim, of_pod = run("explain", "claim/p"), run("explain", "pod/p")

    assert of_claim.status == of_pod.status == 1
    head, empty, *rest = of_claim.out.splitlines()
    assert head == "claim default/p waits for the controller, which allocates all claims of a pod together"
    assert (empty, rest) == ("", of_pod.out.splitlines())
    values = [run("explain", one, "--json").json for one in ("claim/p", "pod/p")]
    assert values[0] == {"claim": "default/p", **values[1]}


def test_a_claim_that_fits_with_the_controller_says_where(world: World, run: Run) -> None:
    ask(world, "p")
    answer = run("explain", "claim/p")
    assert answer.status == 0
    assert "pod default/p gets devices on node node-" in answer.out
    assert TAINT not in answer.out


def test_the_other_claims_of_the_pod_count(world: World, run: Run) -> None:
    world.server.put("ResourceClaim", claim("small"))
    world.server.put("ResourceClaim", claim("large", count=3))
    world.server.put("Pod", pod("p", "small", "large"))

    answer = run("explain", "claim/small")

    assert answer.status == 1
    assert "needs 3 devices" in answer.out


@pytest.mark.parametrize("option", ["--why-not", "--node-name"])
def test_one_node_is_explained_as_the_controller_sees_it(world: World, run: Run, option: str) -> None:
    add_schedulers_node(world)
    ask(world, "p")
    answer = run("explain", "claim/p", option, "other")
    assert answer.status == 1
    assert "pod default/p gets nothing on other: it left the devices to kube-scheduler" in answer.out


def test_of_several_pods_at_the_gate_the_first_in_the_line_is_asked_about(world: World, run: Run) -> None:
    ask(world, "p", count=3)
    world.server.put("Pod", pod("urgent", "p", priority=9))
    assert run("explain", "claim/p", "--json").json["pod"] == "default/urgent"


def test_a_claim_that_no_pod_waits_with_is_asked_about_as_both_would_decide(world: World, run: Run) -> None:
    add_schedulers_node(world)
    world.server.put("ResourceClaim", claim("c", count=3))

    answer = run("explain", "claim/c")

    assert answer.status == 1
    assert answer.out.startswith(
        "The controller allocates the devices of 2 nodes (node-a, node-b), kube-scheduler those of the "
        "others. Devices were found for neither. No pod waits with this claim; without one nobody allocates "
        "it.\n\n"
        "fits on none of 3 nodes:\n"
    )
    assert TAINT not in answer.out
    value = run("explain", "claim/c", "--json").json
    assert value["controllerNodes"] == ["node-a", "node-b"]
    assert (value["waitingPods"], value["answerOf"]) == ([], "both")


def test_what_fits_where_kube_scheduler_allocates_is_explained_as_it_decides(world: World, run: Run) -> None:
    add_schedulers_node(world)
    ask(world, "p", gated=False)

    value = run("explain", "claim/p", "--json").json

    assert (value["answerOf"], value["policy"], value["node"]) == ("kube-scheduler", "first-fit", "other")
    assert value["waitingPods"] == ["default/p"]


def test_what_fits_with_the_controller_alone_is_explained_as_it_decides(world: World, run: Run) -> None:
    add_schedulers_node(world)
    for number in range(2):
        hold(world, "other", f"gpu-{number}")
    ask(world, "p", gated=False)

    answer = run("explain", "claim/p")

    assert answer.status == 0
    note, empty, *_ = answer.out.splitlines()
    assert note.endswith(
        "This is the controller's answer. For all claims of its pod: tangram explain pod/p -n default"
    )
    assert empty == ""
    assert "policy best-fit" in answer.out
    value = run("explain", "claim/p", "--json").json
    assert (value["answerOf"], value["policy"]) == ("controller", "best-fit")


def test_a_pod_that_the_controller_leaves_to_kube_scheduler_has_that_ones_answer(
    world: World, run: Run
) -> None:
    for name in ("node-a", "node-b"):
        world.server.put("Node", {**node(name), "metadata": {"name": name}})
        for document in machine(name, taints=False):
            world.server.put("ResourceSlice", document)
    ask(world, "p")

    answer = run("explain", "claim/p")

    assert answer.status == 0
    assert answer.out.startswith(
        "pod default/p waits at the controller's gate, and is left to kube-scheduler: no device of a node "
        "that the controller owns matches the claims\n\n"
    )
    assert "policy first-fit" in answer.out


def test_a_taint_that_no_label_explains_stays_the_reason(world: World, run: Run) -> None:
    world.server.put("Node", {**node("node-b"), "metadata": {"name": "node-b"}})
    world.server.put("Node", node("node-a", left="over"))
    for number in range(2):
        hold(world, "node-a", f"gpu-{number}")
    world.server.put("ResourceClaim", claim("c"))

    answer = run("explain", "claim/c", "--node-name", "node-b")
    assert (answer.status, "The controller" in answer.out) == (1, False)
    assert f"taint {TAINT}:NoSchedule is not tolerated" in answer.out
    assert run("explain", "claim/c", "--json").json["answerOf"] == "both"


def test_a_policy_that_is_named_is_asked_about_without_the_pod(world: World, run: Run) -> None:
    ask(world, "p")
    value = run("explain", "claim/p", "--policy", "first-fit", "--json").json
    assert (value["answerOf"], value["policy"]) == ("controller", "first-fit")


def test_pods_that_have_ended_or_have_a_node_do_not_wait(world: World, run: Run) -> None:
    world.server.put("ResourceClaim", claim("c"))
    world.server.put("Pod", {**pod("ended", "c"), "status": {"phase": "Failed"}})
    world.server.put("Pod", pod("placed", "c", gated=False, nodeName="node-a"))
    world.server.put("Pod", pod("elsewhere", "another"))
    assert run("explain", "claim/c", "--json").json["waitingPods"] == []


def test_without_the_right_to_list_pods_both_are_asked(
    world: World, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(world, "p")
    cut_off(monkeypatch, BadInput("pods is forbidden"))
    answer = run("explain", "claim/p")
    assert answer.status == 0
    assert (
        "This is the controller's answer. Which pods use the claim is not known: pods is forbidden\n"
        in answer.out
    )


def test_without_the_rights_of_the_controllers_answer_the_claim_alone_is_asked_about(
    world: World, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(world, "p")
    cut_off(monkeypatch, BadInput("templates is forbidden"), "ResourceClaimTemplate")
    answer = run("explain", "claim/p")
    assert answer.status == 0
    assert answer.out.startswith(
        "pod default/p waits for the controller, whose answer is not known: templates is forbidden\n"
        "The controller allocates the devices of all nodes asked about. This is the controller's answer. "
    )


def test_a_server_that_is_gone_is_no_claim_without_pods(
    world: World, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(world, "p")
    cut_off(monkeypatch, Unreachable("no answer"))
    answer = run("explain", "claim/p")
    assert (answer.status, answer.out, answer.err) == (3, "", "tangram: no answer\n")
