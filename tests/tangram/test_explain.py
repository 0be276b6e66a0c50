"""``tangram explain``: sentences and pictures for what does not fit, reasons for what does."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

PARENT = "tangram.dev/parentUUID"


@pytest.fixture
def slices(tangram, shipped, written) -> Path:
    """Write the slices of the machine with two A100 to a file."""
    return written("slices.yaml", tangram("show", "--machine", shipped("a100x2"), "--as", "composite").out)


@pytest.fixture
def files(slices, examples) -> list[str | Path]:
    """The options that name the slices and the classes."""
    return ["-f", slices, "-f", examples / "device-classes.yaml"]


@pytest.fixture
def held(tangram, files, examples, written) -> Path:
    """Write the example's four partitions, allocated, to a file."""
    claim = examples / "mig-claim.yaml"
    status = tangram("allocate", *files, "-f", claim, "--json").json["claims"][0]["status"]
    document = yaml.safe_load(claim.read_text())
    document["metadata"]["name"] = "earlier"
    return written("held.json", json.dumps(document | {"status": status}))


@pytest.fixture
def small(written) -> Callable[..., Path]:
    """Write a claim for so many partitions of one profile, of one parent if wished."""

    def write(count: int, profile: str = "1g.5gb", *, same_parent: bool = False) -> Path:
        expression = f'device.attributes["tangram.dev"].profile == "{profile}"'
        exactly = {"deviceClassName": "mig.tangram.dev", "selectors": [{"cel": {"expression": expression}}]}
        requests = [{"name": f"part-{number}", "exactly": exactly} for number in range(count)]
        constraints = [{"matchAttribute": PARENT}] if same_parent else []
        claim: dict[str, Any] = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "mine"},
            "spec": {"devices": {"requests": requests, "constraints": constraints}},
        }
        return written("claim.json", json.dumps(claim))

    return write


def lines(answer: Any) -> str:
    """The text without its line breaks."""
    return " ".join(answer.out.split())


def test_what_fits_is_told_with_the_reason_against_each_earlier_neighbour(tangram, files, examples):
    answer = tangram("explain", *files, "-f", examples / "mig-claim.yaml", "--policy", "first-fit")

    assert answer.status == 0
    assert "|           used          |         2g.10gb         |" in answer.out
    assert "policy first-fit, chosen by listed order" in answer.out
    assert "request mig-1g-5gb-0: gpu-0-mig-1g-5gb-0 is the first that matches" in lines(answer)
    assert (
        "not gpu-0-mig-2g-10gb-0-1: memory slices 0-1 of gpu-0 are held by "
        "default/mig-devices request mig-1g-5gb-0 (gpu-0-mig-1g-5gb-0)"
    ) in lines(answer)


def test_choices_are_told_as_json_too(tangram, files, held, small):
    answer = tangram("explain", *files, "-f", held, "-f", small(1), "--policy", "first-fit", "--json")

    assert (answer.status, answer.json["allocated"]) == (0, True)
    (choice,) = answer.json["choices"]
    assert choice["device"]["device"] == "gpu-1-mig-1g-5gb-0"
    assert [one["device"]["device"] for one in choice["passed"]] == [
        f"gpu-0-mig-1g-5gb-{number}" for number in range(7)
    ]
    assert choice["passed"][0]["obstacle"]["text"] == "it is held by default/earlier"
    amounts = choice["passed"][2]["obstacle"]["missing"][0]
    assert (amounts["source"], amounts["needed"], amounts["left"]) == ("gpu-0", "1", "0")
    assert {one["by"] for one in amounts["holders"]} == {"default/earlier"}


def test_best_fit_tells_what_each_neighbour_would_have_cost(tangram, files, small):
    answer = tangram("explain", *files, "-f", small(1))

    assert answer.status == 0
    assert "policy best-fit, chosen by what is left for later claims" in answer.out
    assert "request part-0: gpu-0-mig-1g-5gb-6" in answer.out
    assert (
        "not gpu-0-mig-1g-5gb-4, gpu-0-mig-1g-5gb-5, gpu-1-mig-1g-5gb-4 and 1 more: "
        "would leave less room: for 5 devices like gpu-0-mig-2g-10gb-0-1 instead of 6"
    ) in lines(answer)
    assert "not gpu-1-mig-1g-5gb-6: would leave as much" in lines(answer)


def test_best_fit_tells_what_stands_in_the_way_of_a_neighbour(tangram, files, held, small, examples):
    answer = tangram("explain", *files, "-f", held, "-f", examples / "mig-claim.yaml")

    assert answer.status == 0
    assert "held by default/mig-devices request mig-3g-20gb (gpu-1-mig-3g-20gb-4-7)" in lines(answer)
    assert "held by default/earlier" in lines(answer)
    assert "not and" not in lines(answer)


def test_what_neighbours_would_have_cost_is_told_as_json_too(tangram, files, small):
    answer = tangram("explain", *files, "-f", small(1), "--json").json

    assert (answer["policy"], answer["chosenBy"]) == ("best-fit", "what is left for later claims")
    (choice,) = answer["choices"]
    rival = next(one for one in choice["rivals"] if one["device"]["device"] == "gpu-0-mig-1g-5gb-4")
    assert rival["obstacle"] is None
    assert rival["extra"] > 0
    (part,) = rival["remaining"]
    assert (part["like"]["device"], part["withAnswer"], part["withOther"]) == ("gpu-0-mig-2g-10gb-0-1", 6, 5)


