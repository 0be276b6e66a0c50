"""With ``--json`` and ``-o`` every message is a JSON object on standard error, for all commands alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tangram.face import UNREACHABLE, WRONG_INPUT
from tangram.loading import SUBCOMMANDS

Command = Callable[..., Any]
UNREACHABLE_SERVER = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users: [{name: u, user: {}}]
"""


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_wrong_options_of_any_command_are_one_json_object(tangram: Command, name: str) -> None:
    answer = tangram(name, "--no-such-option", "--json")
    error = json.loads(answer.err)["error"]

    assert (answer.status, answer.out) == (WRONG_INPUT, "")
    assert (error["reason"], error["exitStatus"]) == ("WrongInput", WRONG_INPUT)
    assert error["message"].endswith("--help")


@pytest.mark.parametrize("asked", [["--json"], ["-o", "json"], ["-ojson"], ["--output=yaml"], ["-o", "yaml"]])
def test_a_command_that_does_not_exist_is_answered_in_the_form_that_was_asked_for(
    tangram: Command, asked: list[str]
) -> None:
    message = json.loads(tangram("shwo", *asked).err)["error"]["message"]

    assert message.startswith("argument COMMAND: invalid choice: 'shwo'")


def test_without_json_an_error_is_a_sentence(tangram: Command) -> None:
    assert tangram("show", "--node", "cray-1").err.startswith("tangram: node 'cray-1'")


def test_a_server_that_is_away_has_a_reason_of_its_own(
    tangram: Command, written: Callable[..., Path]
) -> None:
    answer = tangram("pending", "--kubeconfig", written("kubeconfig", UNREACHABLE_SERVER), "--json")
    error = json.loads(answer.err)["error"]

    assert (answer.status, error["reason"], error["exitStatus"]) == (UNREACHABLE, "Unreachable", UNREACHABLE)


def test_yaml_is_the_value_that_json_is(tangram: Command) -> None:
    listed = [tangram("node", "list", "-o", form).out for form in ("yaml", "json")]

    assert listed[0].startswith("- name: a100x2\n")
    assert yaml.safe_load(listed[0]) == json.loads(listed[1])


def test_two_forms_at_once_are_refused(tangram: Command) -> None:
    answer = tangram("node", "list", "--json", "-o", "yaml")

    assert "not allowed with argument --json" in json.loads(answer.err)["error"]["message"]


def test_a_wide_picture_names_every_device(tangram: Command) -> None:
    narrow, wide = tangram("show", "--node", "l40s"), tangram("show", "--node", "l40s", "-o", "wide")

    assert "gpu-0 … gpu-3" in narrow.out
    assert "gpu-0, gpu-1, gpu-2, gpu-3" in wide.out
