"""A table of partitions as two options name it: a board, a file, or one message of what is wrong."""

from __future__ import annotations

import json

import pytest

from agent.__main__ import main as agent
from agent.inventory.partitions import shipped_table
from agent.inventory.table_files import BadTable, read_table
from plugin.__main__ import main as plugin

PAIR = {"2": [{"minors": [0, 1], "gpuLinkType": "NVLink", "allocationScore": 1}]}
BAD = '{"2": [{"minors": [0, 1, 2]}]}'
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "node-1",
        "labels": {"node.koordinator.sh/gpu-partition-policy": "Honor"},
        "annotations": {"scheduling.koordinator.sh/gpu-partitions": json.dumps(PAIR)},
    },
}


@pytest.fixture
def file(tmp_path):
    def write(content, name="table.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def test_without_the_option_there_is_no_table():
    assert read_table(None, None) is None


@pytest.mark.parametrize(("policy", "is_honored"), [(None, False), ("Prefer", False), ("Honor", True)])
def test_a_shipped_table_is_found_by_its_board(policy, is_honored):
    found = read_table("hgx-h200", policy)

    assert found.table == shipped_table("hgx-h200")
    assert found.is_honored == is_honored


def test_a_file_with_a_table_is_read(file):
    found = read_table(file("'2':\n- {minors: [2, 5], allocationScore: 3}\n", "table.yaml"), None)

    assert [one.minors for one in found.table.by_size[2]] == [(2, 5)]
    assert not found.is_honored


@pytest.mark.parametrize(("policy", "is_honored"), [(None, True), ("Prefer", False)])
def test_a_nodes_label_is_its_policy_unless_the_option_says_otherwise(file, policy, is_honored):
    found = read_table(file(NODE), policy)

    assert [one.minors for one in found.table.by_size[2]] == [(0, 1)]
    assert found.is_honored == is_honored


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BAD, r"table\.json: annotation .*gpu-partitions: 2\[0\]\.minors: \[0, 1, 2\]: must have 2 members"),
        ("{}", "has no table of partitions"),
        ({"2": []}, "has no table of partitions"),
        ({"kind": "Node", "metadata": {"name": "n"}}, "has no table of partitions"),
        ("[1]", "must be a JSON object"),
        ("{", "is not JSON"),
    ],
)
def test_a_bad_table_is_refused_with_the_place_and_the_rule(file, content, message):
    with pytest.raises(BadTable, match=message):
        read_table(file(content), None)


def test_a_table_without_scores_is_told_to_have_computed_ones(file, caplog):
    read_table(file({"2": [{"minors": [0, 1]}]}), None)

    assert "scores are computed" in caplog.text


def test_two_tables_in_one_file_are_refused(file):
    with pytest.raises(BadTable, match="must hold one table, found 2"):
        read_table(file("'2': []\n---\n'2': []\n", "table.yaml"), None)


def test_a_file_that_is_not_there_is_refused_with_the_tables_that_are_shipped():
    with pytest.raises(BadTable, match=r"No such file or directory; shipped tables are hgx-h100, "):
        read_table("hgx-h99", None)


@pytest.mark.parametrize("program", [agent, plugin])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--partitions", "BAD"], "must have 2 members"),
        (["--partition-policy", "honor"], "--partition-policy: 'Honor': has no effect without --partitions"),
    ],
)
def test_agent_and_plugin_end_with_one_message_and_status_2(
    program, options, message, file, capsys, tmp_path
):
    path = file(BAD)
    machine = tmp_path / "machine"

    status = program(
        [
            *("--node-name", "node-1", "--simulated", "a100x2", "--machine", str(machine)),
            *(path if one == "BAD" else one for one in options),
        ]
    )

    told = capsys.readouterr().err
    assert status == 2
    assert message in told
    assert told.count("\n") == 1
    assert not machine.exists()
