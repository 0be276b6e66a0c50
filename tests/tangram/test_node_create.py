"""Machines that users make: created from a shipped one or a file, and recorded from what is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

Command = Callable[..., Any]


def test_a_created_machine_is_shown_broken_and_rebooted_where_it_was_made(
    tangram: Command, tmp_path: Path
) -> None:
    made = tangram("node", "create", tmp_path / "m", "--node", "a100x2")

    assert (made.status, made.out) == (
        0,
        f"a100x2 is in {tmp_path}/m: tangram show --machine {tmp_path}/m\n",
    )
    assert "in pool tangram.dev/a100x2" in tangram("show", "--machine", tmp_path / "m").out
    assert tangram("node", "fault", "--machine", tmp_path / "m", "gpu-1:lost").status == 0
    assert tangram("node", "reboot", "--machine", tmp_path / "m").status == 0


def test_a_folder_with_something_else_is_left_as_it_is(tangram: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    answer = tangram("node", "create", tmp_path, "--node", "a100x2", "--json")

    assert answer.status == 2
    assert f"{tmp_path}: it is not empty, and holds no simulated machine" in answer.err
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_what_is_recorded_of_a_machine_makes_the_same_machine(tangram: Command, tmp_path: Path) -> None:
    tangram("node", "create", tmp_path / "m", "--node", "a30x4")
    recorded = tangram("node", "record", "--machine", tmp_path / "m", "--name", "copy")
    (tmp_path / "copy.yaml").write_text(recorded.out)

    made = tangram("node", "create", tmp_path / "n", "--node", tmp_path / "copy.yaml", "--json")

    assert (recorded.status, recorded.err) == (0, "")
    assert made.json["machine"] == "copy"
    names = [
        [row["names"] for row in tangram("show", "--machine", tmp_path / one, "--json").json["devices"]]
        for one in ("m", "n")
    ]
    assert names[0] == names[1]


def test_this_machine_is_recorded_whether_it_has_gpus_or_not(tangram: Command) -> None:
    answer = tangram("node", "record")

    assert answer.status == 0
    assert yaml.safe_load(answer.out)["name"] == "recorded"


def test_a_name_that_no_node_can_have_is_one_message(tangram: Command) -> None:
    answer = tangram("node", "record", "--name", "A B")

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("tangram: --name: 'A B': must be a DNS label")
