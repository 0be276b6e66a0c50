"""Names that NVML does not tell, or tells as numbers."""

from __future__ import annotations

import pynvml
import pytest
from fake_nvml.models import shipped_models

from agent.hardware.nvml.names import architecture_name, brand_name, profile_name
from agent.hardware.nvml.profiles import ComputeProfile, full_width
from agent.hardware.types import MIB

MODELS = list(shipped_models().values())
ROWS = [
    pytest.param(model["memory_mib"], row, id=f"{model['product_name']}-{row['name']}")
    for model in MODELS
    for row in model["gpu_instance_profiles"]
    if model["memory_mib"] and row["memory_mib"]
]


def compute_profile(constant: int, slices: int, multiprocessors: int, most: int = 1) -> ComputeProfile:
    return ComputeProfile(constant, constant, slices, multiprocessors, most)


@pytest.mark.parametrize(("total_mib", "row"), ROWS)
def test_the_derived_name_of_every_known_profile_is_its_real_one(total_mib: int, row: dict) -> None:
    constant, slices, memory = row["nvml_profile_id"], row["slice_count"], row["memory_mib"] * MIB

    assert profile_name(constant, "", slices, memory, total_mib * MIB) == row["name"]


def test_the_drivers_own_name_comes_first() -> None:
    assert profile_name(0, "MIG 1g.5gb", 1, 1, 1) == "1g.5gb"


def test_brands_are_spelt_as_drivers_attributes_spell_them() -> None:
    assert brand_name(pynvml.NVML_BRAND_NVIDIA) == "Nvidia"
    assert brand_name(pynvml.NVML_BRAND_TESLA) == "Tesla"
    assert brand_name(pynvml.NVML_BRAND_UNKNOWN) is None


def test_every_architecture_of_the_shipped_models_has_a_number() -> None:
    known = {architecture_name(number) for number in range(16)}

    assert {model["architecture"] for model in MODELS} <= known
    assert architecture_name(pynvml.NVML_DEVICE_ARCH_UNKNOWN) == "Unknown"


def test_a_double_memory_1g_is_filled_by_the_profile_with_more_multiprocessors() -> None:
    profiles = (compute_profile(0, 1, 16), compute_profile(7, 1, 26))

    assert [profile.constant for profile in full_width(profiles)] == [7, 0]


def test_of_two_equal_profiles_the_older_constant_comes_first() -> None:
    profiles = (compute_profile(0, 1, 16, 7), compute_profile(4, 7, 132), compute_profile(8, 7, 132))

    assert [profile.constant for profile in full_width(profiles)] == [4, 8]


def test_profiles_that_do_not_fit_once_fill_nothing() -> None:
    profiles = (compute_profile(0, 1, 14), compute_profile(4, 7, 98, most=0))

    assert [profile.constant for profile in full_width(profiles)] == [0]
