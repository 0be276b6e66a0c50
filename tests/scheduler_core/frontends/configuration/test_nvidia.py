"""NVIDIA's configurations are read where they mean the same here, and refused by name where they do not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from random_configs import gpu_configs, mig_configs

from scheduler_core.frontends.configuration.decode import decode_config
from scheduler_core.frontends.configuration.encode import encode_config
from scheduler_core.frontends.configuration.errors import InvalidConfig
from scheduler_core.frontends.configuration.values import GpuConfig, MigConfig, Mps

NVIDIA = "resource.nvidia.com/v1beta1"


def nvidia(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": NVIDIA, "kind": kind, **fields}


def mps(**fields: Any) -> dict[str, Any]:
    return {"strategy": "MPS", "mpsConfig": fields}


@given(gpu_configs)
def test_a_gpu_config_means_the_same_under_both_versions(config: GpuConfig) -> None:
    assert decode_config(encode_config(config) | {"apiVersion": NVIDIA}) == config


@given(mig_configs)
def test_a_mig_config_means_the_same_under_nvidias_name(config: MigConfig) -> None:
    assert decode_config(encode_config(config) | {"apiVersion": NVIDIA, "kind": "MigDeviceConfig"}) == config


def test_time_slicing_of_a_mig_device_has_no_effect_as_in_nvidias_driver() -> None:
    assert decode_config(nvidia("MigDeviceConfig", sharing={"strategy": "TimeSlicing"})) == MigConfig()


@pytest.mark.parametrize("kind", ["GpuConfig", "MigDeviceConfig"])
def test_one_user_for_each_mps_daemon_is_what_happens_here(kind: str) -> None:
    found = decode_config(nvidia(kind, sharing=mps(multiUser=False)))

    assert found.sharing == Mps()  # type: ignore[union-attr]
    with pytest.raises(InvalidConfig, match=rf"{kind}\.sharing\.mpsConfig\.multiUser: True: must be false"):
        decode_config(nvidia(kind, sharing=mps(multiUser=True)))
    with pytest.raises(InvalidConfig, match="multiUser: 'no': must be true or false"):
        decode_config(nvidia(kind, sharing=mps(multiUser="no")))


@pytest.mark.parametrize(
    "kind", ["VfioDeviceConfig", "ComputeDomainChannelConfig", "ComputeDomainDaemonConfig"]
)
def test_nvidias_other_kinds_are_refused_by_name(kind: str) -> None:
    with pytest.raises(InvalidConfig, match=f"kind: '{kind}': asks for what this driver does not do"):
        decode_config(nvidia(kind))


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (nvidia("GpuConfig", share={}), "GpuConfig.share"),
        (nvidia("MigDeviceConfig", sharing={"strategy": "Some"}), "MigDeviceConfig.sharing.strategy"),
        (
            nvidia("MigDeviceConfig", sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {}}),
            "MigDeviceConfig.sharing.timeSlicingConfig",
        ),
        (
            nvidia("GpuConfig", sharing=mps(defaultActiveThreadPercentage=0)),
            "GpuConfig.sharing.mpsConfig.defaultActiveThreadPercentage",
        ),
        (nvidia("MigConfig"), "kind"),
        (nvidia("VfConfig"), "kind"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_field(document: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        decode_config(document)

    assert caught.value.field == field
