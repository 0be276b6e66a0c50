"""A configuration is read as it is written, and one mistake anywhere is refused by its field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from random_configs import UUID, configs, spoilt

from scheduler_core.frontends.configuration.decode import decode_config, decode_text
from scheduler_core.frontends.configuration.encode import encode_config
from scheduler_core.frontends.configuration.errors import InvalidConfig
from scheduler_core.frontends.configuration.values import (
    Config,
    GpuConfig,
    Netdev,
    NicConfig,
    TimeSlicing,
    VfConfig,
)

V1 = "tangram.dev/v1alpha1"


def vf(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": "VfConfig", **fields}


def nic(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": "NicConfig", **fields}


def refusal(document: dict[str, Any]) -> InvalidConfig:
    with pytest.raises(InvalidConfig) as caught:
        decode_config(document, "request r")
    return caught.value


@given(configs)
def test_what_is_written_is_read_back(config: Config) -> None:
    document = encode_config(config)

    assert decode_config(document) == config
    assert decode_text(json.dumps(document)) == config


@given(configs)
def test_one_mistake_is_refused_with_its_field(config: Config) -> None:
    for one in spoilt(encode_config(config)):
        error = refusal(one.document)

        assert error.field == one.field, one.document
        assert str(error).startswith(f"request r: {one.field}: ")


@given(configs)
def test_a_key_that_the_text_has_twice_is_refused_with_its_field(config: Config) -> None:
    document = encode_config(config)
    kind = document["kind"]

    for path, text in doubled(document, ""):
        with pytest.raises(InvalidConfig) as caught:
            decode_text(text)

        assert caught.value.field == f"{kind}{path}"
        assert "twice" in caught.value.rule


def doubled(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the text of a value with one key twice, for every key, with the key's path."""
    if isinstance(value, list):
        for index, inner in enumerate(value):
            for place, text in doubled(inner, f"{path}[{index}]"):
                yield place, json.dumps([*value[:index], "@", *value[index + 1 :]]).replace('"@"', text)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        yield f"{path}.{key}", f"{json.dumps(value)[:-1]}, {json.dumps({key: inner})[1:]}"
        for place, text in doubled(inner, f"{path}.{key}"):
            yield place, json.dumps(value | {key: "@"}).replace('"@"', text)


def test_an_object_that_says_nothing_else_is_a_configuration() -> None:
    assert decode_config(vf()) == VfConfig()
    assert decode_config(nic()) == NicConfig(Netdev())


def test_null_is_as_if_the_field_were_not_there() -> None:
    assert decode_config(vf(mac=None, vlan=None, netdev=None)) == VfConfig()


def test_a_message_names_the_value_and_what_is_allowed() -> None:
    assert str(refusal(vf(vlan={"id": 4095}))) == "request r: VfConfig.vlan.id: 4095: must be at most 4094"
    assert refusal(vf(mode="dpdk")).rule == "must be one of rdma, vfio, netdev"
    assert "known here: id, qos, protocol" in refusal(vf(vlan={"id": 1, "prio": 2})).rule
    assert "must be tangram.dev/v1alpha1 or" in refusal({"kind": "VfConfig"}).rule
    assert "GpuConfig, MigConfig, VfConfig or NicConfig" in refusal({"apiVersion": V1}).rule


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"mode": "vfio", "netdev": {}}, "netdev"),
        ({"netdev": {}}, "netdev"),
        ({"mode": "netdev", "rdma": {}}, "rdma"),
        ({"minTxRate": 101, "maxTxRate": 100}, "minTxRate"),
        ({"vlan": {"qos": 3}}, "vlan.id"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(fields: dict[str, Any], field: str) -> None:
    assert refusal(vf(**fields)).field == f"VfConfig.{field}"


def test_a_least_rate_needs_no_limit_above_it() -> None:
    assert decode_config(vf(minTxRate=200, maxTxRate=0)) == VfConfig(min_tx_rate_mbps=200, max_tx_rate_mbps=0)
    assert decode_config(vf(minTxRate=100, maxTxRate=100)).min_tx_rate_mbps == 100  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"addresses": ["192.0.2.1/24", "192.0.2.1/25"]}, "addresses[1]"),
        ({"routes": [{"destination": "::/0"}, {"destination": "::/0"}]}, "routes[1].destination"),
        ({"routes": [{"destination": "::/0", "gateway": "192.0.2.1"}]}, "routes[0].gateway"),
        (
            {"addresses": ["192.0.2.1/24"], "routes": [{"destination": "0.0.0.0/0", "gateway": "192.0.3.1"}]},
            "routes[0].gateway",
        ),
        ({"routes": [{"gateway": "192.0.2.1"}]}, "routes[0].destination"),
        ({"routes": [{"destination": "0.0.0.0/0", "gateway": "169.254.1.1"}]}, "routes[0].gateway"),
    ],
)
def test_addresses_and_routes_that_the_kernel_refuses_are_refused(fields: dict[str, Any], field: str) -> None:
    assert refusal(nic(**fields)).field == f"NicConfig.{field}"


