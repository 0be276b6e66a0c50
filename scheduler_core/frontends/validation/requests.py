"""The requests of a claim with what is known of their devices: class, selectors, types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from typing import Any

from scheduler_core.base.errors import SelectorError, message, shown
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.configuration.errors import requests_text
from scheduler_core.frontends.validation.documents import ReadClaim
from scheduler_core.frontends.validation.finding import Finding, Reporter
from scheduler_core.frontends.validation.known_devices import KnownDevices
from scheduler_core.model.claim import DeviceClass, DeviceRequest
from scheduler_core.rules.selectors import Selector, compile_derived, compile_selector


@dataclass(frozen=True, slots=True)
class Classes:
    """The DeviceClasses that claims may name. Shape: ``are_given`` where the documents have some."""

    by_name: Mapping[str, DeviceClass]
    are_given: bool


@dataclass(slots=True)
class JudgedRequest:
    """A request, or an alternative of one.

    Shape: ``path`` in the document; ``types`` of its devices, None where they are not known; ``findings`` of
           its class and its selectors.
    """

    option: DeviceRequest
    path: str
    device_class: DeviceClass | None
    selectors: list[Selector] = field(default_factory=list)
    types: frozenset[str] | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def type(self) -> str:
        """Return the type of its devices, empty where it is not known or there are several."""
        return next(iter(self.types)) if self.types is not None and len(self.types) == 1 else ""


def judged_requests(read: ReadClaim, classes: Classes, known: KnownDevices) -> list[JudgedRequest]:
    """Return the requests and alternatives of a claim in listed order."""
    report = Reporter(read.document)
    return [_judged(option, path, classes, known, report) for option, path in _options(read)]


def selector_findings(
    texts: Sequence[str], path: str, subject: str, known: KnownDevices, report: Reporter
) -> tuple[list[Selector], list[Finding]]:
    """Compile the selectors of a class or a request. Shape: those that compile, and what is wrong."""
    compiled, findings = list[Selector](), list[Finding]()
    for index, text in enumerate(texts):
        place = f"{path}.selectors[{index}].cel.expression"
        try:
            selector = compile_selector(text)
        except SelectorError as error:
            findings.append(report.error(place, f"{subject}: {error}"))
        else:
            compiled.append(selector)
            for reason in selector.failing_calls():
                findings.append(report.error(place, f"{subject}: selector {shown(text)}: {reason}"))
            unknown = (*known.unknown_keys(selector), *known.absent_values(selector))
            findings += [report.warning(place, f"{subject}: selector: {sentence}") for sentence in unknown]
    return compiled, findings


def _judged(
    option: DeviceRequest, path: str, classes: Classes, known: KnownDevices, report: Reporter
) -> JudgedRequest:
    found = JudgedRequest(option, path, classes.by_name.get(option.class_name))
    if found.device_class is None:
        found.findings.append(_unknown_class(option, path, classes, report))
    subject = requests_text([option.name])
    own, findings = selector_findings(option.selectors, path, subject, known, report)
    found.findings += findings
    for index, (_, text) in enumerate(option.derived):
        try:
            compile_derived(text)
        except SelectorError as error:
            place = f"{path}.derivedAttributes[{index}].expression"
            found.findings.append(report.error(place, f"{subject}: {error}"))
    of_class = found.device_class.selectors if found.device_class is not None else ()
    found.selectors = [*_compiling(of_class), *own]
    if len(found.selectors) == len(of_class) + len(option.selectors):
        found.types = known.types(found.selectors)
    return found


def _compiling(texts: Sequence[str]) -> Iterator[Selector]:
    """Yield the selectors of a class. Those that do not compile are findings of the class."""
    for text in texts:
        try:
            yield compile_selector(text)
        except SelectorError:
            continue


def _unknown_class(option: DeviceRequest, path: str, classes: Classes, report: Reporter) -> Finding:
    place = f"{path}.deviceClassName"
    near = get_close_matches(option.class_name, list(classes.by_name), n=3)
    similar = f"; similar: {', '.join(near)}" if near else ""
    if classes.are_given:
        rule = f"names no DeviceClass of these documents{similar}"
        return report.error(
            place, message(requests_text([option.name]), "deviceClassName", option.class_name, rule)
        )
    rule = f"is not known: these documents have no DeviceClass{similar}"
    return report.warning(
        place, message(requests_text([option.name]), "deviceClassName", option.class_name, rule)
    )


def _options(read: ReadClaim) -> Iterator[tuple[DeviceRequest, str]]:
    """Yield every request, or each of its alternatives, with its path in the document."""
    devices: Any = read.document.content
    for key in read.devices.split("."):
        devices = devices.get(key) or {}
    for index, (request, raw) in enumerate(
        zip(read.claim.requests, devices.get("requests") or (), strict=True)
    ):
        path = f"{read.devices}.requests[{index}]"
        for place, option in enumerate(request.alternatives):
            if raw.get("firstAvailable") is not None:
                yield option, f"{path}.firstAvailable[{place}]"
            else:
                yield option, f"{path}.exactly" if raw.get("exactly") is not None else path
