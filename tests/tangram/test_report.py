"""``tangram report`` writes the page into a file, or prints its value."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import page_objects
import pytest

Run = Callable[..., Any]


@pytest.fixture
def objects(written: Callable[[str, str], Path]) -> Path:
    return written("all.json", page_objects.as_list(page_objects.small_cluster()))


def test_a_file_gets_the_page(tangram: Run, objects: Path, tmp_path: Path):
    page = tmp_path / "report.html"
    answer = tangram("report", "-f", objects, "--html", page)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == f"wrote {page}: 2 nodes, 2 waiting pods\n"
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_standard_output_gets_it_too(tangram: Run, objects: Path):
    assert tangram("report", "-f", objects, "--html", "-").out.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("form", [("--json",), ("-o", "json")])
def test_programs_get_the_value_of_the_page(tangram: Run, objects: Path, form: tuple[str, ...]):
    value = tangram("report", "-f", objects, *form).json
    assert [one["name"] for one in value["nodes"]] == ["dgx-1", "dgx-2"]
    assert len(value["waiting"]) == 2


def test_a_file_and_the_value_can_be_had_at_once(tangram: Run, objects: Path, tmp_path: Path):
    page = tmp_path / "report.html"
    value = tangram("report", "-f", objects, "--html", page, "--json").json
    assert len(value["nodes"]) == 2
    assert page.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "report: say what to show: --cluster, or --file FILE"),
        (("-f", "FILE"), "--html: must be given: the file for the page, or - for standard output"),
        (("--cluster", "-f", "FILE", "--html", "x"), "has no effect with --cluster"),
        (("-f", "FILE", "--html", "-", "--json"), "--html: '-': must be a file where --json or -o prints"),
        (("-f", "FILE", "-o", "report.html"), "argument -o/--output: invalid choice: 'report.html'"),
    ],
)
def test_wrong_options_get_one_message_and_write_nothing(
    tangram: Run, objects: Path, arguments: tuple[str, ...], message: str
):
    answer = tangram("report", *(str(objects) if one == "FILE" else one for one in arguments))
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err


def bad_pod(metadata: dict[str, object] | None = None, **parts: object) -> dict[str, object]:
    return {"kind": "Pod", "metadata": {"name": "x", **(metadata or {})}, **parts}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"kind": "Pod", "metadata": {}}, "Pod: metadata.name must be given"),
        ({"metadata": {"name": "x"}}, "must be an object with kind and metadata"),
        ({"kind": ["Pod"], "metadata": {"name": "x"}}, "must be an object with kind and metadata"),
        (
            {"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "x"}}] * 2},
            "Node x: is given twice",
        ),
        (bad_pod(metadata={"namespace": ["a"]}), "Pod x: metadata.namespace: ['a']: must be a string"),
        (bad_pod(metadata={"uid": 7}), "Pod x: metadata.uid: 7: must be a string"),
        (bad_pod(metadata={"labels": ["a"]}), "Pod x: metadata.labels: ['a']: must be an object"),
        (bad_pod(spec=[1]), "Pod x: spec: [1]: must be an object"),
        (bad_pod(status="Running"), "Pod x: status: 'Running': must be an object"),
        (bad_pod(spec={"nodeName": [1]}), "Pod x: spec.nodeName: [1] must be a string"),
        (bad_pod(spec={"resourceClaims": [1]}), "Pod x: is no object that an API server would store"),
        (bad_pod(spec={"schedulingGates": 5}), "Pod x: is no object that an API server would store"),
        (
            {"kind": "Node", "metadata": {"name": "x"}, "spec": {"taints": 4}},
            "Node x: is no object that an API server would store",
        ),
        ({"kind": "ResourceSlice", "spec": [1]}, "ResourceSlice slice-0: spec: [1]: must be an object"),
    ],
)
def test_a_document_that_is_no_object_is_named(
    tangram: Run, written: Callable[[str, str], Path], document: object, message: str
):
    answer = tangram("report", "-f", written("bad.json", json.dumps(document)), "--html", "-")
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err


def test_a_pod_of_the_controller_has_the_reason_that_the_controller_gives(tangram: Run, written):
    node, published = page_objects.small_node("n")
    node["metadata"]["labels"] = {"tangram.dev/allocator": "controller"}
    published["spec"]["devices"][0]["taints"] = [
        {"key": "tangram.dev/allocator", "value": "controller", "effect": "NoSchedule"}
    ]
    claim, pod = page_objects.waiting("team", "first", "gpu")
    pod["spec"]["schedulingGates"] = [{"name": "tangram.dev/allocate"}]
    objects = [node, published, page_objects.device_class("gpu"), claim, pod]
    value = tangram("report", "-f", written("all.json", page_objects.as_list(objects)), "--json").json
    assert [one["reason"] for one in value["waiting"]] == ["gets devices on n as soon as the controller runs"]
