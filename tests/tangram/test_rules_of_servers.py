"""What is published keeps the rules that API servers and upstream's helper for drivers add with 1.38.

The rules are stated here independently: versions whose numbers have at most 18 digits, names with at most one
slash and never with the driver's own domain, one term in the node selector of a device.
"""

from __future__ import annotations

import json
import re

import pytest

from agent.hardware.simulated import shipped_nodes
from scheduler_core.codec.composite import decode_slice as decode_composite
from scheduler_core.codec.v1 import decode_slice

NUMBER = r"(?:0|[1-9][0-9]{0,17})"
PRE = rf"(?:{NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
SEMVER = re.compile(
    rf"{NUMBER}\.{NUMBER}\.{NUMBER}(?:-{PRE}(?:\.{PRE})*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?"
)
NAME = re.compile(r"(?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z_][A-Za-z0-9_]*")


def broken_rules(document):
    spec = document["spec"]
    for device in spec.get("devices", ()):
        for name, value in (*device.get("attributes", {}).items(), *device.get("capacity", {}).items()):
            if not NAME.fullmatch(name):
                yield f"{device['name']}: name {name}"
            if name.startswith(f"{spec['driver']}/"):
                yield f"{device['name']}: the driver's own domain in {name}"
            versions = [value["version"]] if "version" in value else value.get("versions", ())
            yield from (f"{device['name']}: {one}" for one in versions if not SEMVER.fullmatch(one))
        terms = device.get("nodeSelector", {}).get("nodeSelectorTerms", [None])
        if len(terms) != 1:
            yield f"{device['name']}: {len(terms)} terms"


@pytest.mark.parametrize("driver", ["tangram.dev", "gpu.nvidia.com"])
@pytest.mark.parametrize("node", shipped_nodes())
@pytest.mark.parametrize("form", ["v1", "v1-1.34"])
def test_every_shipped_machine_publishes_what_servers_of_1_38_store(tangram, node, driver, form):
    answer = tangram("show", "--node", node, "--as", form, "--driver-name", driver, "--json")

    documents = json.loads(answer.out)
    assert [problem for one in documents for problem in broken_rules(one)] == []
    for document in documents:
        assert decode_slice(document).broken == {}


def slice_of(**attributes):
    device = {"name": "bad", "attributes": attributes}
    spec = {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [device, {"name": "good"}],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": spec,
    }


LONG = "1" * 19
WRONG = [
    {"v": {"version": f"{LONG}.0.0"}},
    {"v": {"version": f"1.0.{LONG}"}},
    {"v": {"version": f"1.0.0-rc.{LONG}"}},
    {"v": {"versions": ["1.0.0", f"1.0.0-{LONG}"]}},
    {"a/b/c": {"int": 1}},
    {"a.example.com/b/c": {"string": "x"}},
    {"/c": {"string": "x"}},
]


@pytest.mark.parametrize("attributes", WRONG, ids=str)
def test_a_device_that_such_a_server_would_refuse_is_left_out_alone(attributes):
    decoded = decode_slice(slice_of(**attributes))

    assert [device.name for device in decoded.devices] == ["good"]
    assert list(decoded.broken) == ["bad"]


@pytest.mark.parametrize("attributes", WRONG, ids=str)
def test_so_is_a_composite_device(attributes):
    document = slice_of()
    document["spec"]["devices"] = [
        {"name": "bad", "composite": {"attributes": attributes}},
        {"name": "good", "composite": {}},
    ]

    decoded = decode_composite(document)

    assert [device.name for device in decoded.devices] == ["good"]
    assert list(decoded.broken_devices) == ["bad"]


@pytest.mark.parametrize(
    "version", ["1.0.0-rc1" + LONG, f"1.0.0+{LONG}", f"{LONG[1:]}.0.0", f"1.0.0-{LONG[1:]}"]
)
def test_a_long_text_in_a_version_is_no_number(version):
    assert decode_slice(slice_of(v={"version": version})).broken == {}
