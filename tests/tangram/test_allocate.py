"""``tangram allocate``: claims from files to an allocation, or to the reasons against it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def slices(tangram, shipped, written) -> Callable[..., Path]:
    """Write the slices of a shipped machine to a file, in either dialect."""

    def write(node: str = "a100x2", form: str = "composite", driver: str = "tangram.dev") -> Path:
        answer = tangram("show", "--machine", shipped(node), "--as", form, "--driver-name", driver)
        return written(f"{node}-{form}.yaml", answer.out)

    return write


@pytest.fixture
def held(tangram, slices, examples, written) -> Callable[[str], Path]:
    """Write an example's claim, allocated, to a file."""

    def write(claim: str) -> Path:
        files = ["-f", slices(), "-f", examples / "device-classes.yaml", "-f", examples / claim]
        status = tangram("allocate", *files, "--json").json["claims"][0]["status"]
        document = yaml.safe_load((examples / claim).read_text())
        document["metadata"]["name"] = "earlier"
        return written("held.json", json.dumps(document | {"status": status}))

    return write


@pytest.mark.parametrize("form", ["composite", "v1", "v1-1.34"])
def test_the_four_partitions_of_the_kep_come_from_one_gpu_in_every_form(tangram, slices, examples, form):
    answer = tangram(
        "allocate",
        *("-f", slices(form=form)),
        *("-f", examples / "device-classes.yaml"),
        *("-f", examples / "mig-claim.yaml"),
        "--json",
    )

    assert answer.status == 0
    assert answer.json["node"] == "a100x2"
    assert answer.devices == [
        "gpu-0-mig-1g-5gb-0",
        "gpu-0-mig-1g-5gb-1",
        "gpu-0-mig-2g-10gb-2-3",
        "gpu-0-mig-3g-20gb-4-7",
    ]


def test_the_kep_claim_works_unchanged_under_the_keps_driver_name(tangram, slices, examples):
    answer = tangram(
        "allocate",
        *("-f", slices(driver="gpu.nvidia.com")),
        *("-f", examples / "nvidia-device-classes.yaml"),
        *("-f", examples / "kep-mig-claim.yaml"),
    )

    assert answer.status == 0
    assert "|           used          |         2g.10gb         |" in answer.out
    assert "gpu-0-mig-3g-20gb-4-7" in answer.out


def test_an_allocation_is_told_as_the_claims_status(tangram, slices, examples):
    answer = tangram(
        "allocate",
        *("-f", slices()),
        *("-f", examples / "device-classes.yaml"),
        *("-f", examples / "gpu-claim.yaml"),
        "--json",
    )

    assert answer.json["claims"] == [
        {
            "claim": "default/whole-gpu",
            "status": {
                "allocation": {
                    "devices": {
                        "results": [
                            {"request": "gpu", "driver": "tangram.dev", "pool": "a100x2", "device": "gpu-0"}
                        ]
                    },
                    "nodeSelector": {
                        "nodeSelectorTerms": [
                            {
                                "matchFields": [
                                    {"key": "metadata.name", "operator": "In", "values": ["a100x2"]}
                                ]
                            }
                        ]
                    },
                }
            },
        }
    ]


def test_what_is_held_is_not_given_again(tangram, slices, examples, held):
    classes = examples / "device-classes.yaml"
    files = ["-f", slices(), "-f", classes, "-f", held("mig-claim.yaml"), "-f", examples / "mig-claim.yaml"]

    answer = tangram("allocate", *files, "--json")

    assert {name.partition("-mig")[0] for name in answer.devices} == {"gpu-1"}


