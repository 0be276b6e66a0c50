"""What the examples for a cluster ask for can be had on the machine that the simulated overlay pretends."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "deploy/examples/cluster"
FILES = sorted(FOLDER.glob("*.yaml"))
EXPECTED = {
    "four-partitions": ["1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"],
    "shared-partition": ["2g.10gb"],
    "gpu-or-partition": ["gpu"],
    "whole-gpu": ["gpu"],
}


def claim(example):
    """Return the claim that Kubernetes makes of an example's template."""
    documents = yaml.safe_load_all((FOLDER / f"{example}.yaml").read_text())
    (template,) = [found for found in documents if found["kind"] == "ResourceClaimTemplate"]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": example, "namespace": "default"},
        "spec": template["spec"]["spec"],
    }


@pytest.mark.parametrize("example", EXPECTED)
def test_an_example_gets_what_it_names(tangram, written, examples, example):
    slices = written("slices.yaml", tangram("show", "--node", "a100x2", "--as", "v1").out)
    claims = written("claim.yaml", yaml.safe_dump(claim(example)))
    kinds = {
        device["name"]: device["attributes"].get("profile", device["attributes"]["type"])["string"]
        for found in yaml.safe_load_all(slices.read_text())
        for device in found["spec"].get("devices", ())
    }

    answer = tangram("allocate", "--json", "-f", slices, "-f", examples / "device-classes.yaml", "-f", claims)

    assert answer.status == 0, answer.err
    assert sorted(kinds[name] for name in devices_of(answer.json)) == EXPECTED[example]


def devices_of(answer):
    """Return the devices of an allocation, wherever in the document they are."""
    match answer:
        case {"device": str(name)}:
            return [name]
        case dict():
            return [name for value in answer.values() for name in devices_of(value)]
        case list():
            return [name for value in answer for name in devices_of(value)]
        case _:
            return []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_pod_uses_the_claims_of_its_own_file(path):
    documents = list(yaml.safe_load_all(path.read_text()))
    (pod,) = [found for found in documents if found["kind"] == "Pod"]
    templates = {found["metadata"]["name"] for found in documents if found["kind"] == "ResourceClaimTemplate"}

    claims = {one["name"]: one["resourceClaimTemplateName"] for one in pod["spec"].get("resourceClaims", ())}
    used = {
        one["name"]
        for container in pod["spec"]["containers"]
        for one in container["resources"].get("claims", ())
    }

    assert set(claims.values()) == templates
    assert used == set(claims)
