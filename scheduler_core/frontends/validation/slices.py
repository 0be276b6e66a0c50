"""Slices: entries that break a rule, and names that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import composite
from scheduler_core.codec.documents import Document
from scheduler_core.codec.v1 import V1Slice, decode_slice
from scheduler_core.frontends.multi_node import pool_object
from scheduler_core.frontends.multi_node.pool_object import PoolObject, read_pool
from scheduler_core.frontends.objects import Objects, decode_object, with_multi_node_pools
from scheduler_core.frontends.validation.finding import Finding, Reporter
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.device import DeviceName
from scheduler_core.model.pool import Pool

SLICES: Final = ("ResourceSlice", composite.KIND, pool_object.KIND)


@dataclass(slots=True)
class Slices:
    """Slices with their documents, in the order of reading."""

    composite: list[tuple[CompositeSlice, Document]] = field(default_factory=list)
    v1: list[tuple[V1Slice, Document]] = field(default_factory=list)
    multi_node: list[tuple[PoolObject, Document]] = field(default_factory=list)
    objects: Objects = field(default_factory=Objects)

    def read(self, document: Document, driver: str) -> None:
        """Add a slice, or a MultiNodePool. Raises: CoreError where it cannot be read as a whole."""
        if document.content.get("kind") == pool_object.KIND:
            self.multi_node.append((read_pool(document.content, driver), document))
            return
        decoded = decode_object(document)
        if isinstance(decoded, CompositeSlice):
            self.composite.append((decoded, document))
        elif isinstance(decoded, V1Slice):
            self.v1.append((decoded, document))

    def finish(self, allocated: tuple[AllocatedClaim, ...]) -> tuple[Document, ...]:
        """Form the pools of all that was read; return the slices that MultiNodePools become.

        These are judged as others are, at the places of their objects.
        """
        read = Objects(
            composite_slices=tuple(one for one, _ in self.composite),
            v1_slices=tuple(one for one, _ in self.v1),
            allocated=allocated,
        )
        self.objects = with_multi_node_pools(read, [one for one, _ in self.multi_node], self.v1)
        written = {id(document.content) for _, document in self.v1}
        published = tuple(
            Document(document.place, slice_)
            for tried, (_, document) in zip(self.objects.multi_node, self.multi_node, strict=True)
            for slice_ in tried.slices
            if id(slice_) not in written
        )
        self.v1 += [(decode_slice(one.content), one) for one in published]
        return published

    def pools(self) -> tuple[Pool, ...]:
        """Return the pools that the slices form."""
        return self.objects.pools()

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the entries of each slice, then with those of each pool."""
        reported: set[str] = set()
        for composite_slice, document in self.composite:
            problems = (
                composite_slice.problem,
                *composite_slice.broken_mixins.values(),
                *composite_slice.broken_devices.values(),
            )
            for problem in filter(None, problems):
                reported.add(problem)
                yield _entry(document, problem)
        for v1_slice, document in self.v1:
            for problem in v1_slice.broken.values():
                reported.add(problem)
                yield _entry(document, problem)
            yield from _server_rules(v1_slice, document)
        for tried, (_, document) in zip(self.objects.multi_node, self.multi_node, strict=True):
            if tried.problem is not None:
                report = Reporter(document)
                say = report.warning if tried.is_waiting else report.error
                yield say("spec", tried.problem.removeprefix(f"{report.subject}: "))
        for pool in self.pools():
            if pool.id.name not in {
                one.object.pool_name for one in self.objects.multi_node if not one.slices
            }:
                yield from self._of_pool(pool, reported)

    def _of_pool(self, pool: Pool, reported: set[str]) -> Iterator[Finding]:
        slices: list[tuple[CompositeSlice | V1Slice, Document]] = [*self.composite, *self.v1]
        documents = [
            document for one, document in slices if (one.pool, one.generation) == (pool.id, pool.generation)
        ]
        if not pool.is_complete:  # a name that leads nowhere may be in a slice that is not here
            others = f"the other slices of generation {pool.generation} are not here"
            text = f"pool {pool.id} is incomplete: {others}"
            yield Reporter(documents[-1]).warning("spec.pool.resourceSliceCount", text)
            return
        if pool.problem is not None and pool.problem not in reported:
            yield Reporter(documents[-1]).error("spec", f"pool {pool.id} cannot be used: {pool.problem}")
        for name, rejected in pool.rejected.items():
            if rejected.reason not in reported:
                document, path = _place(name, documents)
                yield Reporter(document).error(path, f"device {name}: {rejected.reason}")
        for device in pool.devices:
            for draw in device.draws:
                known = pool.sources.get(draw.source, {})
                for key, amount in draw.amounts.items():
                    if key in known and amount > known[key]:
                        document, path = _place(device.name, documents)
                        text = f"draws {amount} of {key} from {draw.source}, which has {known[key]}"
                        yield Reporter(document).warning(
                            path, f"device {device.name}: {text}: it can never be allocated"
                        )


