"""What a device allows: limits of its memory, its link, and what may be given to one device only."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from ipaddress import ip_interface

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.configuration.errors import InvalidConfig, requests_text
from scheduler_core.frontends.configuration.merge import GivenConfig, with_defaults
from scheduler_core.frontends.configuration.preparable import ONE_DAEMON, UNDER_MPS
from scheduler_core.frontends.configuration.values import (
    Config,
    GpuConfig,
    Interval,
    MigConfig,
    Mps,
    Netdev,
    NicConfig,
    TimeSlicing,
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
        case VfConfig(guid=guid):
            yield from _beyond_link(one, one.config)
            link = one.attribute("linkType")
            if guid is not None and link not in (None, "infiniband"):
                rule = f"is for InfiniBand VFs; the link of device {one.device.name} is {link}"
                yield InvalidConfig(one.subject, "VfConfig.guid", guid, rule)
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
    """Yield what two devices of one claim cannot both have: a MAC, GUID, name of an interface, address."""
    holders: dict[tuple[str, str], ConfiguredDevice] = {}
    for one in devices:
        for kind, field, text, value in _own(one.config):
            first = holders.setdefault((kind, value), one)
            if first is not one:
                other = "another device" if first.request == one.request else "a device"
                rule = f"{other} of request {first.request} has this {kind}, too: give each its own"
                yield InvalidConfig(one.subject, field, text, rule)


def several_intervals(devices: Sequence[ConfiguredDevice]) -> Iterator[InvalidConfig]:
    """Yield shares of one GPU with different intervals of time slicing, which is one setting of the GPU."""
    first: dict[str, tuple[str, Interval]] = {}
    for one in devices:
        match with_defaults(one.config):
            case GpuConfig(sharing=TimeSlicing(interval=Interval() as interval)):
                request, other = first.setdefault(one.device.name, (one.request, interval))
                if other is not interval:
                    field = "GpuConfig.sharing.timeSlicingConfig.interval"
                    rule = f"request {request} has {other} for its share of the same GPU: give both the same"
                    yield InvalidConfig(one.subject, field, str(interval), rule)
            case _:
                continue


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonUse:
    """A device under MPS that a request has, or will have.

    Shape: ``claim`` as messages name it; ``daemon`` is the same for devices with the same daemon, None for a
           share of a GPU that is not chosen yet; ``config`` is what asks for MPS, None if the device itself
           is under MPS.
    """

    claim: str
    request: str
    daemon: Hashable | None
    config: GivenConfig | None = None


def needs_daemon(config: Config | None, device_type: str) -> bool:
    """Whether programs use a device through an MPS daemon: all shares of one GPU through the same one."""
    match config:
        case GpuConfig(sharing=Mps()) | MigConfig(sharing=Mps()):
            return True
        case _:
            return device_type == UNDER_MPS


def several_daemons(uses: Iterable[DaemonUse]) -> Iterator[InvalidConfig]:
    """Yield the requests with several daemons: their containers get all of them."""
    by_request: dict[str, list[DaemonUse]] = {}
    for one in uses:
        by_request.setdefault(one.request.partition("/")[0], []).append(one)
    for request, mine in by_request.items():
        if least_daemons(mine) > 1:
            config = next((one.config for one in mine if one.config is not None), None)
            subject = requests_text([request]) if config is None else config.subject
            field = "" if config is None else f"{type(config.config).__name__}.sharing"
            what = f"is for several devices of request {request}" if config else "has shares of several GPUs"
            yield InvalidConfig(subject, field, None, f"{what}: {ONE_DAEMON}")


UsedClaim = tuple[str, str]
"""What a container names: the pod's own name for a claim, and a request of it, empty for all of them."""


def several_in_container(
    container: str, used: Iterable[UsedClaim], daemons: Callable[[str], Iterable[DaemonUse]]
) -> tuple[str, bool]:
    """Return what is wrong with a container that gets devices under MPS, and whether it is certain.

    Each daemon has its pipes and its ``/dev/shm``, and a container has one of either: the last one hides the
    others. Empty for nothing wrong. It is not certain as long as the GPUs of shares are not chosen.
    Shape: ``daemons`` are those of a claim by the pod's name for it.
    """
    found = {
        (name, use.request, use.daemon or number): use
        for name, request in used
        for number, use in enumerate(daemons(name))
        if not request or use.request.partition("/")[0] == request
    }
    uses = [*found.values()]
    is_certain = least_daemons(uses) > 1
    if not is_certain and sum(one.daemon is None for one in uses) < 2:
        return "", False
    named = ", ".join(dict.fromkeys(f"request {one.request} of claim {one.claim}" for one in uses))
    gets = "gets several devices under MPS" if is_certain else "may get shares of several GPUs under MPS"
    return f"container {container} {gets} ({named}): {ONE_DAEMON}", is_certain


def least_daemons(uses: Iterable[DaemonUse]) -> int:
    """Return the least number of daemons. A shared GPU is never the GPU of another use."""
    return len({one.daemon for one in uses})


def _own(config: Config) -> Iterator[tuple[str, str, str, str]]:
    """Yield what must be one device's own: what it is, the field, the text, and what is compared."""
    match config:
        case VfConfig(mac=mac, guid=guid, netdev=netdev):
            if mac is not None:
                yield "MAC address", "VfConfig.mac", mac, mac
            if guid is not None:
                yield "GUID", "VfConfig.guid", guid, guid
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