def test_what_does_not_fit_is_told_with_its_holder_and_ends_with_status_1(tangram, slices, examples, held):
    files = ["-f", slices(), "-f", examples / "device-classes.yaml", "-f", held("gpu-claim.yaml")]
    two = yaml.safe_load((examples / "gpu-claim.yaml").read_text())
    two["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    claim = slices().with_name("two.json")
    claim.write_text(json.dumps(two))

    text = tangram("allocate", *files, "-f", claim)
    value = tangram("allocate", *files, "-f", claim, "--json")

    assert [text.status, value.status] == [1, 1]
    assert "does not fit on a100x2" in text.out
    assert "default/earlier" in text.out
    assert value.json["allocated"] is False
    assert value.json["reasons"][0]["request"] == "gpu"
    assert text.err == value.err == ""


def test_a_node_name_restricts_the_search_to_that_node(tangram, slices, examples):
    claim = ["-f", examples / "device-classes.yaml", "-f", examples / "gpu-claim.yaml"]
    files = ["-f", slices("a100x2"), "-f", slices("l40s"), *claim]

    answers = [tangram("allocate", *files, "--node-name", name, "--json") for name in ("l40s", "elsewhere")]

    assert [answer.status for answer in answers] == [0, 1]
    assert answers[0].json["node"] == "l40s"


def test_nodes_in_files_are_tried_with_their_labels(tangram, slices, examples, written):
    nodes = "\n---\n".join(
        f"{{kind: Node, apiVersion: v1, metadata: {{name: {name}, labels: {{zone: a}}}}}}"
        for name in ("empty", "a100x2")
    )
    claim = ["-f", examples / "device-classes.yaml", "-f", examples / "gpu-claim.yaml"]

    answer = tangram("allocate", "-f", written("nodes.yaml", nodes), "-f", slices(), *claim, "--json")

    assert answer.json["node"] == "a100x2"


def test_claims_of_one_call_fit_together_or_not_at_all(tangram, slices, examples, written):
    claim = yaml.safe_load((examples / "gpu-claim.yaml").read_text())
    three = [claim | {"metadata": {"name": f"claim-{number}"}} for number in range(3)]
    classes = examples / "device-classes.yaml"

    answer = tangram(
        "allocate", "-f", slices(), "-f", classes, "-f", written("c.yaml", yaml.safe_dump_all(three))
    )

    assert answer.status == 1


def test_configuration_travels_with_the_allocation_class_first(tangram, slices, examples, written):
    def config(source: str) -> dict[str, Any]:
        return {"opaque": {"driver": "other.example.com", "parameters": {"from": source}}}

    device_class = yaml.safe_load_all((examples / "device-classes.yaml").read_text()).__next__()
    device_class["spec"]["config"] = [config("class")]
    claim = yaml.safe_load((examples / "gpu-claim.yaml").read_text())
    claim["spec"]["devices"]["config"] = [config("claim")]
    objects = written("objects.yaml", yaml.safe_dump_all([device_class, claim]))

    status = tangram("allocate", "-f", slices(), "-f", objects, "--json").json["claims"][0]["status"]

    found = status["allocation"]["devices"]["config"]
    assert [one["source"] for one in found] == ["FromClass", "FromClaim"]
    assert not [one for one in found if "requests" in one], "it is for all requests of the claim"
    assert [one["opaque"]["parameters"]["from"] for one in found] == ["class", "claim"]


def test_a_version_that_nobody_reads_is_refused(tangram, tmp_path):
    path = tmp_path / "claim.yaml"
    path.write_text("apiVersion: resource.k8s.io/v9\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {}\n")

    answer = tangram("allocate", "-f", path)

    assert answer.status == 2
    assert "apiVersion: 'resource.k8s.io/v9': must be one of resource.k8s.io/v1" in answer.err


def test_first_fit_gives_the_devices_that_kube_scheduler_would_take(tangram, slices, examples):
    files = ("-f", slices(), "-f", examples / "device-classes.yaml", "-f", examples / "mig-claim.yaml")

    (claim,) = tangram("allocate", *files, "--policy", "first-fit", "--json").json["claims"]

    found = [result["device"] for result in claim["status"]["allocation"]["devices"]["results"]]
    assert found == [
        "gpu-0-mig-1g-5gb-0",
        "gpu-0-mig-1g-5gb-1",
        "gpu-0-mig-2g-10gb-2-3",
        "gpu-0-mig-3g-20gb-4-7",
    ]


def test_best_fit_is_the_default_and_allocates_whatever_first_fit_can(tangram, slices, examples):
    files = ("-f", slices(), "-f", examples / "device-classes.yaml", "-f", examples / "mig-claim.yaml")

    default, named = (
        tangram("allocate", *files, *more, "--json").json for more in ((), ("--policy", "best-fit"))
    )

    assert default == named
    assert default["allocated"]
