"""What the containers of a pod ask of device plugins, as requests of one claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.annotations.container_sums import running_together
from scheduler_core.frontends.migration.resources import (
    SHARE,
    amount_of,
    asked_by,
    is_of_devices,
    is_of_share,
    why_not,
)
from scheduler_core.frontends.migration.values import Asked, Notes, entries, free_name, mapping

_LISTS: Final = ("limits", "requests")


@dataclass(slots=True)
class Requested:
    """A request of the claim. Units: ``count`` devices."""

    name: str
    asked: Asked
    count: int


@dataclass(slots=True)
class Container:
    """One container.

    Shape: ``fields`` as they were read; ``amounts`` of devices by resource; ``requests`` names those that it
           uses.
    """

    path: str
    fields: Any
    is_init: bool
    amounts: Mapping[str, int]
    requests: list[str] = field(default_factory=list)

    @property
    def asks_for_devices(self) -> bool:
        """Whether it asks for devices, by whatever product's names."""
        resources = mapping(mapping(self.fields).get("resources"))
        names = {str(name) for key in _LISTS for name in mapping(resources.get(key))}
        return bool(self.amounts) or any(map(is_of_devices, names))


def containers_of(
    spec: Mapping[str, Any], path: str, given: Mapping[str, Asked], notes: Notes
) -> list[Container]:
    """Return the containers of a pod with what they ask for."""
    found = []
    for key in ("initContainers", "containers"):
        for index, fields in entries(spec.get(key)):
            place = f"{path}.{key}[{index}]"
            amounts = dict(_amounts(mapping(fields), place, given, notes))
            found.append(Container(place, fields, key == "initContainers", amounts))
    return found


def _amounts(
    container: Mapping[str, Any], path: str, given: Mapping[str, Asked], notes: Notes
) -> Iterator[tuple[str, int]]:
    resources = mapping(container.get("resources"))
    limits, requests = (mapping(resources.get(key)) for key in _LISTS)
    shares = [name for name in dict.fromkeys((*limits, *requests)) if is_of_share(str(name))]
    for name in shares:
        notes.add(f"{path}.resources", f"{name}: {SHARE}")
    if shares:  # what else it asks for, such as nvidia.com/gpu, is a number of shares
        return
    for name in dict.fromkeys((*limits, *requests)):
        said = [one[name] for one in (limits, requests) if name in one]
        amounts = {amount_of(one) for one in said}
        if asked_by(str(name), given) is None:
            reason = why_not(str(name))
            if reason is not None and amounts != {0}:
                notes.add(f"{path}.resources", f"{name}: {reason}")
        elif len(amounts) > 1 or None in amounts:
            wrong = " and ".join(map(str, said))
            notes.add(
                f"{path}.resources", f"{name}: must be a whole number, equal in limits and requests: {wrong}"
            )
        else:
            amount = amounts.pop() or 0
            if amount:
                yield str(name), amount


def requested(containers: Sequence[Container], given: Mapping[str, Asked]) -> list[Requested]:
    """Return the requests of one claim for all containers, and say in each container which it uses.

    A container that ends uses the devices of those that start after it, as a device plugin has it; if it asks
    for more than they have together, there is a request for the rest.
    """
    found: list[Requested] = []
    of_resource: dict[str, list[Requested]] = {}

    def add(resource: str, asked: Asked, count: int) -> Requested:
        one = Requested(free_name(asked.name, {known.name for known in found}), asked, count)
        found.append(one)
        of_resource.setdefault(resource, []).append(one)
        return one

    init, main = ([one for one in containers if one.is_init is is_init] for is_init in (True, False))
    staying, *others = running_together(init, main, lambda one: mapping(one.fields))
    for container in sorted(staying, key=containers.index):
        for resource, amount in container.amounts.items():
            if (asked := asked_by(resource, given)) is not None:
                container.requests.append(add(resource, asked, amount).name)
    for *sidecars, container in others:
        busy = {name for sidecar in sidecars for name in sidecar.requests}
        for resource, amount in container.amounts.items():
            asked = asked_by(resource, given)
            if asked is None:
                continue
            free = [one for one in of_resource.get(resource, ()) if one.name not in busy]
            missing = amount - sum(one.count for one in free)
            if missing > 0:
                free.append(add(resource, asked, missing))
            container.requests += _enough(free, amount)
    return found


def _enough(requests: Sequence[Requested], amount: int) -> Iterator[str]:
    """Yield the names of the first requests that have an amount together."""
    for one in requests:
        if amount <= 0:
            return
        yield one.name
        amount -= one.count


def with_claim(container: Container, claim: str) -> Any:
    """Return a container that uses requests of a claim in the place of a device plugin's resources."""
    if not container.requests:
        return container.fields
    resources = dict(mapping(container.fields.get("resources")))
    for key in _LISTS:
        before = mapping(resources.get(key))
        kept = {name: value for name, value in before.items() if name not in container.amounts}
        if kept:
            resources[key] = kept
        elif before:
            del resources[key]
    used = [{"name": claim, "request": name} for name in container.requests]
    resources["claims"] = [*(one for _, one in entries(resources.get("claims"))), *used]
    return {**container.fields, "resources": resources}
