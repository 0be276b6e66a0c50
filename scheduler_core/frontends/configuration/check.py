"""Everything that is wrong with the configuration of one claim, in the order of prepare.

The plugin refuses the first of these; ``tangram`` prints all of them, with the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.configuration.decode import decode_config
from scheduler_core.frontends.configuration.device_rules import (
    ConfiguredDevice,
    DaemonUse,
    beyond_device,
    limits_of_others,
    needs_daemon,
    several_daemons,
    several_intervals,
    taken_twice,
)
from scheduler_core.frontends.configuration.errors import InvalidConfig, requests_text
from scheduler_core.frontends.configuration.merge import GivenConfig, counting
from scheduler_core.frontends.configuration.preparable import (
    IN_SHARES,
    NIC_WITHOUT_INTERFACE,
    NIC_WITHOUT_RDMA,
    NO_ADMIN,
    NO_ADMIN_SHARE,
    NO_ADMIN_SHARING,
    NO_NETDEV,
    NO_RDMA,
    NO_SHARE,
    NO_VFIO,
    WITHOUT_ADMIN_ACCESS,
    has_share,
    preparable,
)
from scheduler_core.frontends.configuration.values import (
    CONFIG_OF,
    Config,
    NicConfig,
    VfConfig,
    VfMode,
    types_of,
)
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, OpaqueConfig
from scheduler_core.model.device import Device
from scheduler_core.model.names import qualified
from scheduler_core.model.pool import Pool

TYPE: Final = "type"
_MODES: Final = {
    VfMode.RDMA: ("rdmaCapable", NO_RDMA),
    VfMode.VFIO: ("vfioCapable", NO_VFIO),
    VfMode.NETDEV: ("netdevCapable", NO_NETDEV),
}
"""The attribute that says whether a VF can be had in a mode, and what is told where it cannot."""

_CAPABLE: Final = frozenset(key for key, _ in _MODES.values())


@dataclass(frozen=True, slots=True)
class DeviceOfRequest:
    """A device that a request has or may get, with its ``type``, as far as they are known."""

    request: str
    device: Device
    type: str
    is_for_admin: bool = False


@dataclass(frozen=True, slots=True)
class ReadConfigs:
    """The configurations of a list that are for one driver. Shape: ``wrong`` by their index in the list."""

    given: tuple[GivenConfig, ...]
    wrong: Mapping[int, InvalidConfig]


def read_configs(configs: Sequence[OpaqueConfig], driver: str, names: Sequence[str] = ()) -> ReadConfigs:
    """Read the configurations for a driver; those of other drivers are skipped.

    Shape: ``names`` are all requests of the claim. A configuration that names all of them is for all
           requests, as it is in the allocation; so both are told with the same words.
    """
    given: list[GivenConfig] = []
    wrong: dict[int, InvalidConfig] = {}
    for index, one in enumerate(configs):
        if one.driver != driver:
            continue
        is_for_all = bool(names) and all(one.concerns(name) for name in names)
        requests = () if is_for_all else one.requests
        try:
            config = decode_config(one.parameters, requests_text(requests, from_class=one.from_class))
        except InvalidConfig as error:
            wrong[index] = error
        else:
            found = GivenConfig(config=config, requests=requests, from_class=one.from_class, index=index)
            given.append(found)
    return ReadConfigs(tuple(given), wrong)


def has_conditions(claim: AllocatedClaim) -> bool:
    """Whether the plugin looks at more than each device for itself; of most claims it does not.

    They have configurations, or shares, of which those under MPS need the same daemon.
    """
    return bool(claim.configs) or sum(bool(one.consumed) for one in claim.results) > 1


def config_problems(claim: AllocatedClaim, driver: str, pool: Pool) -> Iterator[InvalidConfig]:
    """Yield what is wrong with the configuration of an allocated claim.

    Shape: only configurations for ``driver`` are read, and only devices of ``pool`` compared with them.
    """
    if not has_conditions(claim):
        return
    ours = [one for one in claim.results if one.device.driver == driver]
    names = [one.request for one in claim.results]
    read = read_configs(claim.configs, driver, names)
    yield from read.wrong.values()
    devices = _devices(ours, driver, pool)
    yield from _device_problems(read.given, devices, driver)
    yield from several_daemons(_daemon_uses(str(claim.ref), read.given, devices, pool))
    if read.given and ours and len(devices) == len(ours):
        yield from without_device(read.given, {one.type for one in devices}, names)


def daemon_uses(claim: AllocatedClaim, driver: str, pools: Iterable[Pool]) -> Iterator[DaemonUse]:
    """Yield the devices under MPS of an allocated claim, as far as the pools have them."""
    ours = [one for one in claim.results if one.device.driver == driver]
    given = read_configs(claim.configs, driver, [one.request for one in claim.results]).given
    for pool in pools:
        if pool.id.driver == driver:
            yield from _daemon_uses(str(claim.ref), given, _devices(ours, driver, pool), pool)


def _daemon_uses(
    claim: str, given: Sequence[GivenConfig], devices: Iterable[DeviceOfRequest], pool: Pool
) -> Iterator[DaemonUse]:
    for one in devices:
        config = counting(given, one.request, one.type)
        if needs_daemon(config.config if config else None, one.type):
            daemon = (pool.id, one.device.name)
            yield DaemonUse(claim=claim, request=one.request, daemon=daemon, config=config)


def _device_problems(
    given: Sequence[GivenConfig], devices: Sequence[DeviceOfRequest], driver: str
) -> Iterator[InvalidConfig]:
    """Yield what does not fit the devices, or cannot be prepared for them."""
    for one in devices:
        yield from mismatches(given, one.request, one.type)
        if one.is_for_admin:
            yield from sharing_for_admin(given, one.request, one.type)
    configured = _configured(given, devices, driver)
    for device in configured:
        yield from beyond_device(device)
    yield from limits_of_others(configured)
    yield from taken_twice(configured)
    yield from several_intervals(configured)
    yield from _unprepared(given, devices)


def _configured(
    given: Sequence[GivenConfig], devices: Sequence[DeviceOfRequest], driver: str
) -> list[ConfiguredDevice]:
    found: list[ConfiguredDevice] = []
    counts = Counter[tuple[bool, int]]()
    for one in devices:
        chosen = counting(given, one.request, one.type)
        if chosen is None:
            continue
        place = (chosen.from_class, chosen.index)
        found.append(
            ConfiguredDevice(
                device=one.device,
                driver=driver,
                request=one.request,
                config=chosen.config,
                subject=chosen.subject,
                index=counts[place],
            )
        )
        counts[place] += 1
    return found


def mismatches(given: Sequence[GivenConfig], request: str, device_type: str) -> Iterator[InvalidConfig]:
    """Yield the configurations that a claim wrote for a request whose devices are of another type.

    One without requests, or of a class, is for the devices of its own kind among them.
    """
    for one in given:
        kind = type(one.config)
        is_written_for_it = not one.from_class and one.requests and one.is_for(request)
        if not is_written_for_it or not device_type or CONFIG_OF.get(device_type) is kind:
            continue
        types = " or ".join(types_of(kind))
        rule = f"is for devices of type {types}; request {request} has devices of type {device_type}"
        yield InvalidConfig(one.subject, kind.__name__, None, rule)


def sharing_for_admin(
    given: Sequence[GivenConfig], request: str, device_type: str
) -> Iterator[InvalidConfig]:
    """Yield the sharing that would be set up for a request that only looks at its devices."""
    found = counting(given, request, device_type)
    if found is not None and getattr(found.config, "sharing", None) is not None:
        field = f"{type(found.config).__name__}.sharing"
        yield InvalidConfig(found.subject, field, None, NO_ADMIN_SHARING)


def without_device(
    given: Sequence[GivenConfig], types: Collection[str], names: Iterable[str]
) -> Iterator[InvalidConfig]:
    """Yield the configurations that a claim wrote for all requests and that no device of it takes.

    A claim that chooses among alternatives may have one for an alternative that it did not get.
    Shape: ``types`` of all devices of the claim that are this driver's; ``names`` of all its requests, those
           for other drivers' devices too.
    """
    if "" in types or any("/" in name for name in names):
        return
    for one in given:
        kind = type(one.config)
        if one.from_class or one.requests or any(CONFIG_OF.get(found) is kind for found in types):
            continue
        rule = f"is for devices of type {' or '.join(types_of(kind))}; the claim requests no such device"
        yield InvalidConfig(one.subject, kind.__name__, None, rule)


def unprepared_config(given: Sequence[GivenConfig], request: str, device_type: str) -> InvalidConfig | None:
    """Return what this version cannot prepare for a request's devices of a type, None for nothing."""
    found = counting(given, request, device_type)
    missing = preparable(found.config if found is not None else None, device_type)
    if missing is None:
        return None
    is_about_config = found is not None and missing.field
    subject = found.subject if found is not None and is_about_config else requests_text([request])
    return InvalidConfig(subject, missing.field, None, missing.reason)


