"""``tangram pending`` and ``tangram explain pod/NAME`` say what the controller does and tells pods."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from claims_at_server import machine, node, pod
from claims_at_server.reader import ask, read_world
from claims_at_server.world import World

from scheduler_core.model.ownership import AMOUNTS, CLAIM, CONDITION

Run = Callable[..., Any]
_LATER = "2026-06-01T00:00:00Z"
_OTHER_GATE = {"name": "example.com/quota"}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Two nodes of two GPUs, and commands that read them."""
    return read_world(monkeypatch)


@pytest.fixture
def run(tangram: Run) -> Run:
    return tangram


def told(world: World, name: str) -> str:
    """Let the controller decide, write and tell; return the message of the pod's condition."""
    world.settle()
    world.pass_time(3)
    while world.coordinator.explain():
        pass
    for plan in world.coordinator.tells():
        world.write(plan)
    (found,) = world.server.pods()[name]["status"]["conditions"]
    assert (found["type"], found["status"]) == (CONDITION, "False")
    return str(found["message"])


def test_nobody_waits(world: World, run: Run) -> None:
    answer = run("pending")
    assert (answer.status, answer.out, answer.err) == (0, "no pod waits for devices\n", "")
    assert run("pending", "--json").json == {"pods": []}


def refused_by_devices(world: World) -> None:
    ask(world, "p", count=3)


def refused_by_room(world: World) -> None:
    ask(world, "p", cpu="65")


def refused_by_rules_and_devices(world: World) -> None:
    world.server.put("Node", node("node-a", disk="slow"))
    ask(world, "p", count=3, nodeSelector={"disk": "slow"})


def refused_by_the_label(world: World) -> None:
    for name in ("node-a", "node-b"):
        world.server.put("Node", {**node(name), "metadata": {"name": name}})
    ask(world, "p")


def refused_without_a_gate(world: World) -> None:
    ask(world, "p", count=3, gated=False)


def refused_for_a_missing_claim(world: World) -> None:
    world.server.put("Pod", pod("p", "nowhere"))


def refused_for_a_missing_class(world: World) -> None:
    ask(world, "p", kind="none")


def refused_behind_another(world: World) -> None:
    for name in ("a", "b"):
        ask(world, name, count=2)
    ask(world, "p", "half")


def refused_by_amounts(world: World) -> None:
    wanted = pod("p", "p-amounts")
    wanted["metadata"]["annotations"] = {CLAIM: "p-amounts", AMOUNTS: '{"koordinator.sh/gpu": "300"}'}
    world.server.put("Pod", wanted)


REFUSED = [
    refused_by_devices,
    refused_by_room,
    refused_by_rules_and_devices,
    refused_by_the_label,
    refused_without_a_gate,
    refused_for_a_missing_claim,
    refused_for_a_missing_class,
    refused_behind_another,
    refused_by_amounts,
]


@pytest.mark.parametrize("make", REFUSED, ids=lambda one: one.__name__)
def test_both_commands_say_what_the_controller_wrote_into_the_pods_condition(
    world: World, run: Run, make: Callable[[World], None]
) -> None:
    make(world)
    before = {one["name"]: one["reason"] for one in run("pending", "--json").json["pods"]}
    explained = run("explain", "pod/p", "--json")

    said = told(world, "p")

    assert said
    assert before["p"] == said
    assert explained.json["reason"] == said
    assert explained.status == 1
    assert run("explain", "pod/p", "--json").json["told"] == said


def test_a_pod_that_fits_gets_the_devices_that_the_controller_gives(world: World, run: Run) -> None:
    ask(world, "first", "half")
    ask(world, "p", "half")
    explained = run("explain", "pod/p", "--json").json
    pending = {one["name"]: one for one in run("pending", "--json").json["pods"]}

    world.settle()

    given = {"default/p": [f"tangram.dev/{one}" for one in world.devices_of("p")]}
    assert explained["node"] == pending["p"]["node"] == world.node_of("p")
    assert explained["devices"] == pending["p"]["devices"] == given
    assert explained["state"] == "gets devices"


