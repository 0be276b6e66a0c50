"""Everything that is wrong with the configuration of one claim, in the order of prepare.

The plugin refuses the first of these; ``tangram`` prints all of them, with the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scheduler_core.frontends.configuration.decode import decode_config
from scheduler_core.frontends.configuration.device_rules import (
    ConfiguredDevice,
    beyond_device,
    limits_of_others,
    taken_twice,
)
from scheduler_core.frontends.configuration.errors import InvalidConfig, requests_text
from scheduler_core.frontends.configuration.merge import GivenConfig, counting
from scheduler_core.frontends.configuration.preparable import NO_SHARING, preparable
from scheduler_core.frontends.configuration.values import CONFIG_OF, types_of
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, OpaqueConfig
from scheduler_core.model.device import Device
from scheduler_core.model.names import qualified
from scheduler_core.model.pool import Pool

TYPE: Final = "type"


@dataclass(frozen=True, slots=True)
class DeviceOfRequest:
    """A device that a request has or may get, with its ``type``, as far as they are known."""

    request: str
    device: Device
    type: str


@dataclass(frozen=True, slots=True)
class ReadConfigs:
    """The configurations of a list that are for one driver. Shape: ``wrong`` by their index in the list."""

    given: tuple[GivenConfig, ...]
    wrong: Mapping[int, InvalidConfig]


def read_configs(configs: Sequence[OpaqueConfig], driver: str) -> ReadConfigs:
    """Read the configurations for a driver; those of other drivers are skipped."""
    given: list[GivenConfig] = []
    wrong: dict[int, InvalidConfig] = {}
    for index, one in enumerate(configs):
        if one.driver != driver:
            continue
        try:
            config = decode_config(one.parameters, requests_text(one.requests, from_class=one.from_class))
        except InvalidConfig as error:
            wrong[index] = error
        else:
            given.append(
                GivenConfig(config=config, requests=one.requests, from_class=one.from_class, index=index)
            )
    return ReadConfigs(tuple(given), wrong)


def config_problems(claim: AllocatedClaim, driver: str, pool: Pool) -> Iterator[InvalidConfig]:
    """Yield what is wrong with the configuration of an allocated claim.

    Shape: only configurations for ``driver`` are read, and only devices of ``pool`` compared with them.
    """
    read = read_configs(claim.configs, driver)
    yield from read.wrong.values()
    if read.given:
        yield from device_problems(read.given, _devices(claim, driver, pool), driver)


def device_problems(
    given: Sequence[GivenConfig], devices: Sequence[DeviceOfRequest], driver: str
) -> Iterator[InvalidConfig]:
    """Yield what does not fit the devices, or cannot be prepared for them."""
    for one in devices:
        yield from mismatches(given, one.request, one.type)
    configured = _configured(given, devices, driver)
    for device in configured:
        yield from beyond_device(device)
    yield from limits_of_others(configured)
    yield from taken_twice(configured)
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


def unprepared_device(result: AllocatedDevice, device: Device) -> str | None:
    """Return why the plugin refuses a device whatever its configuration, None if it does not."""
    if result.admin_access or result.share_id is not None:
        return NO_SHARING
    missing = preparable(None, type_of(device, result.device.driver))
    return None if missing is None else missing.reason


def type_of(device: Device, driver: str) -> str:
    """Return a device's ``type``, empty where it publishes none."""
    found = device.attributes.get(qualified(TYPE, driver))
    return found if isinstance(found, str) else ""


def _devices(claim: AllocatedClaim, driver: str, pool: Pool) -> list[DeviceOfRequest]:
    """Return the devices of a claim that the pool has, in the order of the results."""
    known = {device.name: device for device in pool.devices}
    found = (
        (one.request, known.get(one.device.device))
        for one in claim.results
        if one.device.driver == driver and one.device.pool == pool.id.name
    )
    return [
        DeviceOfRequest(request, device, type_of(device, driver))
        for request, device in found
        if device is not None
    ]