def test_a_gateway_may_be_behind_a_route_without_one() -> None:
    routes = [{"destination": "192.0.2.1/32"}, {"destination": "0.0.0.0/0", "gateway": "192.0.2.1"}]

    found = decode_config(nic(routes=routes))

    assert isinstance(found, NicConfig)
    assert [one.gateway for one in found.netdev.routes] == [None, "192.0.2.1"]


@pytest.mark.parametrize("address", ["192.0.2.7/31", "192.0.2.7/32", "2001:db8::/127", "2001:db8::1/128"])
def test_networks_of_two_or_one_have_no_address_of_their_own(address: str) -> None:
    assert decode_config(nic(addresses=[address])) == NicConfig(Netdev(addresses=(address,)))


def test_addresses_are_kept_in_one_spelling() -> None:
    found = decode_config(nic(addresses=["2001:DB8:0::10/64"]))
    vf_found = decode_config(vf(mac="02:00:00:00:00:AB"))

    assert found == NicConfig(Netdev(addresses=("2001:db8::10/64",)))
    assert vf_found == VfConfig(mac="02:00:00:00:00:ab")


def test_sharing_takes_the_configuration_of_its_own_strategy_only() -> None:
    sharing = {"strategy": "TimeSlicing", "mpsConfig": {}}

    error = refusal({"apiVersion": V1, "kind": "GpuConfig", "sharing": sharing})

    assert error.field == "GpuConfig.sharing.mpsConfig"
    assert "strategy TimeSlicing" in error.rule


def test_time_slicing_is_for_whole_gpus() -> None:
    sharing = {"strategy": "TimeSlicing"}

    assert decode_config({"apiVersion": V1, "kind": "GpuConfig", "sharing": sharing}) == GpuConfig(
        TimeSlicing()
    )
    error = refusal({"apiVersion": V1, "kind": "MigConfig", "sharing": sharing})
    assert error.field == "MigConfig.sharing.strategy"


@pytest.mark.parametrize("device", ["32", "-1", "01", "0x1", "GPU-1", "gpu-0", ""])
def test_a_limit_by_device_names_an_index_or_a_uuid(device: str) -> None:
    limits = {"defaultPerDevicePinnedMemoryLimit": {device: "1Gi"}}
    sharing = {"strategy": "MPS", "mpsConfig": limits}

    error = refusal({"apiVersion": V1, "kind": "GpuConfig", "sharing": sharing})

    assert error.field.startswith("GpuConfig.sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit")
    assert "0 to 31" in error.rule


def test_a_partition_has_no_uuid_before_it_is_made() -> None:
    sharing = {"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": {UUID: "1Gi"}}}

    assert decode_config({"apiVersion": V1, "kind": "GpuConfig", "sharing": sharing})
    error = refusal({"apiVersion": V1, "kind": "MigConfig", "sharing": sharing})
    assert error.rule == "must be the index of a device in the claim, 0 to 31"


@pytest.mark.parametrize("text", ["", "[]", "{", "3", "null", '{"a": ' * 10_000, '"x"'])
def test_a_text_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"parameters: .*JSON object|parameters: has"):
        decode_text(text)


def test_a_text_above_the_limit_of_the_api_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="at most 10240"):
        decode_text(json.dumps(vf(mac="0" * 10_240)))
