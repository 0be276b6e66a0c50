"""Valid configurations at random, and every way to spoil one in one place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_interface
from typing import Any

from hypothesis import strategies as st

from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.configuration.values import (
    Config,
    GpuConfig,
    Interval,
    LinkState,
    MigConfig,
    Mps,
    Netdev,
    NetworkRoute,
    NicConfig,
    TimeSlicing,
    VfConfig,
    VfMode,
    Vlan,
    VlanProtocol,
)

MIB = 2**20
UUID = "GPU-0f1e2d3c-0000-4000-8000-00000000abcd"
_bytes = st.integers(0, 255)
_memory = st.integers(1, 2**20).map(lambda amount: Quantity.bytes_of(amount * MIB))
_indexes = st.integers(0, 31).map(str)
macs = st.tuples(st.integers(1, 127).map(lambda half: 2 * half), _bytes, _bytes, _bytes, _bytes, _bytes).map(
    lambda found: ":".join(f"{one:02x}" for one in found)
)
guids = st.integers(1, 2**64 - 2).map(lambda guid: guid.to_bytes(8).hex(":"))
names = st.text("abcdefghijklmnopqrstuvwxyzABZ0189._-+", min_size=1, max_size=15).filter(
    lambda name: name not in (".", "..", "lo")
)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return the values, and None."""
    return st.none() | values


def mps(devices: st.SearchStrategy[str]) -> st.SearchStrategy[Mps]:
    return st.builds(
        Mps,
        active_thread_percentage=maybe(st.integers(1, 100)),
        pinned_memory_limit=maybe(_memory),
        pinned_memory_limits=st.dictionaries(devices, _memory, max_size=3),
    )


def _address(found: tuple[int, int, int, int]) -> str:
    second, third, host, prefix = found
    return f"10.{second}.{third}.{host}/{prefix}"


v4_addresses = st.tuples(_bytes, _bytes, st.integers(1, 254), st.integers(8, 24)).map(_address)
v6_addresses = st.integers(1, 2**32).map(lambda host: str(ip_interface((0x20010DB8 << 96 | host, 64))))
v6_routes = st.tuples(st.integers(1, 9), maybe(st.integers(1, 9))).map(
    lambda found: NetworkRoute(f"2001:db8:f{found[0]}::/48", found[1] and f"fe80::{found[1]}")
)


@st.composite
def netdevs(draw: st.DrawFn) -> Netdev:
    addresses = draw(
        st.lists(v4_addresses | v6_addresses, max_size=4, unique_by=lambda one: one.partition("/")[0])
    )
    routes = draw(st.lists(v6_routes, max_size=3, unique_by=lambda one: one.destination))
    near = [ip_interface(one).ip for one in addresses if "." in one]
    gateways = maybe(st.sampled_from(near).map(str)) if near else st.none()
    for number in draw(st.lists(st.integers(0, 9), max_size=3, unique=True)):
        routes.append(NetworkRoute(f"192.168.{number}.0/24", draw(gateways)))
    return Netdev(
        name=draw(maybe(names)),
        mtu=draw(maybe(st.integers(68, 65535))),
        addresses=tuple(addresses),
        routes=tuple(routes),
    )


@st.composite
def vf_configs(draw: st.DrawFn) -> VfConfig:
    mode = draw(maybe(st.sampled_from(VfMode)))
    least = draw(maybe(st.integers(0, 2**31)))
    is_rdma = mode in (None, VfMode.RDMA)
    return VfConfig(
        mode=mode,
        mac=draw(maybe(macs)),
        guid=draw(maybe(guids)),
        vlan=draw(
            maybe(
                st.builds(
                    Vlan,
                    st.integers(0, 4094),
                    maybe(st.integers(0, 7)),
                    maybe(st.sampled_from(VlanProtocol)),
                ).filter(lambda vlan: vlan.id or not vlan.qos)
            )
        ),
        min_tx_rate_mbps=least,
        max_tx_rate_mbps=draw(maybe(st.integers(least or 0, 2**32 - 1))),
        spoof_check=draw(maybe(st.booleans())),
        trust=draw(maybe(st.booleans())),
        link_state=draw(maybe(st.sampled_from(LinkState))),
        netdev=draw(maybe(netdevs())) if mode is VfMode.NETDEV else None,
        management_devices=draw(maybe(st.booleans())) if is_rdma else None,
    )