def _entry(document: Document, problem: str) -> Finding:
    """Return the finding of an entry; the sentence of a codec begins with the object and the field."""
    report = Reporter(document)
    text = problem.removeprefix(f"{report.subject}: ")
    path = text.partition(": ")[0]
    return report.error(path if path.startswith("spec.") and " " not in path else "", text)


def _server_rules(one: V1Slice, document: Document) -> Iterator[Finding]:
    """Yield what an API server refuses in a v1 slice beyond its schema, and the codec reads all the same.

    Source: pkg/apis/resource/validation of Kubernetes 1.37.2.
    """
    report, spec = Reporter(document), document.content["spec"]
    if spec.get("devices") is not None and spec.get("sharedCounters") is not None:
        text = "spec.sharedCounters: Kubernetes 1.35 and later refuse counters and devices in one slice"
        yield report.warning("spec.sharedCounters", text)
    names: set[str] = set()
    for index, listed in enumerate(spec.get("devices") or ()):
        path, body = f"spec.devices[{index}]", listed.get("basic") or listed
        if (name := str(listed.get("name"))) in names:
            yield report.error(f"{path}.name", f"{path}.name: {name!r}: names must be unique")
        names.add(name)
        if name in one.broken:
            continue
        sets = [draw.get("counterSet") for draw in body.get("consumesCounters") or ()]
        if len(set(sets)) < len(sets):
            text = "a counter set is listed twice"
            yield report.error(f"{path}.consumesCounters", f"{path}.consumesCounters: {text}")
        ways = [body.get(key) or () for key in ("bindingConditions", "bindingFailureConditions")]
        if any(ways) and not all(ways):
            text = "bindingConditions and bindingFailureConditions must stand together"
            yield report.error(path, f"{path}: {text}")
        for key, rule in _capacity_rules(body):
            place = f"{path}.capacity.{key}.requestPolicy"
            yield report.error(place, f"{place}: {rule}")


def _capacity_rules(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the capacities of a device whose request policy breaks a rule, and the rule."""
    for key, entry in (body.get("capacity") or {}).items():
        policy = entry.get("requestPolicy") if isinstance(entry, Mapping) else None
        if not isinstance(policy, Mapping):
            continue
        if not body.get("allowMultipleAllocations"):
            yield key, "must be absent: the device does not have allowMultipleAllocations"
        elif rule := _policy_rule(entry, policy):
            yield key, rule


def _policy_rule(entry: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    """Return the rule that a request policy breaks, empty if none. Unreadable amounts break another rule."""
    span = policy.get("validRange") or {}
    given = {"value": entry.get("value"), "default": policy.get("default"), **span}
    given |= {f"validValues[{index}]": one for index, one in enumerate(policy.get("validValues") or ())}
    try:
        amounts = {key: Quantity.parse(str(one)) for key, one in given.items() if one is not None}
    except ValueError:
        return ""
    values = [amount for key, amount in amounts.items() if key.startswith("validValues")]
    value, default, least, most = (amounts.get(key) for key in ("value", "default", "min", "max"))
    if default is None:
        return "default is required with validValues and validRange" if values or span else ""
    if values and (values != sorted(values) or default not in values):
        return "validValues must ascend and have the default"
    limits = [one for one in (value, most) if one is not None]
    if span and ((least is not None and least > default) or any(default > one for one in limits)):
        return "default must be from min to max, and not above value"
    if most is not None and value is not None and most > value:
        return "max must not be above value"
    if any(value is not None and one > value for one in values):
        return "validValues must not be above value"
    step = amounts.get("step")
    if step is not None and step.nano > 0 and least is not None:
        ends = [one for one in (default, most) if one is not None]
        if any((one.nano - least.nano) % step.nano for one in ends):
            return "default and max must be min plus a multiple of step"
    return ""


def _place(name: DeviceName, documents: list[Document]) -> tuple[Document, str]:
    """Return the document that lists a device, and its path there."""
    for document in documents:
        listed: list[Mapping[str, Any]] = document.content["spec"].get("devices") or []
        for index, device in enumerate(listed):
            if device.get("name") == name:
                kind = next((f".{one}" for one in ("composite", "basic") if one in device), "")
                return document, f"spec.devices[{index}]{kind}"
    return documents[-1], "spec.devices"
