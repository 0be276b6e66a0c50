"""Every example that is a claim says a command of the demo, and this command brings it into a container."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLAIMS = sorted(
    path for path in ROOT.glob("deploy/examples/*.yaml") if "kind: ResourceClaim\n" in path.read_text()
)
COMMAND = re.compile(r"^#   tangram (demo .+)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def commanded(path: Path) -> list[str]:
    """Return the arguments of the demo that an example says."""
    (command,) = COMMAND.findall(path.read_text())
    return shlex.split(command)


@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.stem)
def test_the_command_of_an_example_is_about_that_example(path):
    assert commanded(path)[-2:] == ["--claim", str(path.relative_to(ROOT))]


@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.stem)
def test_every_example_reaches_its_container_and_leaves_nothing(tangram, path):
    answer = tangram(*commanded(path), "--json")

    allocated = [
        result["device"]
        for status in answer.json["allocation"]["claims"].values()
        for result in status["allocation"]["devices"]["results"]
    ]
    claims = answer.json["prepare"][-1]["response"]["claims"].values()
    prepared = [device for outcome in claims for device in outcome["devices"]]
    injected = {
        f"{document['kind']}={device['name']}"
        for document in answer.json["cdi"].values()
        for device in document["devices"]
        if device["containerEdits"]
    }

    assert (answer.status, answer.err) == (0, "")
    assert sorted(device["device_name"] for device in prepared) == sorted(allocated)
    assert {name for device in prepared for name in device["cdi_device_ids"]} == injected
    assert set(answer.json["unprepare"]["left"].values()) == {0}


def test_the_demo_gives_a_joint_claim_a_vf_below_every_switch_of_its_gpus(tangram):
    answer = tangram("demo", "--node", "hgx-h100", "--claim", "deploy/examples/joint-claim.yaml", "--json")

    (document,) = answer.json["cdi"].values()
    variables = [device["containerEdits"]["env"][0] for device in document["devices"]]

    assert sum(variable.startswith("TANGRAM_DEVICE_GPU_") for variable in variables) == 4
    assert sum(variable.startswith("TANGRAM_DEVICE_NIC_") for variable in variables) == 4


def test_a_bad_annotation_is_refused_before_the_walk(tangram, written):
    text = (ROOT / "deploy/examples/joint-claim.yaml").read_text().replace('"SamePCIe"', '"SameRoom"')

    answer = tangram("demo", "--node", "hgx-h100", "--claim", written("joint.yaml", text))

    assert answer.status == 2
    assert "SameRoom" in answer.err


def test_a_table_that_does_not_exist_is_refused_before_the_walk(tangram):
    answer = tangram("demo", "--node", "hgx-h100", "--partitions", "no-such-table")

    assert answer.status == 2
    assert "--partitions" in answer.err
