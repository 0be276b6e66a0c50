"""The examples under MPS, from the file to the container and back."""

from __future__ import annotations

import pytest

NODE = "a100x2"
MODES = ("--gpu-modes", "all=whole,mig,mps")
LIMITS = {
    "gpu-mps": [
        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=24", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=10240M"},
        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20480M"},
    ],
    "mps-config": [
        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=16384M"},
        {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8192M"},
    ],
}


@pytest.fixture
def files(tangram, written, examples):
    """The slices of a node with all modes, the classes, and an example."""
    slices = written("slices.yaml", tangram("show", "--node", NODE, "--as", "v1", *MODES).out)
    classes = ["-f", slices, "-f", examples / "device-classes.yaml"]
    return lambda example: [*classes, "-f", examples / f"{example}-claim.yaml"]


@pytest.mark.parametrize("example", LIMITS)
def test_an_example_is_valid_and_allocated_without_a_warning(tangram, files, example):
    valid, allocated = tangram("validate", *files(example)), tangram("allocate", *files(example))

    assert (valid.status, allocated.status) == (0, 0)
    assert allocated.err == ""


@pytest.mark.parametrize("example", LIMITS)
def test_the_demo_brings_the_limits_of_an_example_to_its_containers_and_ends_the_daemons(
    tangram, examples, example
):
    answer = tangram("demo", "--node", NODE, *MODES, "--claim", examples / f"{example}-claim.yaml", "--json")

    devices = [device for one in answer.json["cdi"].values() for device in one["devices"]]
    found = [set(device["containerEdits"]["env"]) for device in devices]
    limits = [{one for one in given if "PERCENTAGE" in one or "LIMIT" in one} for given in found]
    assert answer.status == 0
    assert sorted(limits, key=sorted) == sorted(LIMITS[example], key=sorted)
    assert all("CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps" in given for given in found)
    assert answer.json["unprepare"]["left"]["MPS daemon"] == 0
    assert set(answer.json["unprepare"]["left"].values()) == {0}
