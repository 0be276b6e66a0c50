"""``tangram plan``: what fits, how much more, and what to end or add; wrong input is one message."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_core.frontends.configuration.preparable import ONE_DAEMON

PAGE = Path(__file__).parents[2] / "docs" / "plan-ahead"


@pytest.fixture
def slices(tangram, shipped, written):
    return written("slices.yaml", tangram("show", "--machine", shipped("a100x2"), "--as", "v1").out)


def test_slices_of_files_and_added_nodes_count_together(tangram, slices):
    answer = tangram("plan", "-f", slices, "--add", "2=a100x2", "--json")

    rooms = {one["kind"]: one for one in answer.json["room"]}
    assert answer.status == 0
    assert rooms["1g.5gb"]["count"] == 3 * 14
    assert [one["node"] for one in rooms["gpu"]["nodes"]] == ["a100x2", "a100x2-1", "a100x2-2"]


def test_an_added_node_gets_a_name_that_no_node_has(tangram, slices, written):
    renamed = written("renamed.yaml", slices.read_text().replace("a100x2", "a100x2-1"))

    answer = tangram("plan", "-f", renamed, "--add", "1=a100x2", "--json")

    assert [one["node"] for one in answer.json["room"][0]["nodes"]] == ["a100x2-1", "a100x2-2"]


def test_the_exit_status_says_whether_all_copies_fit(tangram, examples):
    asked = ("plan", "--add", "1=a100x2", "--claim", examples / "gpu-claim.yaml", "--count")

    fits, does_not = tangram(*asked, "2"), tangram(*asked, "3")

    assert (fits.status, does_not.status) == (0, 1)
    assert "2 of 2" in fits.out
    assert "2 of 3" in does_not.out
    assert "ending other claims does not help" in does_not.out
    assert "To make all 3 copies fit under best-fit:\n  add 1 node of kind a100x2\n" in does_not.out


def test_a_policy_may_place_fewer_copies_than_fit(tangram):
    """First-fit gives the small part a place that the large one needs."""
    asked = ("plan", "--add", "1=a100x2", "--claim", PAGE / "two-parts.yaml", "--count", "2")

    answer, under_first_fit = tangram(*asked, "--json"), tangram(*asked, "--policy", "first-fit")

    assert answer.json["most"]["count"] == 2
    assert {name: one["placed"] for name, one in answer.json["policies"].items()} == {
        "best-fit": 2,
        "first-fit": 1,
    }
    assert (answer.status, under_first_fit.status) == (0, 1)


def test_nodes_to_add_are_those_of_the_cluster_and_those_that_may_be_added(tangram, slices, examples):
    asked = ("plan", "-f", slices, "--claim", examples / "gpu-claim.yaml", "--count", "20")

    answer = tangram(*asked, "--may-add", "dgx-a100", "--json")

    assert answer.status == 1
    assert answer.json["adding"] == {
        "options": [
            {"kind": "dgx-a100", "count": 3, "atLeast": 3, "isFewest": True},
            {"kind": "like a100x2", "count": 9, "atLeast": 9, "isFewest": True},
        ],
        "isComplete": True,
    }
    assert answer.json["endingForAll"] == {
        "found": False,
        "total": 0,
        "nodes": [],
        "placed": 0,
        "isComplete": True,
    }


def test_claims_to_end_for_all_copies_are_told_by_node(tangram, examples):
    asked = ("plan", "--add", "2=a100x2", "-f", PAGE / "running.yaml", "--claim", examples / "gpu-claim.yaml")

    found = tangram(*asked, "--count", "2", "--json").json["endingForAll"]

    assert (found["found"], found["total"], found["placed"]) == (True, 2, 2)
    assert [(one["node"], one["copies"], len(one["end"])) for one in found["nodes"]] == [
        ("a100x2-1", 1, 1),
        ("a100x2-2", 1, 1),
    ]


def test_a_bound_of_the_search_for_nodes_is_told(tangram, examples):
    answer = tangram("plan", "--add", "1=a100x2", "--claim", examples / "gpu-claim.yaml", "--count", "4000")

    assert "add at least 1999 nodes of kind a100x2; the search stopped at its bound" in answer.out
    assert "what to end was not found" in answer.out


def test_all_fits_and_nothing_is_to_be_added(tangram, examples):
    answer = tangram("plan", "--add", "1=a100x2", "--claim", examples / "gpu-claim.yaml", "--json")

    assert (answer.json["adding"], answer.json["endingForAll"]) == (None, None)


def test_claims_that_wait_are_named_and_not_planned_for(tangram, examples):
    answer = tangram("plan", "--add", "1=a100x2", "-f", examples / "gpu-claim.yaml")

    assert answer.status == 0
    assert (
        "claims without devices are not planned for: default/whole-gpu; give them with --claim" in answer.err
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("plan",), "--add: no node is known"),
        (("plan", "--add", "a100x2"), "'a100x2': must be N=KIND"),
        (("plan", "--add", "0=a100x2"), "must be N=KIND, N from 1 to 10000"),
        (("plan", "--add", "1=nothing"), "nothing"),
        (("plan", "--add", "1=a100x2", "--count", "2"), "--count: '2': is for --claim"),
        (("plan", "--add", "1=a100x2", "--may-add", "a30x4"), "--may-add: 'a30x4': is for --claim"),
        (("plan", "--add", "1=a100x2", "--claim", "/nonexistent.yaml"), "/nonexistent.yaml"),
        (("plan", "--add", "1=a100x2", "--claim", "x", "--count", "0"), "must be a whole number from 1"),
        (("plan", "--cluster", "-f", "x.yaml"), "has no effect with --cluster"),
    ],
)
def test_wrong_use_is_one_message_and_status_2(tangram, arguments, told):
    answer = tangram(*arguments)

    assert answer.status == 2
    assert told in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_a_file_without_a_claim_to_place_is_refused(tangram, examples):
    answer = tangram("plan", "--add", "1=a100x2", "--claim", examples / "device-classes.yaml")

    assert answer.status == 2
    assert "no ResourceClaim or ResourceClaimTemplate without an allocation" in answer.err


def test_what_no_plugin_would_prepare_is_refused(tangram, examples, written):
    text = (examples / "gpu-claim.yaml").read_text()
    parameters = "{apiVersion: tangram.dev/v1alpha1, kind: GpuConfig, sharing: {strategy: MPS}}"
    config = f"    config:\n    - opaque: {{driver: tangram.dev, parameters: {parameters}}}\n"
    claim = written("two.yaml", text.replace("gpu.tangram.dev", "gpu.tangram.dev\n        count: 2") + config)

    answer = tangram("plan", "--add", "1=a100x2", "--claim", claim)

    assert answer.status == 2
    assert ONE_DAEMON in answer.err
