"""Objects are judged by the published schemas of their kinds, as strictly as an API server can."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_core.codec.documents import Document
from scheduler_core.frontends.validation.documents import Judges
from scheduler_core.frontends.validation.finding import Level
from scheduler_core.frontends.validation.validate import validate
from tangram.validation.schemas import schema_findings

ROOT = Path(__file__).parents[2]
FREE = {
    "labels",
    "annotations",
    "parameters",
    "matchLabels",
    "requests",
    "limits",
    "nodeSelector",
    "attributes",
}
FREE |= {"capacity", "counters", "status"}
"""Maps whose keys are free, and what is not of the author."""
KINDS = {"ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "Pod", "Deployment", "Job", "DaemonSet"}
KINDS |= {"ResourceClass", "MultiNodePool"}


def errors(content: dict[str, Any]) -> list[tuple[str, str]]:
    found = schema_findings(Document("f:1", content))
    return [(one.path, one.text) for one in found if one.level is Level.ERROR]


def objects() -> Iterator[Any]:
    for path in sorted(ROOT.glob("deploy/examples/**/*.yaml")):
        for index, content in enumerate(yaml.safe_load_all(path.read_text())):
            if (
                isinstance(content, dict)
                and content.get("kind") in KINDS
                and path.name != "kep-mig-claim.yaml"
            ):
                yield pytest.param(content, id=f"{path.stem}-{index}")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every field that a schema names."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield (*path, key)
            if key not in FREE:
                yield from places(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from places(child, (*path, index))


def changed(content: dict[str, Any], path: tuple[Any, ...], change: Any) -> dict[str, Any]:
    found = copy.deepcopy(content)
    holder = found
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return found


def renamed(holder: dict[str, Any], key: str) -> None:
    holder[f"{key}s"] = holder.pop(key)


def doubled(holder: dict[str, Any], key: str) -> None:
    holder[key] = {key: holder[key]}


def retyped(holder: dict[str, Any], key: str) -> None:
    value = holder[key]
    holder[key] = [value] if isinstance(value, dict) else {"x": value}


@pytest.mark.parametrize("content", list(objects()))
@pytest.mark.parametrize("change", [renamed, doubled, retyped])
def test_every_field_of_an_example_that_is_renamed_moved_or_of_another_type_is_an_error(content, change):
    assert errors(content) == []
    missed = [
        path
        for path in places(content)
        if path not in (("kind",), ("apiVersion",)) and not errors(changed(content, path, change))
    ]
    # KEP-4815 doubles the spec of claims, which is a warning.
    is_legal = {("spec",)} if change is doubled and content["kind"] == "ResourceClaim" else set()
    free = FREE if change is doubled else set()
    assert [path for path in missed if path[-1] not in free and path not in is_legal] == []


@pytest.mark.parametrize(
    "content", [one for one in objects() if one.values[0]["kind"].startswith("ResourceC")]
)
def test_a_request_of_another_version_is_an_error(content):
    if content["apiVersion"] != "resource.k8s.io/v1":
        return
    as_before = content | {"apiVersion": "resource.k8s.io/v1beta1"}
    has_exactly = "exactly" in str(content)

    assert bool(errors(as_before)) == has_exactly
    assert errors(content | {"apiVersion": "resource.k8s.io/v1beta2"}) == []
    assert errors(content | {"apiVersion": "resource.k8s.io/v2"}) == [
        (
            "apiVersion",
            "apiVersion: 'resource.k8s.io/v2': must be resource.k8s.io/v1 or resource.k8s.io/v1beta1 or "
            "resource.k8s.io/v1beta2",
        )
    ]
    assert errors({key: value for key, value in content.items() if key != "apiVersion"}) != []


def claim(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": spec,
    }


def requests(**fields: Any) -> dict[str, Any]:
    return {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.tangram.dev", **fields}}]}


@pytest.mark.parametrize(
    ("content", "path", "rule"),
    [
        (claim(devcies={}), "spec.devcies", "unknown field (did you mean devices?); known here: devices"),
        (claim(tolerations=[]), "spec.tolerations", "it belongs in spec.devices.requests[].exactly"),
        (claim(devices=requests(count="1")), "spec.devices.requests[0].exactly.count", "must be an integer"),
        (claim(devices=requests(capacity={"requests": {"m": "1 Gi"}})), "spec.devices.requests[0].exactly"
         ".capacity.requests.m", "must be a quantity such as '4864Mi' or '1'"),
        (claim(devices={"requests": [{"exactly": {}}]}), "spec.devices.requests[0].name", "is required"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_what_is_right(content, path, rule):
    found = dict(errors(content))

    assert rule in found[path]


def test_null_is_the_same_as_absent():
    assert errors(claim(devices=requests(count=None, selectors=None))) == []
    assert dict(errors(claim(devices=requests(deviceClassName=None)))) != {}


@pytest.mark.parametrize("value", [1e400, 2**70, -(2**63) - 1])
def test_numbers_beyond_those_of_the_api_are_errors(value):
    assert errors(claim(devices=requests(count=value))) != []


def test_what_the_proposals_write_is_a_warning():
    doubled_spec = claim(spec={"devices": requests()})
    (found,) = schema_findings(Document("f:1", doubled_spec))

    assert (found.level, found.path) == (Level.WARNING, "spec.spec")


def test_a_kind_of_another_project_with_the_same_name_is_not_judged():
    assert errors({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "spec": {"tasks": []}}) == []
    assert errors({"apiVersion": "batches/v1", "kind": "Job", "spec": {}}) == []


def test_the_schemas_are_those_of_their_sources():
    done = subprocess.run(
        [sys.executable, "hack/object_schemas.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


ANSWERS = [
    json.loads(line)
    for line in (ROOT / "tests/data/validate/answers-of-1.37.2.jsonl").read_text().splitlines()
]


def test_what_kubernetes_refuses_is_an_error():
    judges = Judges(schema=schema_findings)
    missed = []
    for answer in ANSWERS:
        found = validate([Document("f:1", answer["object"])], "tangram.dev", judges=judges).findings
        if answer["refused"] and not any(one.level is Level.ERROR for one in found):
            missed.append((answer["refused"], answer["object"]))

    assert missed == []


def test_what_kubernetes_takes_fits_the_schema():
    # An amount that is left out is 0 for the server, and a mistake for whoever wrote it.
    assert [
        (path, text, one["object"])
        for one in ANSWERS
        if not one["refused"]
        for path, text in errors(one["object"])
        if not text.endswith(".value: is required")
    ] == []
