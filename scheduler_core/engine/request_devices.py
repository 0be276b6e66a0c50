"""The devices that each request of some claims could get on a node, and which of them are free now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.search.search_space import SearchSpace
from scheduler_core.model.device import AttributeValue, DeviceId, QualifiedName
from scheduler_core.model.pool import Pool
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.search.candidates import Candidate
from scheduler_core.search.depth_first import Problem
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.bits import positions

_Read = Callable[[Sequence[QualifiedName]], Mapping[QualifiedName, AttributeValue]]


@dataclass(frozen=True, slots=True, eq=False)
class RequestDevice:
    """A device that a request matches.

    Shape: ``is_free`` where the request could get it now, constraints aside; ``fails`` where a selector fails
           on it; ``why`` says why it is not free, empty where tables answered: they do not know.
    """

    id: DeviceId
    is_free: bool
    fails: bool
    read: _Read
    why: str = ""

    def value(self, name: QualifiedName) -> AttributeValue | None:
        """Return one attribute, None where the device does not have it."""
        return self.read((name,)).get(name)


@dataclass(frozen=True, slots=True, eq=False)
class RequestDevices:
    """The devices that a request matches, in listed order.

    Shape: ``claim`` is the number of the claim; ``count`` None for all devices; ``is_plain`` where the
           request has one alternative without admin access; ``devices`` are those of its first alternative.
    """

    claim: int
    name: str
    count: int | None
    is_plain: bool
    devices: tuple[RequestDevice, ...]


def from_tables(space: SearchSpace, node_view: NodeView, free: Sequence[int]) -> tuple[RequestDevices, ...]:
    """Return the devices of each request of a search space. Shape: ``free`` the free devices of each."""
    found = []
    for options, available in zip(space.requests, free, strict=True):
        first, alternative = options[0], options[0].alternative
        is_plain = len(options) == 1 and not alternative.admin_access
        devices = (
            _compiled(space, node_view, device, free=available, failed=first.failed)
            for device in positions(first.candidates)
        )
        found.append(
            RequestDevices(alternative.claim, alternative.name, first.count, is_plain, tuple(devices))
        )
    return tuple(found)


def _compiled(
    space: SearchSpace, node_view: NodeView, device: int, *, free: int, failed: int
) -> RequestDevice:
    number, position = space.devices[device]
    component = node_view.components[number]
    name = DeviceId(component.pool.driver, component.pool.name, component.layout.names[position])
    is_free, fails = bool(free >> device & 1), bool(failed >> device & 1)
    return RequestDevice(name, is_free, fails, partial(component.some_attributes, position))


def from_problem(problem: Problem, pools: Sequence[Pool]) -> tuple[RequestDevices, ...]:
    """Return the devices of each request of a problem, with reasons."""
    found = []
    for request in problem.requests:
        first = request.alternatives[0]
        is_plain = len(request.alternatives) == 1 and not first.admin_access
        devices = tuple(_published(problem, pools, first.candidates))
        found.append(RequestDevices(request.claim, first.name, first.count, is_plain, devices))
    return tuple(found)


def _published(
    problem: Problem, pools: Sequence[Pool], candidates: Sequence[Candidate]
) -> Iterator[RequestDevice]:
    for one in candidates:
        device, pool = one.offer.device, one.offer.pool
        obstacle = one.obstacle or problem.ledgers[pool].obstacle(device.name, one.share)
        fails = one.error is not None
        yield RequestDevice(
            pools[pool].id_of(device),
            is_free=obstacle is None and not fails,
            fails=fails,
            read=partial(_at_hand, device.attributes),
            why="" if obstacle is None else obstacle_text(obstacle),
        )


def _at_hand(
    attributes: Mapping[QualifiedName, AttributeValue], _: Sequence[QualifiedName]
) -> Mapping[QualifiedName, AttributeValue]:
    return attributes
