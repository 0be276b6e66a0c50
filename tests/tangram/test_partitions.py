"""``tangram show --partitions``: GPUs joined by links, as a node would publish them."""

from __future__ import annotations

import pytest
import yaml


@pytest.fixture
def shown(tangram, shipped):
    def run(*more, node="hgx-h100"):
        return tangram("show", "--machine", shipped(node), *more)

    return run


def names(answer):
    slices = yaml.load_all(answer.out, yaml.CSafeLoader)
    return [device["name"] for one in slices for device in one["spec"].get("devices", ())]


def test_a_shipped_table_joins_the_gpus_of_its_board(shown):
    found = names(shown("--partitions", "hgx-h100", "--as", "v1"))

    linked = ["gpus-0-1", "gpus-2-3", "gpus-4-5", "gpus-6-7", "gpus-0-1-2-3", "gpus-4-5-6-7"]
    assert [name for name in found if name.startswith("gpus-")] == [*linked, "gpus-0-1-2-3-4-5-6-7"]


def test_a_node_that_honors_its_table_offers_no_gpu_that_the_table_lacks(shown, examples):
    found = names(shown("--partitions", examples / "pods" / "node-with-partitions.yaml", "--as", "v1"))

    assert [name for name in found if name.startswith("gpus-")] == ["gpus-2-3", "gpus-0-1", "gpus-4-5-6-7"]
    assert "gpu-0" not in found
    assert any(name.startswith("gpu-0-mig") for name in found)


def test_the_policy_of_the_command_line_stands_over_the_nodes(shown, examples):
    node = examples / "pods" / "node-with-partitions.yaml"

    for policy in ("Prefer", "prefer"):
        assert "gpu-0" in names(shown("--partitions", node, "--partition-policy", policy, "--as", "v1"))


def test_a_table_without_scores_is_told_to_be_computed(shown, written):
    table = written("table.json", '{"2": [{"minors": [0, 1]}]}')

    answer = shown("--partitions", table, "--as", "v1")

    assert "scores are computed" in answer.err
    assert "gpus-0-1" in names(answer)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"2": [{"minors": [0, 9]}]}', "2[0].minors[1]: 9: the node has no such GPU; it has 0, 1, 2"),
        ('{"2": [{"NVLINK": {}}]}', "2[0].NVLINK"),
        ('{"kind": "Node", "metadata": {"name": "n"}}', "has no table of partitions"),
    ],
)
def test_a_bad_table_is_refused_with_its_place(shown, written, text, part):
    answer = shown("--partitions", written("table.json", text))

    assert answer.status == 2
    assert part in answer.err