def test_the_other_nodes_are_compared_with_the_chosen_one(world: World, run: Run) -> None:
    ask(world, "first", "half")
    world.settle()
    chosen, other = sorted(("node-a", "node-b"), key=lambda one: one != world.node_of("first"))
    ask(world, "p", "half")

    answer = run("explain", "pod/p")

    assert answer.status == 0
    assert answer.out.splitlines() == [
        f"pod default/p gets devices on node {chosen}",
        f"  claim default/p: tangram.dev/{chosen}/half-0-1",
        "",
        "chosen by what is left for later claims",
        f"not node {other}: would leave less room: for 2 devices like gpu-0 instead of 3",
    ]


def test_nodes_that_will_not_do_are_counted_by_reason(world: World, run: Run) -> None:
    world.add_nodes("node-c", "node-d", "node-e")
    world.server.put("Node", node("node-c", cpu="1"))
    world.server.put("Node", node("node-d", cpu="1"))
    tainted = {**node("node-e"), "spec": {"taints": [{"key": "own", "effect": "NoSchedule"}]}}
    world.server.put("Node", tainted)
    ask(world, "p", count=3, cpu="2")

    answer = run("explain", "pod/p")

    assert answer.status == 1
    rows = answer.out.splitlines()
    assert rows[0] == "pod default/p gets no devices"
    assert rows[1].startswith(
        "  0/5 nodes with devices are available: on 2 nodes (such as node-a) request r of claim default/p"
    )
    assert [" ".join(row.split()) for row in rows[3:7]] == [
        "NODES WHY NOT FOR EXAMPLE",
        "2 request r of claim default/p needs 3 devices, and only 2 match node-a",
        "2 had too little cpu",
        "1 had the untolerated taint own:NoSchedule",
    ]


def test_a_pod_that_waits_is_told_what_would_help(world: World, run: Run) -> None:
    for name in ("first", "second"):
        ask(world, name, count=2)
    world.settle()
    ask(world, "p")

    assert "To make it fit:\n  - end the claim that holds devices on node-" in run("explain", "pod/p").out
    found = run("explain", "pod/p", "--json").json
    assert [one["kind"] for one in found["remedies"]] == ["EndClaims"]
    assert [stage["kind"] for stage in found["funnels"][0]["stages"]] == ["known", "class", "free"]


def test_what_is_said_to_help_a_pod_helps(world: World, run: Run) -> None:
    ask(world, "p", count=3)
    (remedy,) = run("explain", "pod/p", "--json").json["remedies"]
    assert (remedy["kind"], remedy["asked"], remedy["count"]) == ("TakeFewer", 3, 2)

    ask(world, "p", count=remedy["count"])
    world.settle()

    assert world.node_of("p") == remedy["node"]