time_slicings = st.builds(TimeSlicing, maybe(st.sampled_from(Interval)))
gpu_configs = st.builds(GpuConfig, maybe(time_slicings | mps(_indexes | st.just(UUID))))
mig_configs = st.builds(MigConfig, maybe(mps(_indexes)))
nic_configs = st.builds(NicConfig, netdevs())
configs: st.SearchStrategy[Config] = gpu_configs | mig_configs | vf_configs() | nic_configs


@dataclass(frozen=True)
class Spoilt:
    """A document with one mistake. Shape: ``field`` is what a message must name."""

    document: dict[str, Any]
    field: str


_NO_AMOUNTS = ("0", "-1Mi", "1.5Mi", "1G", "9Ei", "much")
_NO_ADDRESSES = ("10.0.0.1", "10.0.0.0/24", "10.0.0.255/24", "224.0.0.1/4", "fe80::1%e/64", "10.0.0.1/33")
_BEYOND: dict[str, tuple[Any, ...]] = {
    "apiVersion": ("tangram.dev/v1", "v1", ""),
    "kind": ("Gpu", "gpuconfig", ""),
    "strategy": ("mps", "Exclusive", ""),
    "interval": ("short", "5ms"),
    "defaultActiveThreadPercentage": (0, 101, 2**70),
    "defaultPinnedDeviceMemoryLimit": _NO_AMOUNTS,
    "mode": ("RDMA", "dpdk", ""),
    "guid": ("", "02:00:00:00:00:01", ":".join(["00"] * 8), ":".join(["fF"] * 8), "0200000000000001", 7),
    "mac": (
        "00:00:00:00:00:00",
        "01:00:5e:00:00:01",
        "ff:ff:ff:ff:ff:ff",
        "02:00:00:00:00",
        "02-00-00-00-00-01",
    ),
    "id": (-1, 4095),
    "qos": (-1, 8),
    "protocol": ("802.1q", "QinQ"),
    "minTxRate": (-1, 2**32),
    "maxTxRate": (-1, 2**32),
    "linkState": ("up", "Auto"),
    "name": ("a" * 16, "a/b", "a b", "a:b", "a%d", ".", "..", "lo", "", "é", "a\n"),
    "mtu": (67, 65536),
    "destination": ("192.168.0.1/24", "192.168.0.0", "224.0.0.0/4", "x"),
    "gateway": (
        "0.0.0.0",
        "127.0.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "fe80::1%eth0",
        "10.0.0.1/24",
        "9.9.9.9",
    ),
}
"""Values of the right type that are out of range, by key."""


def spoilt(document: dict[str, Any]) -> Iterator[Spoilt]:
    """Yield the document with one mistake: an unknown key, another type, a value out of range."""
    kind = document["kind"]
    for path, value in _values(document, ()):
        place = _text(path) if path in (("apiVersion",), ("kind",)) else _text((kind, *path))
        for other in _other_values(path, value):
            yield Spoilt(_replaced(document, path, other), place)
        if isinstance(value, dict):
            key = "unheardOf"
            yield Spoilt(_replaced(document, (*path, key), 1), _text((kind, *path, key)))


def _other_values(path: tuple[Any, ...], value: Any) -> Iterator[Any]:
    key = path[-1] if path else ""
    is_amount = "defaultPerDevicePinnedMemoryLimit" in path[:-1]
    match value:
        case bool():
            yield from ("yes", 1, [])
        case int():
            yield from ("x", True, 1.5, [], {})
        case str():
            yield from (True, 1.5, [], {"a": 1}) if is_amount or "Limit" in str(key) else (17, True, [], {})
        case list():
            yield from ("x", 3, {"a": 1})
        case dict() if path:
            yield from ("x", 0, "", [], False)
    if "addresses" in path[:-1]:
        yield from _NO_ADDRESSES
    yield from _NO_AMOUNTS if is_amount else _BEYOND.get(str(key), ())


def _values(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _values(inner, (*path, index))


def _replaced(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(document)
    *above, last = path
    inner: Any = found
    for key in above:
        inner = inner[key]
    inner[last] = value
    return found


def _text(path: tuple[Any, ...]) -> str:
    first, *rest = path
    return str(first) + "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in rest)