def test_best_fit_tells_what_another_node_would_have_cost(tangram, files, shipped, held, small, written):
    full = tangram("show", "--machine", shipped("a100x2"), "--as", "composite").out.replace(
        "a100x2", "second"
    )
    nodes = "{kind: Node, apiVersion: v1, metadata: {name: bare}}"
    given = [*files, "-f", written("second.yaml", full), "-f", written("nodes.yaml", nodes), "-f", held]

    answer = tangram("explain", *given, "-f", small(1, "4g.20gb"))

    assert answer.status == 0
    why = "default/mine request part-0: no device matches its class and selectors: the node has no device"
    assert f"not node bare: does not fit: {why}" in lines(answer)
    assert "not node second: would " in lines(answer) or "not node a100x2: would " in lines(answer)


def test_where_order_decides_best_fit_says_so(tangram, files, small, written):
    claim = json.loads(small(1, "7g.40gb").read_text())
    claim["spec"]["devices"]["requests"][0]["exactly"]["allocationMode"] = "All"

    answer = tangram("explain", *files, "-f", written("all.json", json.dumps(claim)))

    assert answer.status == 0
    assert "policy best-fit, chosen by listed order" in answer.out
    assert "request part-0: gpu-0-mig-7g-40gb-0-7 is the first that matches" in lines(answer)


def test_what_does_not_fit_is_told_by_request_with_amounts_and_holders_and_drawn(tangram, files, held, small):
    answer = tangram("explain", *files, "-f", held, "-f", small(8))

    assert answer.status == 1
    assert (
        "requests part-0, part-1, part-2 and 5 more each: needs 1, 14 devices match, 7 of them free"
        in lines(answer)
    )
    assert "■■■■■■■□□□□□□□" in answer.out
    assert "memory slice 2 of gpu-0 is held by default/earlier (" in lines(answer)
    assert "all 8 requests do not fit together, any fewer of them do: part-0, part-1," in lines(answer)
    assert "gpu-0 on a100x2, as held" in answer.out
    assert "|           used          |         2g.10gb         |" in answer.out


def test_the_requests_that_do_not_hold_together_are_told_as_json(tangram, files, held, small):
    answer = tangram("explain", *files, "-f", held, "-f", small(2, "4g.20gb"), "--json")

    assert (answer.status, answer.json["allocated"]) == (1, False)
    assert answer.json["cause"] == "Insufficient"
    assert [one["request"] for one in answer.json["conflict"]] == ["part-0", "part-1"]
    assert [one["needed"] for one in answer.json["requests"]] == [1, 1]
    assert answer.json["reasons"][0]["cause"] == "Insufficient"


def test_a_constraint_that_refuses_is_told_with_what_there_is_to_meet_it(tangram, files, small):
    answer = tangram("explain", *files, "-f", small(8, same_parent=True))

    assert answer.status == 1
    assert f"matchAttribute {PARENT} over part-0, part-1" in lines(answer)
    assert "needs 8 devices; free devices by value: GPU-" in lines(answer)
    assert ": 7, GPU-" in lines(answer)


def test_a_request_that_matches_nothing_is_the_whole_conflict(tangram, files, small):
    answer = tangram("explain", *files, "-f", small(2, "9g.90gb"))

    assert answer.status == 1
    assert "needs 1, no device matches" in lines(answer)
    assert "default/mine request part-0 does not fit even alone" in lines(answer)


def test_a_node_name_restricts_what_is_explained(tangram, files, small):
    answer = tangram("explain", *files, "-f", small(1), "--node-name", "elsewhere")

    assert answer.status == 1
    assert "does not fit on elsewhere" in answer.out


def test_of_several_nodes_the_closest_is_explained_and_all_are_counted_by_reason(
    tangram, files, small, written
):
    nodes = "\n---\n".join(
        f"{{kind: Node, apiVersion: v1, metadata: {{name: {name}}}}}" for name in ("empty", "bare", "a100x2")
    )

    answer = tangram("explain", "-f", written("nodes.yaml", nodes), *files, "-f", small(1, "9g.90gb"))

    assert answer.status == 1
    assert "fits on none of 3 nodes:" in answer.out
    assert "2 nodes (empty, bare): request part-0 of claim default/mine matches no device" in lines(answer)
    assert "does not fit on a100x2" in answer.out


def test_explain_and_allocate_agree(tangram, files, held, small):
    for count, policy in product((1, 7, 8), ("best-fit", "first-fit")):
        asked = [*files, "-f", held, "-f", small(count), "--json", "--policy", policy]

        allocated, explained = tangram("allocate", *asked), tangram("explain", *asked)

        assert allocated.status == explained.status
        assert allocated.json["allocated"] is explained.json["allocated"]


@pytest.mark.parametrize("text", ["{kind: Weather}", "kind: ResourceClaim\nmetadata: {name: c}\nspec: 1"])
def test_wrong_input_is_one_message_and_status_2(tangram, written, text):
    answer = tangram("explain", "-f", written("bad.yaml", text))

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