def _unprepared(given: Sequence[GivenConfig], devices: Sequence[DeviceOfRequest]) -> Iterator[InvalidConfig]:
    """Yield what this version cannot prepare of the configurations, each sentence once."""
    told: set[str] = set()
    for one in devices:
        problem = unprepared_config(given, one.request, one.type)
        if problem is not None and problem.field and str(problem) not in told:
            told.add(str(problem))
            yield problem


def allocated_problems(
    claim: AllocatedClaim, driver: str, pools: Sequence[Pool]
) -> tuple[InvalidConfig, ...]:
    """Return what is wrong with the configuration of an allocated claim, on all pools, each sentence once."""
    if not has_conditions(claim):
        return ()
    ours = [pool for pool in pools if pool.id.driver == driver]
    if not ours:
        names = [one.request for one in claim.results]
        return tuple(read_configs(claim.configs, driver, names).wrong.values())
    found = {str(one): one for pool in ours for one in config_problems(claim, driver, pool)}
    return tuple(found.values())


def unprepared_devices(
    claim: AllocatedClaim, driver: str, pools: Sequence[Pool]
) -> Iterator[tuple[AllocatedDevice, str]]:
    """Yield the devices of a claim that the plugin refuses for what they are, and why."""
    known = {pool.id_of(device): device for pool in pools for device in pool.devices}
    given = read_configs(claim.configs, driver, [one.request for one in claim.results]).given
    for result in claim.results:
        if result.device.driver != driver:
            continue
        if result.device not in known:
            continue
        device = known[result.device]
        device_type = type_of(device, driver)
        config = counting(given, result.request, device_type)
        missing = why_unprepared(device, driver, None if config is None else config.config)
        if missing:
            yield result, missing
        elif has_share(result) and device_type not in IN_SHARES:
            yield result, NO_SHARE
        elif result.admin_access and device_type in IN_SHARES:
            yield result, NO_ADMIN_SHARE
        elif result.admin_access and device_type in WITHOUT_ADMIN_ACCESS:
            yield result, NO_ADMIN


