"""Which machine a command line names."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import pytest

from agent.hardware.machine_options import MachineOptions, add_options, read_options
from daemon.command_line import InvalidOption


def read(*argv: str) -> MachineOptions:
    parser = ArgumentParser()
    add_options(parser)
    return read_options(parser.parse_args(argv))


def test_without_options_it_is_this_machine_with_its_driver_at_the_root() -> None:
    assert read() == MachineOptions(simulated=None, folder=None, host_root=Path("/"), driver_root=Path("/"))


def test_a_simulated_machine_has_a_name_and_a_folder() -> None:
    chosen = read("--simulated", "a100x2", "--machine", "m")

    assert (chosen.simulated, chosen.folder) == ("a100x2", Path("m"))


@pytest.mark.parametrize("argv", [["--simulated", "a100x2"], ["--machine", "m"]])
def test_neither_a_simulated_machine_nor_its_folder_is_given_alone(argv: list[str]) -> None:
    with pytest.raises(InvalidOption, match="--simulated and --machine: each needs the other"):
        read(*argv)


def test_a_host_root_is_taken_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert read("--host-root", "host").host_root == tmp_path / "host"


def test_a_driver_root_is_named_as_the_host_names_it_so_it_is_absolute() -> None:
    with pytest.raises(InvalidOption, match="--driver-root 'run': must be absolute"):
        read("--driver-root", "run")


def test_a_host_root_is_absolute() -> None:
    with pytest.raises(InvalidOption, match="--host-root 'host': must be absolute"):
        MachineOptions(host_root=Path("host"))
