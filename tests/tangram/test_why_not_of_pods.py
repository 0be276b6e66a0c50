"""``tangram explain pod/NAME --why-not NODE|DEVICE``: asked when the pod's turn comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from claims_at_server import pod
from claims_at_server.reader import ask, read_world
from claims_at_server.world import World

from scheduler_core.model.ownership import AMOUNTS, CLAIM

Run = Callable[..., Any]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Two nodes of two GPUs, and commands that read them."""
    return read_world(monkeypatch)


@pytest.fixture
def run(tangram: Run) -> Run:
    return tangram


def ask_amounts(world: World, name: str, **amounts: str) -> None:
    """Make a pod that asks by amounts, as the webhook leaves it: of Koordinator's names, and of a class."""
    wanted = pod(name, f"{name}-amounts")
    asked = {
        f"class.tangram.dev/{key}" if key == "big" else f"koordinator.sh/{key}": value
        for key, value in amounts.items()
    }
    wanted["metadata"]["annotations"] = {CLAIM: f"{name}-amounts", AMOUNTS: json.dumps(asked)}
    world.server.put("Pod", wanted)


def test_a_node_that_lacks_devices_is_explained_with_what_would_help(world: World, run: Run) -> None:
    ask(world, "holder")
    world.settle()
    ask(world, "p", count=2)
    held = world.server.objects["ResourceClaim"]["holder"]["status"]["allocation"]
    node = held["devices"]["results"][0]["pool"]

    answer = run("explain", "pod/p", "--why-not", node, "--json")

    assert (answer.status, answer.json["pod"], answer.json["node"]) == (1, "default/p", node)
    texts = [one["text"] for one in answer.json["remedies"]]
    assert any("end the claim" in one and "default/holder" in one for one in texts)
    assert f"does not fit on {node}" in run("explain", "pod/p", "--why-not", node).out


def test_a_node_that_comes_second_is_compared(world: World, run: Run) -> None:
    ask(world, "p")
    chosen = run("explain", "pod/p", "--json").json["node"]
    other = ({"node-a", "node-b"} - {chosen}).pop()

    answer = run("explain", "pod/p", "--why-not", other)

    assert answer.status == 0
    assert f"the claims fit on {other}, and {chosen} is chosen" in answer.out


def test_a_node_that_may_not_run_the_pod_says_why(world: World, run: Run) -> None:
    ask(world, "p", cpu="65")

    answer = run("explain", "pod/p", "--why-not", "node-a")

    assert (answer.status, answer.out) == (1, "pod default/p gets nothing on node-a: it had too little cpu\n")
    assert run("explain", "pod/p", "--why-not", "node-a", "--json").json == {
        "pod": "default/p",
        "node": "node-a",
        "mayRun": False,
        "why": "had too little cpu",
    }


@pytest.mark.parametrize("by_amounts", [False, True])
def test_a_held_device_ends_with_the_claim_to_end_and_what_is_given_instead(
    world: World, run: Run, by_amounts: bool
) -> None:
    ask(world, "holder")
    world.settle()
    held = world.server.objects["ResourceClaim"]["holder"]["status"]["allocation"]["devices"]["results"][0]
    if by_amounts:
        ask_amounts(world, "p", gpu="100")
    else:
        ask(world, "p")

    answer = run("explain", "pod/p", "--why-not", f"{held['pool']}/{held['device']}", "--json")

    assert answer.status == 1
    (ending,) = answer.json["remedies"]
    assert [one["name"] for one in ending["claims"]] == ["holder"]
    assert len(answer.json["instead"]) == 1


def test_pods_before_it_have_their_devices_when_it_is_asked(world: World, run: Run) -> None:
    ask(world, "first", kind="gpu", count=2)
    ask(world, "second", kind="gpu", count=2)
    first = run("explain", "pod/first", "--json").json["node"]

    answer = run("explain", "pod/second", "--why-not", first)

    assert answer.status == 1
    assert f"does not fit on {first}" in answer.out


def test_amounts_of_a_node_are_counted(world: World, run: Run) -> None:
    ask_amounts(world, "p", gpu="300")

    answer = run("explain", "pod/p", "--why-not", "node-a", "--json")

    (funnel,) = answer.json["funnels"]
    assert answer.status == 1
    assert (funnel["type"], funnel["needed"]) == ("gpu", 3)
    assert [(one["kind"], one["left"]) for one in funnel["stages"]] == [
        ("known", 2),
        ("amount", 2),
        ("free", 2),
    ]
    (less,) = answer.json["remedies"]
    assert less["text"].startswith("ask for koordinator.sh/gpu: 200 instead of koordinator.sh/gpu: 300")


def test_a_refused_pod_by_amounts_has_a_funnel_and_remedies(world: World, run: Run) -> None:
    ask_amounts(world, "p", gpu="300")

    answer = run("explain", "pod/p")

    assert answer.status == 1
    assert "gpu: needs 3, 2 are free" in answer.out
    assert "To make it fit:\n  - ask for koordinator.sh/gpu: 200" in answer.out
    assert run("explain", "pod/p", "--json").json["remedies"][0]["kind"] == "AskForAmount"


def test_a_pod_that_is_not_decided_about_is_answered_as_without_the_option(world: World, run: Run) -> None:
    world.server.put("Pod", pod("p", "nowhere"))

    assert run("explain", "pod/p", "--why-not", "node-a") == run("explain", "pod/p")


@pytest.mark.parametrize("wanted", ["node-c", "gpu-9"])
def test_what_is_no_node_and_no_device_is_one_message(world: World, run: Run, wanted: str) -> None:
    ask(world, "p")

    answer = run("explain", "pod/p", "--why-not", wanted)

    assert (answer.status, answer.out) == (2, "")
    assert f"--why-not: '{wanted}': is no node and no device of a node" in answer.err


def test_a_claim_of_a_cluster_is_asked_in_the_same_way(world: World, run: Run) -> None:
    ask(world, "p", count=3)

    answer = run("explain", "claim/p", "--why-not", "node-b", "--json")

    assert (answer.status, answer.json["node"]) == (1, "node-b")


@pytest.fixture
def big(world: World) -> None:
    """A resource class of whole GPUs. A ResourceClass has no namespace."""
    entry = {"matchExpressions": [{"key": "type", "operator": "In", "values": ["gpu"]}]}
    world.server.put("ResourceClass", {"metadata": {"name": "big"}, "spec": {"resourceSelector": [entry]}})
    del world.server.objects["ResourceClass"]["big"]["metadata"]["namespace"]


@pytest.mark.usefixtures("big")
@pytest.mark.parametrize("option", [(), ("--why-not", "node-b")])
def test_amounts_of_a_class_are_explained_as_a_claim(world: World, run: Run, option: tuple[str, ...]) -> None:
    ask_amounts(world, "p", big="3")

    answer = run("explain", "pod/p", *option)

    assert answer.status == 1
    assert "2 of class class.tangram.dev/big" in answer.out
    assert "ask for 2 instead of 3 devices in request class-big of default/p-amounts" in answer.out


@pytest.mark.usefixtures("big")
def test_a_remedy_makes_amounts_and_claims_fit_together(world: World, run: Run) -> None:
    ask_amounts(world, "p", gpu="200", big="1")

    answer = run("explain", "pod/p", "--why-not", "node-a")

    assert answer.status == 1
    assert "the pod's amounts and its claims fit one by one, and not together" in answer.out
    assert "ask for koordinator.sh/gpu: 100 instead of koordinator.sh/gpu: 200" in answer.out
