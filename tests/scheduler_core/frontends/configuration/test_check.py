"""What a configuration asks for is compared with the devices of its claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.configuration.check import (
    allocated_problems,
    config_problems,
    unprepared_devices,
)
from scheduler_core.frontends.configuration.preparable import (
    NO_ADMIN_SHARING,
    NO_NETDEV,
    NO_RDMA,
    NO_SHARE,
    NO_VFIO,
    ONE_DAEMON,
)
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, OpaqueConfig
from scheduler_core.model.device import Device, DeviceId, DeviceName, QualifiedName
from scheduler_core.model.pool import Pool, PoolId

DRIVER = "tangram.dev"
UUID = "GPU-0f1e2d3c-0000-4000-8000-00000000abcd"


def device(name: str, kind: str, memory: str = "", **attributes: Any) -> Device:
    own = {"type": kind, **attributes}
    return Device(
        name=DeviceName(name),
        attributes={QualifiedName(f"{DRIVER}/{key}"): value for key, value in own.items()},
        capacity={QualifiedName(f"{DRIVER}/memory"): Quantity.parse(memory)} if memory else {},
    )


POOL = Pool(
    id=PoolId(DRIVER, "n"),
    devices=(
        device("gpu-0", "gpu", "40Gi", uuid=UUID),
        device("gpu-1", "gpu", "40Gi", uuid=UUID.replace("abcd", "abce")),
        device("mig-0", "mig", "5Gi"),
        device("shared-0", "gpu-shared", "40Gi"),
        device("pair", "gpu-partition"),
        *(device(f"vf-{number}", "vf", linkSpeedMbps=25_000) for number in range(3)),
        *(device(f"vf-{link}", "vf", linkType=link) for link in ("ethernet", "infiniband")),
        device("nic-0", "nic", linkSpeedMbps=25_000),
        device("other", "something-else"),
    ),
)


def config(kind: str, *requests: str, from_class: bool = False, **fields: Any) -> OpaqueConfig:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": kind, **fields}
    return OpaqueConfig(driver=DRIVER, parameters=parameters, requests=requests, from_class=from_class)


def claim(devices: Mapping[str, list[str]], *configs: OpaqueConfig, **result: Any) -> AllocatedClaim:
    """An allocated claim. Shape: the names of devices by request."""
    results = tuple(
        AllocatedDevice(request, DeviceId(DRIVER, "n", DeviceName(name)), **result)
        for request, names in devices.items()
        for name in names
    )
    return AllocatedClaim(ref=ClaimRef("default", "c"), results=results, configs=configs)


def told(devices: Mapping[str, list[str]], *configs: OpaqueConfig) -> list[str]:
    return [str(one) for one in config_problems(claim(devices, *configs), DRIVER, POOL)]


def mps(**fields: Any) -> dict[str, Any]:
    return {"sharing": {"strategy": "MPS", "mpsConfig": fields}}


def wrong(devices: Mapping[str, list[str]], *configs: OpaqueConfig) -> list[str]:
    return without_preparability(told(devices, *configs))


def without_preparability(sentences: list[str]) -> list[str]:
    return [one for one in sentences if "this version cannot prepare" not in one]


def test_a_configuration_for_a_request_must_be_of_the_kind_of_its_devices() -> None:
    found = told({"g": ["gpu-0"], "v": ["vf-0"]}, config("VfConfig", "g"))

    assert found == ["request g: VfConfig: is for devices of type vf; request g has devices of type gpu"]


def test_a_configuration_for_all_requests_is_for_the_devices_of_its_kind() -> None:
    assert told({"g": ["gpu-0"], "m": ["mig-0"]}, config("GpuConfig"), config("MigConfig")) == []


def test_a_configuration_of_a_class_is_for_the_devices_of_its_kind() -> None:
    of_class = config("VfConfig", "g", from_class=True)

    assert told({"g": ["gpu-0"], "m": ["mig-0"]}, of_class) == []
    assert told({"g": ["gpu-0"]}, config("VfConfig", from_class=True)) == []


def test_a_configuration_that_no_device_takes_is_refused() -> None:
    sentence = "all requests: VfConfig: is for devices of type vf; the claim requests no such device"

    assert told({"g": ["gpu-0"]}, config("VfConfig")) == [sentence]
    assert told({"g": ["gpu-0"]}, config("VfConfig", "g")) == [sentence]


def test_a_configuration_for_an_alternative_that_was_not_chosen_is_accepted() -> None:
    assert told({"r/whole": ["gpu-0"]}, config("GpuConfig"), config("MigConfig")) == []


@pytest.mark.parametrize(
    "results", [[("r/x", "other.example.com")], [("a", DRIVER), ("r/x", "other.example.com")]]
)
def test_an_alternative_may_have_been_another_drivers(results: list[tuple[str, str]]) -> None:
    devices = tuple(
        AllocatedDevice(request, DeviceId(driver, "n", DeviceName("gpu-0"))) for request, driver in results
    )
    asked = AllocatedClaim(ref=ClaimRef("default", "c"), results=devices, configs=(config("VfConfig"),))

    assert allocated_problems(asked, DRIVER, [POOL]) == ()


def test_a_claim_without_a_device_of_this_driver_needs_no_configuration_for_it() -> None:
    foreign = AllocatedDevice("r", DeviceId("other.example.com", "n", DeviceName("gpu-0")))
    asked = AllocatedClaim(ref=ClaimRef("default", "c"), results=(foreign,), configs=(config("VfConfig"),))

    assert allocated_problems(asked, DRIVER, [POOL]) == ()


def test_a_device_that_this_node_lacks_leaves_open_what_the_claim_has() -> None:
    assert told({"g": ["gpu-0"], "v": ["on-another-node"]}, config("VfConfig")) == []


def test_devices_of_other_drivers_and_pools_are_not_compared() -> None:
    foreign = DeviceId("other.example.com", "n", DeviceName("gpu-0"))
    elsewhere = DeviceId(DRIVER, "another", DeviceName("gpu-0"))
    asked = AllocatedClaim(
        ref=ClaimRef("default", "c"),
        results=(AllocatedDevice("a", foreign), AllocatedDevice("b", elsewhere)),
        configs=(config("GpuConfig", "b", **mps(defaultPinnedDeviceMemoryLimit="41Gi")),),
    )

    assert list(config_problems(asked, DRIVER, POOL)) == []


@pytest.mark.parametrize("field", ["minTxRate", "maxTxRate"])
def test_a_rate_above_the_link_is_refused(field: str) -> None:
    found = wrong({"v": ["vf-0"]}, config("VfConfig", **{field: 25_001}))

    assert found == [
        f"all requests: VfConfig.{field}: 25001: must be at most 25000 Mbit/s, the speed of its link"
    ]
    assert wrong({"v": ["vf-0"]}, config("VfConfig", **{field: 25_000})) == []


def test_a_limit_above_the_memory_of_the_device_is_refused() -> None:
    place = "all requests: GpuConfig.sharing.mpsConfig.defaultPinnedDeviceMemoryLimit"
    found = told({"g": ["gpu-0"]}, config("GpuConfig", **mps(defaultPinnedDeviceMemoryLimit="41Gi")))

    assert f"{place}: 41Gi: must be at most 40Gi, the memory of the device" in found
    within = told({"g": ["gpu-0"]}, config("GpuConfig", **mps(defaultPinnedDeviceMemoryLimit="40Gi")))
    assert without_preparability(within) == []


@pytest.mark.parametrize("key", ["1", UUID.replace("abcd", "abce")])
def test_a_limit_by_device_is_compared_with_that_device(key: str) -> None:
    limits = {key: "41Gi", "0": "40Gi"}
    found = told(
        {"g": ["gpu-0"], "h": ["gpu-1"]}, config("GpuConfig", **mps(defaultPerDevicePinnedMemoryLimit=limits))
    )

    place = f"all requests: GpuConfig.sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit.{key}"
    assert without_preparability(found) == [f"{place}: 41Gi: must be at most 40Gi, the memory of the device"]


def test_an_index_counts_the_devices_with_that_configuration() -> None:
    one = config("GpuConfig", "b", **mps(defaultPerDevicePinnedMemoryLimit={"0": "1Gi", "1": "1Gi"}))

    (sentence,) = without_preparability(told({"a": ["gpu-0"], "b": ["gpu-1"]}, one))

    assert "defaultPerDevicePinnedMemoryLimit.1: names no device of the claim" in sentence


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"mac": "02:00:00:00:00:01"}, "MAC address"),
        ({"guid": "02:00:00:00:00:00:00:01"}, "GUID"),
        ({"mode": "netdev", "netdev": {"name": "net1"}}, "name of an interface"),
        ({"mode": "netdev", "netdev": {"addresses": ["192.0.2.1/24"]}}, "address"),
    ],
)
def test_two_devices_of_a_claim_cannot_have_the_same(fields: dict[str, Any], what: str) -> None:
    twice = wrong({"v": ["vf-0", "vf-1"]}, config("VfConfig", **fields))
    in_two = wrong(
        {"v": ["vf-0"], "w": ["vf-1"]}, config("VfConfig", "v", **fields), config("VfConfig", "w", **fields)
    )

    assert len(twice) == len(in_two) == 1
    assert f"another device of request v has this {what}, too: give each its own" in twice[0]
    assert f"request w: VfConfig.{next(name for name in fields if name != 'mode')}" in in_two[0]
    assert f"a device of request v has this {what}, too" in in_two[0]


def test_a_guid_is_for_infiniband() -> None:
    guid = config("VfConfig", guid="02:00:00:00:00:00:00:01")

    assert wrong({"v": ["vf-ethernet"]}, guid) == [
        "all requests: VfConfig.guid: '02:00:00:00:00:00:00:01': is for InfiniBand VFs; "
        "the link of device vf-ethernet is ethernet"
    ]
    assert wrong({"v": ["vf-infiniband"]}, guid) == []
    assert wrong({"v": ["vf-0"]}, guid) == []  # its link is unknown


def test_a_nic_and_a_vf_cannot_have_one_name() -> None:
    found = wrong(
        {"v": ["vf-0"], "n": ["nic-0"]},
        config("VfConfig", mode="netdev", netdev={"name": "net1"}),
        config("NicConfig", name="net1"),
    )

    assert [one.partition(": ")[2].partition(":")[0] for one in found] == ["NicConfig.name"]


def test_an_overridden_configuration_is_not_compared() -> None:
    first = config("GpuConfig", from_class=True, **mps(defaultPinnedDeviceMemoryLimit="41Gi"))

    assert told({"g": ["gpu-0"]}, first, config("GpuConfig")) == []


def test_what_cannot_be_prepared_is_told_once_for_each_configuration() -> None:
    one = config("GpuConfig", sharing={"strategy": "TimeSlicing"})

    assert told({"g": ["pair", "pair"]}, one) == [
        "all requests: GpuConfig.sharing: this version sets no interval for GPUs that NVLink joins; "
        "leave the field out"
    ]


@pytest.mark.parametrize("device", ["gpu-0", "shared-0"])
def test_time_slicing_can_be_prepared_on_gpus_and_their_shares(device: str) -> None:
    assert told({"r": [device]}, config("GpuConfig", sharing={"strategy": "TimeSlicing"})) == []


@pytest.mark.parametrize(("device", "kind"), [("gpu-0", "GpuConfig"), ("mig-0", "MigConfig")])
def test_mps_can_be_prepared_on_gpus_and_mig_partitions(device: str, kind: str) -> None:
    assert told({"r": [device]}, config(kind, **mps())) == []


@pytest.mark.parametrize(
    ("device", "why"), [("shared-0", "take turns without MPS; ask for"), ("pair", "GPUs that NVLink joins")]
)
def test_mps_cannot_be_prepared_on_shared_gpus_and_nvlink_partitions(device: str, why: str) -> None:
    (sentence,) = told({"r": [device]}, config("GpuConfig", **mps()))

    assert sentence.startswith("all requests: GpuConfig.sharing: ")
    assert why in sentence


def test_a_request_for_several_devices_under_mps_is_refused_once() -> None:
    rule = f"is for several devices of request r: {ONE_DAEMON}"

    assert told({"r": ["gpu-0", "gpu-1"], "s": ["mig-0"]}, config("GpuConfig", **mps())) == [
        f"all requests: GpuConfig.sharing: {rule}"
    ]
    assert told({"r": ["gpu-0"], "s": ["gpu-1"]}, config("GpuConfig", **mps())) == []


def test_a_configuration_that_cannot_be_read_is_told_and_the_others_are_judged() -> None:
    found = told({"g": ["gpu-0"]}, config("GpuConfig", share=1), config("VfConfig"))

    assert [one.partition(": ")[2].partition(":")[0] for one in found] == ["GpuConfig.share", "VfConfig"]


def test_a_configuration_of_a_class_says_that_it_is_of_the_class() -> None:
    (sentence,) = told({"g": ["gpu-0"]}, config("GpuConfig", "g", from_class=True, share=1))

    assert sentence.startswith("all requests (from the class): GpuConfig.share")


def test_a_claim_on_several_pools_is_told_each_thing_once() -> None:
    asked = claim({"g": ["gpu-0"]}, config("GpuConfig", share=1))
    other = Pool(id=PoolId(DRIVER, "m"))

    assert len(allocated_problems(asked, DRIVER, [POOL, other])) == 1
    assert len(allocated_problems(asked, DRIVER, [])) == 1


@pytest.mark.parametrize("result", [{"share_id": "s"}, {"consumed": {"memory": Quantity.of(1)}}])
def test_shares_of_devices_that_one_claim_has_are_not_prepared(result: dict[str, Any]) -> None:
    asked = claim({"g": ["gpu-0"]}, **result)

    assert [one for _, one in unprepared_devices(asked, DRIVER, [POOL])] == [NO_SHARE]


def test_devices_with_admin_access_are_prepared() -> None:
    assert list(unprepared_devices(claim({"g": ["gpu-0"]}, admin_access=True), DRIVER, [POOL])) == []


def test_devices_of_unknown_types_are_left_to_the_plugin() -> None:
    assert list(unprepared_devices(claim({"r": ["other"]}), DRIVER, [POOL])) == []
    assert told({"r": ["other"]}, config("GpuConfig", from_class=True)) == []


@pytest.mark.parametrize(
    ("capable", "fields", "missing"),
    [
        ({"rdmaCapable": True, "vfioCapable": False}, {}, []),
        ({"rdmaCapable": True, "vfioCapable": False}, {"mode": "rdma"}, []),
        ({"rdmaCapable": True, "vfioCapable": False}, {"mode": "vfio"}, [NO_VFIO]),
        ({"rdmaCapable": False, "vfioCapable": True}, {}, [NO_RDMA]),
        ({"rdmaCapable": False, "vfioCapable": True}, {"mode": "vfio"}, []),
        ({}, {"mode": "vfio"}, []),
        ({"rdmaCapable": False, "netdevCapable": True}, {"mode": "netdev"}, []),
        ({"rdmaCapable": True, "netdevCapable": False}, {"mode": "netdev"}, [NO_NETDEV]),
    ],
)
def test_a_vf_is_refused_in_a_mode_that_it_says_it_lacks(
    capable: dict[str, bool], fields: dict[str, str], missing: list[str]
) -> None:
    pool = Pool(id=PoolId(DRIVER, "n"), devices=(device("vf-0", "vf", **capable),))
    asked = claim({"r": ["vf-0"]}, config("VfConfig", **fields))

    assert [one for _, one in unprepared_devices(asked, DRIVER, [pool])] == missing


@pytest.mark.parametrize("sharing", [{"strategy": "MPS"}, {"strategy": "TimeSlicing"}])
def test_no_sharing_is_set_up_for_admin_access(sharing: dict[str, Any]) -> None:
    given = config("GpuConfig", sharing=sharing)

    found = [
        str(one) for one in config_problems(claim({"r": ["gpu-0"]}, given, admin_access=True), DRIVER, POOL)
    ]

    assert found == [f"all requests: GpuConfig.sharing: {NO_ADMIN_SHARING}"]
    assert told({"r": ["gpu-0"]}, given) == []
