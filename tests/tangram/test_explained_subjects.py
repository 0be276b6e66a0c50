"""What ``tangram explain`` understands as a pod or a claim of a cluster, and in which namespace it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from claims_at_server.reader import ask, read_world
from claims_at_server.world import World

Run = Callable[..., Any]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Two nodes of two GPUs, and commands that read them."""
    return read_world(monkeypatch)


@pytest.fixture
def run(tangram: Run) -> Run:
    return tangram


@pytest.mark.parametrize("subject", ["claim/first", "resourceclaim/first"])
def test_a_claim_is_named_as_kubectl_names_it(world: World, run: Run, subject: str) -> None:
    ask(world, "first")

    named = run("explain", subject, "-n", "default", "--json")

    assert "default/first" in named.out + named.err
    assert named == run("explain", "--cluster", "--claim", "default/first", "--json")


@pytest.mark.parametrize("subject", [("pod/first",), ("claim/first",), ("--cluster", "--claim", "first")])
def test_without_a_namespace_that_of_the_context_is_meant(
    world: World, run: Run, subject: tuple[str, ...]
) -> None:
    ask(world, "first")

    there, elsewhere = run("explain", *subject), run("explain", *subject, "--context", "team-b")

    assert "default/first" in there.out + there.err
    assert (elsewhere.status, elsewhere.out) == (2, "")
    assert "team-b/first not found" in elsewhere.err


def test_a_named_namespace_comes_before_that_of_the_context(world: World, run: Run) -> None:
    ask(world, "first")

    for subject in ("pod/first", "claim/first"):
        answer = run("explain", subject, "-n", "default", "--context", "team-b")
        assert "not found" not in answer.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("claim/",), "explain: 'claim/': must be claim/NAME"),
        (("claim/a/b",), "must be claim/NAME; name its namespace by --namespace"),
        (("claim/a", "--cluster"), "--cluster: has no effect with claim/NAME"),
        (("node/a",), "must be pod/NAME or claim/NAME"),
    ],
)
def test_what_is_no_claim_and_no_pod_is_one_message(run: Run, arguments: tuple[str, ...], told: str) -> None:
    answer = run("explain", *arguments)

    assert answer.status == 2
    assert told in answer.err


def test_what_the_controller_gave_is_explained_without_the_taint_that_keeps_others_off(
    world: World, run: Run
) -> None:
    ask(world, "first")
    held = {**world.server.objects["ResourceClaim"]["first"]}
    result = {"request": "gpus", "driver": "tangram.dev", "pool": "node-a", "device": "gpu-0"}
    by_name = {"key": "metadata.name", "operator": "In", "values": ["node-a"]}
    node = {"nodeSelectorTerms": [{"matchFields": [by_name]}]}
    held["status"] = {"allocation": {"devices": {"results": [result]}, "nodeSelector": node}}
    world.server.put("ResourceClaim", held)

    answer = run("explain", "claim/first", "-n", "default")

    assert "tangram.dev/allocator" not in answer.out
    assert answer.status == 0