def why_unprepared(device: Device, driver: str, config: Config | None) -> str:
    """Return why the plugin refuses a device itself, empty where it does not."""
    lacks = {key for key in _CAPABLE if device.attributes.get(qualified(key, driver)) is False}
    match type_of(device, driver):
        case "nic":
            if isinstance(config, NicConfig):
                return NIC_WITHOUT_INTERFACE if "netdevCapable" in lacks else ""
            return NIC_WITHOUT_RDMA if "rdmaCapable" in lacks else ""
        case "vf":
            mode = config.mode if isinstance(config, VfConfig) else None
            key, missing = _MODES[mode or VfMode.RDMA]
            return missing if key in lacks else ""
        case _:
            return ""


def type_of(device: Device, driver: str) -> str:
    """Return a device's ``type``, empty where it publishes none."""
    found = device.attributes.get(qualified(TYPE, driver))
    return found if isinstance(found, str) else ""


def _devices(results: Sequence[AllocatedDevice], driver: str, pool: Pool) -> list[DeviceOfRequest]:
    """Return the devices of results that the pool has, in order."""
    mine = [one for one in results if one.device.pool == pool.id.name]
    names = {one.device.device for one in mine}
    known = {device.name: device for device in pool.devices if device.name in names}
    return [
        DeviceOfRequest(one.request, device, type_of(device, driver), one.admin_access)
        for one in mine
        if (device := known.get(one.device.device)) is not None
    ]
