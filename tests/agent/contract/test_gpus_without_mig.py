"""A model without MIG keeps the reading half of the contract, and refuses the other."""

from collections.abc import Iterator

import pytest
from gpu_contract.reading import *  # noqa: F403
from nvml_machine import NvmlMachine

from agent.hardware.errors import NotSupported
from agent.hardware.types import MigSpec, Placement


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NvmlMachine]:
    with NvmlMachine.made("l40s", tmp_path_factory.mktemp("l40s")) as made:
        yield made


def test_it_has_no_mode_no_profiles_and_no_instances(hardware, uuid) -> None:
    assert hardware.mig_mode(uuid) is None
    assert hardware.profiles(uuid) == ()
    assert hardware.gpu_instances(uuid) == ()


@pytest.mark.parametrize("enabled", [True, False])
def test_its_mode_cannot_be_set(hardware, uuid, enabled: bool) -> None:
    with pytest.raises(NotSupported):
        hardware.set_mig_mode(uuid, enabled)


def test_it_cannot_be_cut(hardware, uuid) -> None:
    with pytest.raises(NotSupported):
        hardware.create_gpu_instance(MigSpec(uuid, 19, Placement(0, 1)))
