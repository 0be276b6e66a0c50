"""``tangram plugin release``: an operator lists the claims in quarantine and releases one by its UID."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damaged_files import flip, places

from tangram.__main__ import main

HALF = "gpu-0-mig-3g-20gb-4-7"
Release = Callable[..., tuple[int, str, str]]


@pytest.fixture
def release(bench: Any, capsys: pytest.CaptureFixture[str]) -> Release:
    """Run the command on the machine of the bench; return status, output and complaints."""
    options = bench.options
    places_of_it = (
        ("--simulated", bench.node),
        ("--machine", bench.simulated.directory),
        ("--kubelet-dir", options.kubelet_dir),
        ("--cdi-dir", options.cdi_dir),
    )
    given = [str(part) for option in places_of_it for part in option]

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["plugin", "release", *arguments, *given])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def record_file(bench: Any) -> Path:
    path: Path = bench.options.claims_dir / "u1.json"
    return path


@pytest.fixture
def spoilt(bench: Any) -> Any:
    """A claim with a MIG partition whose record is damaged in its last line."""
    bench.prepare("u1", HALF)
    data = record_file(bench).read_bytes()
    record_file(bench).write_bytes(flip(data, places(data)[-2]))
    return bench


def test_claims_in_quarantine_are_listed_with_the_reason_and_nothing_changes(
    spoilt: Any, release: Release
) -> None:
    before = spoilt.leftovers()

    status, out, _ = release()
    _, as_json, _ = release("--json")

    told = f"claim default/claim-u1 (u1): line 4: its checksum does not match its content; may hold {HALF}\n"
    assert (status, out) == (0, told)
    (found,) = json.loads(as_json)["quarantined"]
    assert (found["uid"], found["namespace"], found["name"]) == ("u1", "default", "claim-u1")
    assert (found["devices"], found["undone"]) == ([HALF], True)
    assert spoilt.leftovers() == before


def test_a_released_claim_is_undone_and_its_file_is_kept(spoilt: Any, release: Release) -> None:
    status, out, _ = release("u1")

    assert status == 0
    assert out.startswith("released claim default/claim-u1 (u1): ")
    assert spoilt.leftovers() == [f"{record_file(spoilt)}.corrupt"]
    assert release()[1] == "no claim is in quarantine\n"


@pytest.mark.parametrize(("modes", "stays"), [((), False), (("--gpu-modes", "all=mig:on"), True)])
def test_the_mode_of_a_released_claims_gpu_is_as_the_plugins_option_says(
    spoilt: Any, release: Release, modes: tuple[str, ...], stays: bool
) -> None:
    assert release("u1", *modes)[0] == 0

    assert spoilt.is_in_mig_mode() is stays


def test_programs_read_what_was_released(spoilt: Any, release: Release) -> None:
    _, out, _ = release("u1", "--json")

    assert json.loads(out)["released"]["uid"] == "u1"


def test_a_claim_that_is_not_in_quarantine_is_refused_in_one_line_and_nothing_changes(
    bench: Any, release: Release
) -> None:
    bench.prepare("u1", HALF)
    before = bench.leftovers()

    for uid in ("u1", "u9", "../u1", ""):
        status, out, said = release(uid)

        assert (status, out) == (2, "")
        assert said.startswith("tangram plugin release: cannot release claim ")
        assert said.count("\n") == 1
    assert bench.leftovers() == before


def test_what_the_hardware_refuses_is_told_and_a_second_call_goes_on(spoilt: Any, release: Release) -> None:
    spoilt.inject("gpu-0:destroy-compute-instance:in-use:1")

    status, _, said = release("u1")
    assert status == 1
    assert "cannot release claim default/claim-u1: destroy compute instance" in said
    assert len(spoilt.instances()) == 1
    assert release("u1")[0] == 0

    assert spoilt.instances() == ()


def test_wrong_options_and_help_end_as_those_of_the_plugin(
    bench: Any, release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release("--no-such-option")[0] == 2
    assert release("--driver-name", "NOT A NAME")[0] == 2
    assert main(["plugin", "release", "--help"]) == 0
    assert "examples:" in capsys.readouterr().out


def test_the_release_of_a_claim_on_a_lost_gpu_parks_what_is_there(
    spoilt: Any, release: Release, caplog: pytest.LogCaptureFixture
) -> None:
    spoilt.inject("gpu-0:lost")

    status, out, _ = release("u1")

    assert (status, out) == (
        0,
        "released claim default/claim-u1 (u1): what is on the lost GPU stays held, and is undone when "
        "the GPU is back or the node reboots\n",
    )
    assert "its pod may end; what is on the lost GPU stays held until it is back" in caplog.text
    assert [record.state for record in spoilt.records()] == ["undoing"]
    assert not spoilt.document("u1").exists()
    spoilt.simulated.reset_gpu(spoilt.uuid(0))
    spoilt.driver.parked.look_after()
    assert spoilt.leftovers() == [f"{record_file(spoilt)}.corrupt"]


def test_a_program_is_told_what_is_parked(spoilt: Any, release: Release) -> None:
    spoilt.inject("gpu-0:lost")

    _, out, _ = release("u1", "--json")

    assert json.loads(out)["released"]["parked"] is True
