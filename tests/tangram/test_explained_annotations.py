"""``tangram explain`` of annotated claims: the annotations alone, or the claims too, are in the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from explained import claim, held, request

NODE = "dgx-a100"
JOINT = "scheduling.koordinator.sh/device-joint-allocate"
NICS = ("0c-00-0", "12-00-0", "4b-00-0", "54-00-0", "8d-00-0", "94-00-0", "ba-00-0", "cc-00-0")
Run = Callable[..., Any]
Explain = Callable[..., Any]


def joint(gpus: int) -> dict[str, Any]:
    """GPUs, and a VF for every PCIe switch that they stand below."""
    asked = claim("train", request("gpus", of="gpu", count=gpus), request("vfs", of="vf"))
    asked["metadata"]["annotations"] = {
        JOINT: json.dumps({"deviceTypes": ["gpus", "vfs"], "requiredScope": "SamePCIe"})
    }
    return asked


def nic(number: int) -> dict[str, Any]:
    """A claim that has a whole NIC, and with it all of its VFs."""
    return held(f"nic-{number}", f"nic-0000-{NICS[number]}", node=NODE)


@pytest.fixture
def explain(
    tangram: Run, shipped: Callable[[str], Path], written: Callable[[str, str], Path], examples: Path
) -> Explain:
    slices = tangram("show", "--machine", shipped(NODE), "--as", "v1").out

    def run(asked: Any, *holders: Any, options: tuple[str, ...] = ()) -> Any:
        files = [written(f"{number}.json", json.dumps(one)) for number, one in enumerate((asked, *holders))]
        named = [written("slices.yaml", slices), examples / "device-classes.yaml", *files]
        return tangram("explain", *options, *(part for one in named for part in ("-f", one)))

    return run


def test_claims_to_end_and_the_annotation_to_leave_out_are_told_where_it_alone_is_in_the_way(
    explain: Explain,
) -> None:
    answer = explain(joint(4), *map(nic, range(6)))

    assert answer.status == 1
    assert f"without annotations: fits on {NODE}" in answer.out
    assert f"leave out the annotation {JOINT} of team-b/train: fits on {NODE}" in " ".join(answer.out.split())
    assert f"end the claim that holds devices on {NODE}" in answer.out


def test_after_each_remedy_the_claims_fit_and_no_fewer_claims_would_do(explain: Explain) -> None:
    holders = [nic(number) for number in range(6)]
    told = explain(joint(6), *holders, options=("--json",)).json
    ending, dropped = told["remedies"]
    gone = {one["name"] for one in ending["claims"]}

    assert (ending["kind"], ending["isFewest"], dropped["kind"]) == ("EndClaims", True, "DropAnnotation")
    assert explain(joint(6), *(one for one in holders if one["metadata"]["name"] not in gone)).status == 0
    without = joint(6)
    del without["metadata"]["annotations"]
    assert explain(without, *holders).status == 0
    assert len(gone) == 2


def test_claims_that_do_not_fit_without_their_annotations_are_explained_without_them(
    explain: Explain,
) -> None:
    answer = explain(joint(9))

    assert answer.status == 1
    assert "ask for 8 instead of 9 devices in request gpus" in answer.out
    assert "they do not fit even without them" in answer.out
    assert explain(joint(9), options=("--json",)).json["withoutAnnotations"] is None


def test_what_annotated_claims_get_is_told_as_before(explain: Explain) -> None:
    answer = explain(joint(4))

    assert answer.status == 0
    assert "chosen by annotations: the closest devices, the best partition" in answer.out
