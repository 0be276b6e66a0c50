"""What a device allows: limits of its memory, its link, and what may be given to one device only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_interface

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.configuration.errors import InvalidConfig
from scheduler_core.frontends.configuration.preparable import ONE_DAEMON
from scheduler_core.frontends.configuration.values import (
    Config,
    GpuConfig,
    MigConfig,
    Mps,
    Netdev,
    NicConfig,
    VfConfig,
)
from scheduler_core.model.device import Device
from scheduler_core.model.names import qualified


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredDevice:
    """A device of a claim and the configuration that counts for it.

    Shape: ``request`` is the one that it was allocated for; ``subject`` the requests that the configuration
           is for; ``index`` is the device's place among those of the claim that have the same configuration.
    """

    device: Device
    driver: str
    request: str
    config: Config
    subject: str
    index: int = 0

    def attribute(self, identifier: str) -> object:
        """Return the driver's own attribute, None where the device has none."""
        return self.device.attributes.get(qualified(identifier, self.driver))

    def capacity(self, identifier: str) -> Quantity | None:
        """Return the driver's own capacity, None where the device has none."""
        return self.device.capacity.get(qualified(identifier, self.driver))


def beyond_device(one: ConfiguredDevice) -> Iterator[InvalidConfig]:
    """Yield what the device is too small for. What it does not publish is not checked."""
    match one.config:
        case GpuConfig(sharing=Mps() as mps) | MigConfig(sharing=Mps() as mps):
            yield from _beyond_memory(one, mps)
        case VfConfig():
            yield from _beyond_link(one, one.config)
        case _:
            return


def _beyond_link(one: ConfiguredDevice, config: VfConfig) -> Iterator[InvalidConfig]:
    speed, bandwidth = one.attribute("linkSpeedMbps"), one.capacity("bandwidth")
    if bandwidth is not None:
        most, of = bandwidth.whole, "the bandwidth of the device"
    elif isinstance(speed, int):
        most, of = speed, "the speed of its link"
    else:
        return
    if bandwidth is not None and config.max_tx_rate_mbps == 0:
        rule = f"is no limit, and the device has a bandwidth: must be from 1 to {most} Mbit/s"
        yield InvalidConfig(one.subject, "VfConfig.maxTxRate", 0, rule)
    for key, rate in {"minTxRate": config.min_tx_rate_mbps, "maxTxRate": config.max_tx_rate_mbps}.items():
        if rate is not None and rate > most:
            rule = f"must be at most {most} Mbit/s, {of}"
            yield InvalidConfig(one.subject, f"VfConfig.{key}", rate, rule)


def _beyond_memory(one: ConfiguredDevice, mps: Mps) -> Iterator[InvalidConfig]:
    memory = one.capacity("memory")
    field = f"{type(one.config).__name__}.sharing.mpsConfig"
    limits = {f"{field}.defaultPinnedDeviceMemoryLimit": mps.pinned_memory_limit}
    for key in (str(one.index), str(one.attribute("uuid"))):
        limits[f"{field}.defaultPerDevicePinnedMemoryLimit.{key}"] = mps.pinned_memory_limits.get(key)
    for place, limit in limits.items():
        if memory is not None and limit is not None and limit > memory:
            rule = f"must be at most {memory}, the memory of the device"
            yield InvalidConfig(one.subject, place, limit, rule)


def limits_of_others(devices: Sequence[ConfiguredDevice]) -> Iterator[InvalidConfig]:
    """Yield limits for a device that the claim does not have under that configuration."""
    known: dict[str, set[str]] = {}
    for one in devices:
        known.setdefault(one.subject, set()).update({str(one.index), str(one.attribute("uuid"))})
    for one in devices:
        match one.config:
            case (
                GpuConfig(sharing=Mps(pinned_memory_limits=limits))
                | MigConfig(sharing=Mps(pinned_memory_limits=limits))
            ) if one.index == 0:
                place = f"{type(one.config).__name__}.sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit"
                for key in limits.keys() - known[one.subject]:
                    rule = "names no device of the claim with this configuration"
                    yield InvalidConfig(one.subject, f"{place}.{key}", None, rule)
            case _:
                continue


def taken_twice(devices: Sequence[ConfiguredDevice]) -> Iterator[InvalidConfig]:
    """Yield what two devices of one claim cannot both have: a MAC, the name of an interface, an address."""
    holders: dict[tuple[str, str], ConfiguredDevice] = {}
    for one in devices:
        for kind, field, text, value in _own(one.config):
            first = holders.setdefault((kind, value), one)
            if first is not one:
                other = "another device" if first.request == one.request else "a device"
                rule = f"{other} of request {first.request} has this {kind}, too: give each its own"
                yield InvalidConfig(one.subject, field, text, rule)


def several_daemons(devices: Sequence[ConfiguredDevice]) -> Iterator[InvalidConfig]:
    """Yield the requests with more than one device under MPS: its containers get all of them."""
    seen: dict[str, bool] = {}
    for one in devices:
        match one.config:
            case GpuConfig(sharing=Mps()) | MigConfig(sharing=Mps()):
                if seen.get(one.request) is False:
                    rule = f"is for several devices of request {one.request}: {ONE_DAEMON}"
                    yield InvalidConfig(one.subject, f"{type(one.config).__name__}.sharing", None, rule)
                seen[one.request] = one.request in seen
            case _:
                continue


def _own(config: Config) -> Iterator[tuple[str, str, str, str]]:
    """Yield what must be one device's own: what it is, the field, the text, and what is compared."""
    match config:
        case VfConfig(mac=mac, netdev=netdev):
            if mac is not None:
                yield "MAC address", "VfConfig.mac", mac, mac
            if netdev is not None:
                yield from _own_of_netdev("VfConfig.netdev", netdev)
        case NicConfig(netdev=netdev):
            yield from _own_of_netdev("NicConfig", netdev)
        case _:
            return


def _own_of_netdev(place: str, netdev: Netdev) -> Iterator[tuple[str, str, str, str]]:
    if netdev.name is not None:
        yield "name of an interface", f"{place}.name", netdev.name, netdev.name
    for index, address in enumerate(netdev.addresses):
        yield "address", f"{place}.addresses[{index}]", address, str(ip_interface(address).ip)
