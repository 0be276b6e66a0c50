"""Judges the configuration of a claim that is not allocated, by what is known of its requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from scheduler_core.base.errors import message
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.configuration.check import (
    mismatches,
    read_configs,
    sharing_for_admin,
    unprepared_config,
    without_device,
)
from scheduler_core.frontends.configuration.device_rules import (
    ConfiguredDevice,
    DaemonUse,
    beyond_device,
    needs_daemon,
    several_daemons,
    taken_twice,
)
from scheduler_core.frontends.configuration.errors import InvalidConfig, requests_text
from scheduler_core.frontends.configuration.merge import GivenConfig, counting
from scheduler_core.frontends.configuration.preparable import UNDER_MPS
from scheduler_core.frontends.configuration.values import API_VERSION
from scheduler_core.frontends.validation.documents import ReadClaim
from scheduler_core.frontends.validation.finding import Finding, Reporter
from scheduler_core.frontends.validation.known_devices import KnownDevices
from scheduler_core.frontends.validation.requests import JudgedRequest
from scheduler_core.model.claim import OpaqueConfig
from scheduler_core.model.device import Device, DeviceName

_GROUP: Final = API_VERSION.partition("/")[0]


def config_findings(
    configs: Sequence[OpaqueConfig], path: str, driver: str, report: Reporter, names: Sequence[str] = ()
) -> Iterator[Finding]:
    """Yield what is wrong with a list of configurations by itself.

    Shape: ``path`` is that of the list; ``names`` are all requests of its claim.
    """
    for index, error in read_configs(configs, driver, names).wrong.items():
        yield report.error(f"{path}[{index}].opaque.parameters{_below_kind(error.field)}", str(error))
    for index, config in enumerate(configs):
        version = config.parameters.get("apiVersion")
        if config.driver != driver and str(version).partition("/")[0] == _GROUP:
            subject = requests_text(config.requests, from_class=config.from_class)
            rule = f"is not the driver that is asked about, {driver}: nobody may read this configuration"
            yield report.warning(
                f"{path}[{index}].opaque.driver", message(subject, "driver", config.driver, rule)
            )


@dataclass(frozen=True, slots=True)
class ClaimConfigs:
    """The configurations of a claim and of the classes that it names, and its requests."""

    read: ReadClaim
    requests: Sequence[JudgedRequest]
    known: KnownDevices

    def findings(self) -> Iterator[Finding]:
        """Yield everything that is wrong, each sentence once."""
        report, path = Reporter(self.read.document), f"{self.read.devices}.config"
        names = [one.option.name for one in self.requests]
        yield from config_findings(self.read.claim.configs, path, self.known.driver, report, names)
        yield from self._unknown_requests(report, path)
        given = self._given()
        told: set[str] = set()
        for place, problem in self._problems(given):
            if str(problem) not in told:
                told.add(str(problem))
                yield report.error(self._in_config(problem, given) or place, str(problem))

    def daemon_uses(self) -> Iterator[DaemonUse]:
        """Yield the devices under MPS that the requests will have, whichever alternative is chosen.

        Of a request for several devices there are two.
        """
        given, driver = self._given(), self.known.driver
        options: dict[str, list[JudgedRequest]] = {}
        for one in self.requests:
            options.setdefault(one.option.name.partition("/")[0], []).append(one)
        for request, alternatives in options.items():
            configs = [counting(given, one.option.name, one.type) for one in alternatives]
            pairs = zip(configs, alternatives, strict=True)
            if not all(needs_daemon(config.config if config else None, one.type) for config, one in pairs):
                continue
            is_share = any(one.type == UNDER_MPS for one in alternatives)
            for number in range(min(2, *(one.option.count or 1 for one in alternatives))):
                yield DaemonUse(
                    claim=str(self.read.claim.ref),
                    request=request,
                    daemon=None if is_share else (driver, request, number),
                    config=configs[0],
                )

    def _given(self) -> tuple[GivenConfig, ...]:
        """Return what the classes and the claim give, in the order in which it counts."""
        names = [one.option.name for one in self.requests]
        return (
            *self._of_classes(),
            *read_configs(self.read.claim.configs, self.known.driver, names).given,
        )

    def _unknown_requests(self, report: Reporter, path: str) -> Iterator[Finding]:
        names = {
            name for one in self.requests for name in (one.option.name, one.option.name.partition("/")[0])
        }
        for index, config in enumerate(self.read.claim.configs):
            for name in config.requests:
                if name not in names:
                    text = message(requests_text(config.requests), "", name, "names no request of the claim")
                    yield report.error(f"{path}[{index}].requests", text)

    def _of_classes(self) -> Iterator[GivenConfig]:
        """Yield the configurations of classes as an allocation lists them, each with all its requests."""
        by_class: dict[str, list[JudgedRequest]] = {}
        for one in self.requests:
            by_class.setdefault(one.option.class_name, []).append(one)
        for requests in by_class.values():
            found = requests[0].device_class
            is_for_all = len(requests) == len(self.requests)
            names = () if is_for_all else tuple(one.option.name for one in requests)
            configs = found.configs if found is not None else ()
            from_class = [replace(one, requests=names, from_class=True) for one in configs]
            yield from read_configs(from_class, self.known.driver).given

    def _problems(self, given: Sequence[GivenConfig]) -> Iterator[tuple[str, InvalidConfig]]:
        """Yield what does not fit the requests, each with the path of the request."""
        for one in self.requests:
            name = one.option.name
            found = [*mismatches(given, name, one.type), *self._beyond(one, given)]
            if one.option.admin_access:
                found += sharing_for_admin(given, name, one.type)
            missing = unprepared_config(given, name, one.type)
            yield from (
                (one.path, problem) for problem in (*found, *([missing] if missing is not None else ()))
            )
        types = {one.type for one in self.requests}
        unused = without_device(given, types, [one.option.name for one in self.requests])
        several = [*self._several(given)]
        for problem in (*taken_twice(several), *several_daemons(self.daemon_uses()), *unused):
            yield self.read.devices, problem

    def _beyond(self, one: JudgedRequest, given: Sequence[GivenConfig]) -> list[InvalidConfig]:
        """Return what every published device of a request is too small for."""
        found: list[InvalidConfig] = []
        for device in self.known.matching(one.selectors) if one.type else ():
            found = (
                [*beyond_device(configured)] if (configured := self._configured(one, given, device)) else []
            )
            if not found:
                return []
        return found

    def _several(self, given: Sequence[GivenConfig]) -> Iterator[ConfiguredDevice]:
        """Yield a device for each request, two where it asks for more; one alternative of each."""
        seen: set[str] = set()
        for one in self.requests:
            name = one.option.name.partition("/")[0]
            configured = self._configured(one, given, Device(name=DeviceName(name)))
            if configured is not None and name not in seen:
                seen.add(name)
                yield configured
                if one.option.count is not None and one.option.count > 1:
                    yield replace(configured, index=1)

    def _configured(
        self, one: JudgedRequest, given: Sequence[GivenConfig], device: Device
    ) -> ConfiguredDevice | None:
        found = counting(given, one.option.name, one.type)
        if found is None:
            return None
        return ConfiguredDevice(
            device=device,
            driver=self.known.driver,
            request=one.option.name,
            config=found.config,
            subject=found.subject,
        )

    def _in_config(self, problem: InvalidConfig, given: Sequence[GivenConfig]) -> str:
        """Return the path of a problem in the claim's configuration that has it, empty where none has."""
        kind = problem.field.partition(".")[0]
        for one in reversed(given):
            is_its = not one.from_class and one.subject == problem.subject
            if is_its and type(one.config).__name__ == kind:
                path = f"{self.read.devices}.config[{one.index}].opaque.parameters"
                return f"{path}{_below_kind(problem.field)}"
        return ""


def _below_kind(field: str) -> str:
    """Return the part of a field below the kind that it begins with, as a path to append."""
    kind, _, rest = field.partition(".")
    if not kind[:1].isupper():
        return f".{field}" if field and field != "parameters" else ""
    return f".{rest}" if rest else ""
