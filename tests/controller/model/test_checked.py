"""Values of a wrong type in a pod, claim or node: the object has a problem, and nothing fails later."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from controller import reading

POD = {
    "kind": "Pod",
    "metadata": {"namespace": "default", "name": "p", "uid": "u"},
    "spec": {
        "nodeName": "",
        "priority": 1,
        "schedulerName": "s",
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
        "schedulingGates": [{"name": "tangram.dev/allocate"}],
        "resourceClaims": [{"name": "own", "resourceClaimName": "c"}],
    },
    "status": {"resourceClaimStatuses": [{"name": "own", "resourceClaimName": "c"}]},
}
PLACES = (
    ("spec", "nodeName"),
    ("spec", "priority"),
    ("spec", "schedulerName"),
    ("spec", "nodeSelector", "zone"),
    ("spec", "tolerations", 0, "key"),
    ("spec", "tolerations", 0, "operator"),
    ("spec", "tolerations", 0, "value"),
    ("spec", "tolerations", 0, "effect"),
    ("spec", "schedulingGates", 0, "name"),
    ("spec", "resourceClaims", 0, "name"),
    ("spec", "resourceClaims", 0, "resourceClaimName"),
    ("status", "resourceClaimStatuses", 0, "name"),
    ("status", "resourceClaimStatuses", 0, "resourceClaimName"),
)


def _with(document: Mapping[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(dict(document))
    at: Any = found
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return found


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_pod_with_a_list_in_the_place_of_a_text_has_a_problem(place: tuple[Any, ...]) -> None:
    assert reading.pod(POD).problem == ""

    found = reading.pod(_with(POD, place, [None]))

    field = str(next(part for part in reversed(place) if isinstance(part, str)))
    assert found.problem.startswith("Pod default/p cannot be read: spec." if place[0] == "spec" else "Pod")
    assert f"{field}: [None] must be" in found.problem
    assert found.claims == ()


def test_a_text_is_no_list_of_texts() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": "a"}]}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}

    found = reading.pod(_with(POD, ("spec", "affinity"), {"nodeAffinity": rules}))

    assert "values: 'a' must be a list" in found.problem


def test_a_claim_whose_consumer_has_no_name_has_a_problem_and_holds_its_devices() -> None:
    device = {"request": "r", "driver": "d", "pool": "p", "device": "gpu-0"}
    status = {"allocation": {"devices": {"results": [device]}}, "reservedFor": [{"name": {}}]}

    found = reading.claim(
        {"kind": "ResourceClaim", "metadata": POD["metadata"], "spec": {}, "status": status}
    )

    assert "status.reservedFor[].name: {} must be a string" in found.problem
    assert found.held is not None
    assert [str(one.device.device) for one in found.held.results] == ["gpu-0"]
