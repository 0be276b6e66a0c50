"""What agent and plugin do with a policy at their start, and how its effect is kept and followed."""

from __future__ import annotations

import argparse
import logging
import threading
from pathlib import Path

import pytest

from agent.inventory.modes import ModesOfGpu
from agent.inventory.options.settings import Settings
from agent.policy.effect import Effect
from agent.policy.effect_file import Damaged, EffectFile, Stored
from agent.policy.files import BadPolicy
from agent.policy.following import FollowedPolicy, PolicyEvents, PolicyNotInEffect
from agent.policy.option import replaced_options
from agent.policy.places import line_of
from agent.policy.resolved import GpuSettings, Resolved, Waiting
from agent.policy.start import begin_policy, forget_without_policy

HEAD = "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules:\n"


@pytest.fixture
def file(tmp_path: Path) -> EffectFile:
    return EffectFile(tmp_path / "gpu-numbers", "node-1")


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(HEAD + "- gpu: []\n")
    return path


def written(file: EffectFile, node) -> Stored:
    gpus = {entry.gpu.uuid: GpuSettings(modes=ModesOfGpu(mig=False)) for entry in node.gpus}
    stored = Stored(Effect(Resolved(gpus=gpus), (Waiting(device="gpu-0", why="it is used"),)), "a problem")
    with file.locked():
        file.replace(stored)
    return stored


def test_a_bad_policy_is_refused_where_nothing_is_in_effect(bad: Path, file: EffectFile) -> None:
    with pytest.raises(BadPolicy, match=r"policy\.yaml:4: rules\[0\]\.gpu: unknown field"):
        begin_policy(bad, (), file)


def test_a_bad_policy_keeps_no_program_from_starting_where_an_earlier_one_is_in_effect(
    bad: Path, file: EffectFile, node, caplog: pytest.LogCaptureFixture
) -> None:
    written(file, node)

    begin_policy(bad, (), file)

    assert "the policy is refused, and what was in effect stays" in caplog.text


def test_an_option_about_the_same_thing_is_refused_and_any_other_is_told_to_be_deprecated(
    tmp_path: Path, file: EffectFile, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(HEAD + "- gpus:\n  - modes: [mig]\n")

    begin_policy(path, ("--vfs",), file)
    with pytest.raises(BadPolicy, match="speaks of what --gpu-modes of the command line says"):
        begin_policy(path, ("--gpu-modes",), file)

    assert next(one.getMessage() for one in caplog.records if one.levelno == logging.WARNING) == (
        "--vfs is deprecated and will go with the next release: a policy file says the same (docs/policy.md)"
    )


def test_only_options_that_were_given_count() -> None:
    given = argparse.Namespace(gpu_modes=["all=mig"], vfs=None, imex_channels=0, partitions="hgx-h100")

    assert replaced_options(given) == ("--gpu-modes", "--partitions")


def test_without_a_policy_nothing_of_an_earlier_one_stays(file: EffectFile, node) -> None:
    written(file, node)

    forget_without_policy(None, file)

    assert file.read() is None


def test_what_is_in_effect_is_read_as_it_was_written(file: EffectFile, node) -> None:
    stored = written(file, node)

    assert file.read() == stored


def test_any_byte_that_changes_in_the_file_is_noticed(file: EffectFile, node) -> None:
    written(file, node)
    data = file.path.read_bytes()
    for position in range(0, len(data), 37):
        file.path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(Damaged):
            file.read()


def test_the_agent_waits_until_something_is_in_effect_and_follows_it(file: EffectFile, node) -> None:
    heard: list[Stored] = []
    followed = FollowedPolicy(file, Settings(), heard.append)
    with pytest.raises(PolicyNotInEffect, match="the plugin of the node has not written it yet"):
        followed.settings(node)

    stored = written(file, node)
    found = [followed.settings(node).modes.of(0) for _ in range(2)]

    assert found == [ModesOfGpu(mig=False)] * 2
    assert heard == [stored]


def test_a_damaged_file_changes_nothing_of_what_is_published(file: EffectFile, node) -> None:
    written(file, node)
    followed = FollowedPolicy(file, Settings())
    before = followed.settings(node)
    file.path.write_text("{")

    assert followed.settings(node) == before


def test_a_gpu_about_which_nothing_was_decided_yet_is_not_offered(file: EffectFile, node) -> None:
    with file.locked():
        file.replace(Stored(Effect(Resolved())))

    assert FollowedPolicy(file, Settings()).settings(node).modes.of(0).is_none


def test_the_agent_looks_again_when_other_settings_are_in_effect(file: EffectFile, node) -> None:
    heard: list[str] = []
    deeds = [lambda: None, lambda: written(file, node), lambda: None]

    def wait(_stop: threading.Event, _seconds: float) -> bool:
        if deeds:
            deeds.pop(0)()
            return False
        return True

    PolicyEvents(file, wait).listen(heard.append, threading.Event())

    assert heard == ["the policy is followed", "other settings of the policy are in effect"]


@pytest.mark.parametrize(
    ("path", "line"), [("", 1), ("a", 1), ("b[1].c.d/e", 5), ("b[1].c.x", 4), ("b[7]", 2), ("z", 1)]
)
def test_the_line_of_a_value_is_that_of_its_key_or_of_the_last_one_on_its_path(path: str, line: int) -> None:
    assert line_of("a: 1\nb:\n- 1\n- c:\n    d/e: 2\n", path) == line