def test_a_pod_that_waited_five_minutes_has_a_node_held_back_for_it(world: World, run: Run) -> None:
    for name in ("node-a", "node-b"):
        ask(world, f"small-{name}", "half", nodeSelector={"on": name})
        world.server.put("Node", node(name, on=name))
    world.settle()
    ask(world, "large", count=2)
    world.server.objects["Pod"]["large"]["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    ask(world, "late", "half")
    world.server.objects["Pod"]["late"]["metadata"]["creationTimestamp"] = _LATER

    late = run("explain", "pod/late", "--json").json

    assert [one["why"] for one in late["unusable"]] == ["held devices back for pods that wait longer"]


def test_a_pod_that_is_bound_is_told_with_its_devices(world: World, run: Run) -> None:
    ask(world, "p")
    world.settle()
    where = str(world.node_of("p"))
    unbound = run("explain", "pod/p")
    world.bind("p", where)
    bound = run("explain", "pod/p")

    devices = f"  claim default/p: tangram.dev/{world.devices_of('p')[0]}\n"
    head = f"pod default/p has its devices on node {where}\n{devices}"
    assert unbound.out == f"{head}  kube-scheduler has not bound it to a node yet\n"
    assert bound.out == f"{head}  it is bound to node {where}\n"
    assert (unbound.status, bound.status) == (0, 0)


def test_what_the_controller_leaves_alone_is_said_and_not_listed(world: World, run: Run) -> None:
    world.server.put("Pod", pod("none", gated=False))
    ask(world, "quota", gated=False, schedulingGates=[_OTHER_GATE])
    ask(world, "theirs", kind="none", gated=False)

    assert run("pending").out == "no pod waits for devices\n"
    assert "it asks for no devices" in run("explain", "pod/none").out
    assert "the gates of others come first: example.com/quota" in run("explain", "pod/quota").out
    assert "theirs" in run("explain", "pod/theirs").out


def test_a_condition_that_is_no_longer_true_is_shown_as_such(world: World, run: Run) -> None:
    ask(world, "p", count=3)
    said = told(world, "p")
    for one in machine("node-c", 4):
        world.server.put("ResourceSlice", one)
    world.server.put("Node", node("node-c"))

    answer = run("explain", "pod/p")

    assert answer.status == 0
    assert f"its condition still says: {said}" in answer.out


def test_pods_of_other_namespaces_are_left_out_on_request(world: World, run: Run) -> None:
    ask(world, "p", count=3)

    assert run("pending", "-n", "default").out.splitlines()[1].startswith("default")
    assert run("pending", "-n", "other").out == "no pod waits for devices\n"


def test_everything_fits_into_80_columns(world: World, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(world, "p" * 63, count=3)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")

    for arguments in (("pending",), ("explain", f"pod/{'p' * 63}")):
        lines = re.sub(r"\x1b\[[0-9;]*m", "", run(*arguments).out).splitlines()
        assert len(lines) > 1
        assert max(len(line.rstrip()) for line in lines) <= 80


def test_a_device_that_cannot_be_read_spoils_no_answer(world: World, run: Run) -> None:
    broken = {"metadata": {"name": "broken"}, "spec": {"driver": "tangram.dev", "devices": [7]}}
    world.server.put("ResourceSlice", broken)
    ask(world, "p", count=3)

    answer = run("pending", "--json")

    assert [one["name"] for one in answer.json["pods"]] == ["p"]
    assert "left out" in answer.err
    assert "broken" in answer.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pod/p", "-f", "x.yaml"), "--file: 'x.yaml': has no effect with pod/NAME"),
        (("pod/p", "-f", "x.yaml", "-f", "y"), "--file: 'x.yaml, y': has no effect with pod/NAME"),
        (("pod/p", "--cluster"), "--cluster: has no effect with pod/NAME"),
        (("pod/p", "--policy", "first-fit"), "--policy: 'first-fit': has no effect with pod/NAME"),
        (("p",), "'p': must be pod/NAME"),
        (("pod/",), "'pod/': must be pod/NAME"),
        (("pod/a/b",), "'pod/a/b': must be pod/NAME"),
        (("pod/nobody",), "default/nobody"),
        (("-n", "x"), "--namespace: 'x': is for pod/NAME"),
    ],
)
@pytest.mark.usefixtures("world")
def test_wrong_use_is_one_sentence_and_status_2(run: Run, arguments: tuple[str, ...], said: str) -> None:
    answer = run("explain", *arguments)

    assert answer.status == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_a_watched_line_is_printed_again_when_it_changes(
    world: World, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(world, "first")
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 2:
            ask(world, "second")
        if len(naps) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("tangram.commands.pending.time.sleep", nap)
    answer = run("pending", "--watch", "--json")

    shown = [[pod["name"] for pod in json.loads(line)["pods"]] for line in answer.out.splitlines()]
    assert shown == [["first"], ["first", "second"]]
    assert (answer.status, naps) == (130, [2.0] * 4)


def test_all_namespaces_are_the_default_and_exclude_one(world: World, run: Run) -> None:
    ask(world, "first")

    assert run("pending", "-A").out == run("pending").out
    assert run("pending", "-A", "-n", "x").status == 2
