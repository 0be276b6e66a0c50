"""``tangram bench --input``: what it makes of an input, and of one that is wrong."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tangram.bench.objects import Place, claim, device_class, on_node, question, request, resource_slice

UPSTREAM = Path(__file__).parents[1] / "scheduler_core" / "upstream"
FIELDS = {"results", "unschedulable", "fits", "nanoseconds", "cold_nanoseconds", "timed_out"}


def two_devices(*claims, devices=({"name": "d0"}, {"name": "d1"}), **more):
    """Return an input: a node with two equal devices."""
    place = Place("plain.example.com", "node-1", 1, "node-1")
    slices = [resource_slice("slice-0", place, devices=devices)]
    return question("two", slices, [device_class("plain", "true")], claims) | on_node("node-1") | more


def numbered(count):
    return [claim(f"c{number}", [request("r", "plain")]) for number in range(count)]


@pytest.fixture
def answers(tangram, written):
    """Ask inputs, one per line, and return the answers."""

    def ask(*inputs):
        text = "".join(json.dumps(one) + "\n" for one in inputs)
        said = tangram("bench", "--json", "--input", written("inputs.json", text))
        assert said.status == 0, said.err
        return [json.loads(line) for line in said.out.splitlines()]

    return ask


def chosen(answer):
    return [
        result and [one["device"] for one in result["devices"]["results"]] for result in answer["results"]
    ]


def test_an_answer_has_all_fields_and_a_time_for_every_repeat(answers):
    (answer,) = answers(two_devices(*numbered(1), repeat=3))

    assert answer.keys() == FIELDS
    assert len(answer["nanoseconds"]) == 3
    assert answer["cold_nanoseconds"] > 0


def test_claims_of_one_input_fit_together_or_not_at_all(answers):
    fitting, refused = answers(two_devices(*numbered(2)), two_devices(*numbered(3)))

    assert chosen(fitting) == [["d0"], ["d1"]]
    assert (refused["results"], refused["unschedulable"], refused["fits"]) == ([], True, [])


@pytest.mark.parametrize("how", ["list", "true"])
def test_in_a_sequence_each_allocation_is_kept_and_timed_in_every_repeat(answers, how):
    three = numbered(3)
    asked = two_devices(sequence=three) if how == "list" else two_devices(*three, sequence=True)

    (answer,) = answers(asked | {"repeat": 2})

    assert chosen(answer) == [["d0"], ["d1"], None]
    assert len(answer["nanoseconds"]) == 6
    assert answer["unschedulable"]


def test_a_sequence_that_is_false_is_none(answers):
    (answer,) = answers(two_devices(*numbered(2), sequence=False))

    assert chosen(answer) == [["d0"], ["d1"]]
    assert len(answer["nanoseconds"]) == 1


def test_nodes_that_fit_are_all_told_and_the_devices_are_those_of_the_first(answers):
    (answer,) = answers(two_devices(*numbered(1), nodes=["elsewhere", "node-1"]))

    assert answer["fits"] == ["node-1"]
    assert chosen(answer) == [["d0"]]


def test_what_is_held_is_not_given_again(answers):
    held = {"devices": [{"driver": "plain.example.com", "pool": "node-1", "device": "d0"}]}

    (answer,) = answers(two_devices(*numbered(1), allocated=held))

    assert chosen(answer) == [["d1"]]


def test_shares_of_a_device_have_ids_and_consume_until_nothing_is_left(answers):
    device = {"name": "d0", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "3Gi"}}}
    place = {"driver": "plain.example.com", "pool": "node-1", "device": "d0"}
    held = {
        "shared": [place | {"shareID": "5d4e1f4a-0000-4000-8000-000000000000"}],
        "capacity": [place | {"consumed": {"memory": "1Gi"}}],
    }
    asked = claim("c", [request("r", "plain")])
    asked["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": "1Gi"}}
    sequence = [asked | {"metadata": {"name": f"c{number}"}} for number in range(3)]

    (answer,) = answers(two_devices(devices=[device], allocated=held, sequence=sequence))

    shares = [result["devices"]["results"][0] for result in answer["results"][:2]]
    assert [share["consumedCapacity"] for share in shares] == [{"memory": "1Gi"}] * 2
    assert len({share["shareID"] for share in shares}) == 2
    assert answer["results"][2] is None


def test_claims_of_one_name_are_still_two(answers):
    (answer,) = answers(two_devices(*numbered(1), *numbered(1)))

    assert chosen(answer) == [["d0"], ["d1"]]


def test_fields_that_belong_to_somebody_else_are_ignored(answers):
    (answer,) = answers(two_devices(*numbered(1), expect={"unschedulable": True}))

    assert chosen(answer) == [["d0"]]


def test_what_the_core_refuses_is_the_answers_error_and_no_end(answers):
    unknown = two_devices(claim("c", [request("r", "no-such")]))

    first, second = answers(unknown, two_devices(*numbered(1)))

    assert "no-such" in first["error"]
    assert first.keys() == FIELDS | {"error"}
    assert chosen(second) == [["d0"]]


def test_an_object_that_is_refused_spoils_its_own_input_and_ends_with_status_2(tangram, written):
    bad = two_devices(*numbered(1)) | {"claims": [{"metadata": {"name": "c"}}]}
    text = "".join(json.dumps(one) + "\n" for one in (bad, two_devices(*numbered(1))))

    said = tangram("bench", "--json", "--input", written("inputs.json", text))

    first, second = map(json.loads, said.out.splitlines())
    assert said.status == 2
    assert "ResourceClaim c" in said.err
    assert first["error"] in said.err
    assert first.keys() == FIELDS | {"error"}
    assert chosen(second) == [["d0"]]


@pytest.mark.parametrize("name", ["allocator", "random", "groups"])
def test_kubernetes_own_cases_end_in_an_error_exactly_where_its_allocator_does(tangram, written, name):
    cases = json.loads((UPSTREAM / f"{name}.json").read_text())
    lines = written("inputs.json", "".join(json.dumps(case) + "\n" for case in cases))

    said = tangram("bench", "--json", "--input", lines)

    answers = [json.loads(line) for line in said.out.splitlines()]
    assert list(map(outcome, answers)) == [expected(case["expect"]) for case in cases]


def outcome(answer):
    return "error" if "error" in answer else "unschedulable" if answer["unschedulable"] else "fits"


def expected(expect):
    if "error" in expect:
        return "error"
    return "unschedulable" if expect.get("unschedulable") or expect.get("feasible") is False else "fits"


def test_an_input_may_span_lines_and_come_from_standard_input(tangram, monkeypatch):
    text = "\n\n".join(json.dumps(two_devices(*numbered(count)), indent=2) for count in (1, 3))
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    said = tangram("bench", "--input", "-", "--json")

    assert [json.loads(line)["unschedulable"] for line in said.out.splitlines()] == [False, True]


def test_for_people_an_answer_is_a_line(tangram, written):
    said = tangram("bench", "--input", written("one.json", json.dumps(two_devices(*numbered(1)))))

    assert said.status == 0
    assert "input 1: 1 of 1 node fits; cold" in said.out


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["holds no input"]),
        ("{", ["input 1", "is not JSON"]),
        ('{"node": {"metadata": {"name": "n"}}}\n[]', ["input 2", "must be an object", "list"]),
        ("{}", ["input 1", "node", "is missing"]),
        ('{"nodes": [3]}', ["input 1", "nodes[0]", "must be a string"]),
        ('{"nodes": [], "repeat": 0}', ["repeat", "0", "at least 1"]),
        ('{"nodes": [], "sequence": "yes"}', ["sequence", "must be a list"]),
        ('{"nodes": [], "features": ["DRAMagic"]}', ["features", "DRAMagic"]),
        ('{"nodes": [], "slices": {}}', ["slices", "must be a list"]),
        ('{"nodes": [], "slices": [{}]}', ["ResourceSlice", "is required"]),
        (
            '{"nodes": [], "allocated": {"devices": [{"driver": "d"}]}}',
            ["devices[0].pool", "required"],
        ),
        ('{"nodes": [], "claims": [{"metadata": {"name": "c"}}]}', ["ResourceClaim c", "spec", "required"]),
    ],
)
def test_wrong_input_is_one_message(tangram, written, text, parts):
    said = tangram("bench", "--json", "--input", written("wrong.json", text))

    assert said.status == 2
    assert all(part in said.err for part in parts), said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--input", "/no/such/file"], "/no/such/file"),
        (["B1", "--input", "-"], "NAME"),
        (["--count", "3", "--input", "-"], "--count"),
        (["B99"], "'B99'"),
        (["--limit", "3"], "--limit"),
        (["--count", "0"], "at least 1"),
        (["--limit", "nan", "--input", "-"], "must be seconds"),
    ],
)
def test_arguments_that_make_no_sense_are_one_message(tangram, arguments, part):
    said = tangram("bench", *arguments)

    assert said.status == 2
    assert part in said.err
    assert len(said.err.splitlines()) == 1
