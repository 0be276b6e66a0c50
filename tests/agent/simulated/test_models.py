"""GPU and NIC models say what their sources say, and nothing else."""

from __future__ import annotations

import json

import pytest

from agent.hardware.simulated.gpu_models import FOLDER, MemoryOverride, gpu_models, load_model
from agent.hardware.simulated.nic_models import nic_models
from agent.hardware.types import MIB, Placement


@pytest.mark.parametrize("name", gpu_models())
def test_every_figure_is_that_of_the_file_and_no_estimate_is_read(name: str) -> None:
    file = json.loads((FOLDER / f"{name}.json").read_text())
    rows = {row["name"]: row for row in file["gpu_instance_profiles"]}

    for profile in load_model(name).profiles:
        row = rows[profile.name]
        assert (profile.profile_id, profile.compute_slices) == (row["profile_id"], row["slice_count"])
        assert profile.memory_bytes == row["memory_mib"] * MIB
        assert (profile.jpeg_engines, profile.ofa_engines) == (row["jpeg"], row["ofa"])
        assert profile.multiprocessors == row["multiprocessors"]


@pytest.mark.parametrize("name", gpu_models())
def test_a_profile_is_either_there_or_named_with_what_is_unknown(name: str) -> None:
    file = json.loads((FOLDER / f"{name}.json").read_text())
    model = load_model(name)

    assert len(model.profiles) + len(model.left_out) == len(file["gpu_instance_profiles"])


def test_an_unknown_figure_leaves_the_profile_out_and_says_which() -> None:
    model = load_model("b200-180gb")

    assert [profile.name for profile in model.profiles] == ["1g.23gb", "1g.23gb+me", "1g.45gb", "2g.45gb"]
    assert (
        "MIG profile 3g.90gb of model b200-180gb: no source has its "
        "memory_mib, multiprocessors, decoders, encoders, jpeg" in model.left_out
    )


def test_every_file_names_its_sources() -> None:
    for name in gpu_models():
        assert json.loads((FOLDER / f"{name}.json").read_text())["sources"]


def test_a_machines_own_driver_may_report_other_memory() -> None:
    override = MemoryOverride(total_mib=40537, profiles_mib={"7g.40gb": 40448})

    model = load_model("a100-sxm4-40gb", override)

    assert model.memory_bytes == 40537 * MIB
    assert {profile.name: profile.memory_bytes // MIB for profile in model.profiles}["7g.40gb"] == 40448


def test_profile_ids_are_not_nvmls_constants() -> None:
    ids = {profile.name: profile.profile_id for profile in load_model("a100-sxm4-40gb").profiles}

    assert ids["1g.5gb"] == 19
    assert ids["7g.40gb"] == 0


def test_a_three_slice_instance_takes_four_memory_slices() -> None:
    profiles = {profile.name: profile for profile in load_model("h100-sxm5-80gb").profiles}

    assert profiles["3g.40gb"].compute_slices == 3
    assert profiles["3g.40gb"].placements == (Placement(0, 4), Placement(4, 4))


@pytest.mark.parametrize(
    ("name", "pf", "vf"), [("connectx-6", "101b", "101c"), ("connectx-7", "1021", "101e")]
)
def test_a_nics_virtual_functions_have_an_id_of_their_own(name: str, pf: str, vf: str) -> None:
    model = nic_models()[name]

    assert (model.vendor_id, model.pf_device_id, model.vf_device_id) == ("15b3", pf, vf)
