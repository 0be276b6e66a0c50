"""First fit: the first devices of one node that serve all requests of a pod.

Takes requests and free amounts. Returns uses, or None where the node cannot serve all requests. A request
takes the first device with enough for all of it; it is split over several devices where none has enough. It
leaves a device to a later request of the same pod that has no other device.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.classes.model import Use


@dataclass(frozen=True, slots=True)
class ClassRequest:
    """A request for a class. Shape: ``devices`` that the class selects on the node, in listed order."""

    class_name: str
    quantity: int
    devices: tuple[str, ...]


def first_fit(wants: Sequence[ClassRequest], free: Mapping[str, int]) -> tuple[Use, ...] | None:
    """Return the uses of each request, in the order of requests and devices."""
    if not fits(wants, free):
        return None
    left = dict(free)
    uses: list[Use] = []
    for number, want in enumerate(wants):
        later = wants[number + 1 :]
        for device, quantity in _chosen(want, later, left):
            left[device] -= quantity
            uses.append(Use(want.class_name, device, quantity))
    return tuple(uses)


def fits(wants: Sequence[ClassRequest], free: Mapping[str, int]) -> bool:
    """Whether all requests can be served together, each from one or more of its devices."""
    left = dict(free)
    given: dict[tuple[int, str], int] = {}
    return all(_serve(number, wants, left, given) for number in range(len(wants)))


def _chosen(
    want: ClassRequest, later: Sequence[ClassRequest], left: Mapping[str, int]
) -> list[tuple[str, int]]:
    for device in want.devices:
        if left[device] >= want.quantity and fits(later, _without(left, device, want.quantity)):
            return [(device, want.quantity)]
    return _split(want, later, dict(left))


def _split(want: ClassRequest, later: Sequence[ClassRequest], left: dict[str, int]) -> list[tuple[str, int]]:
    """Take as much as possible of each device in turn, so that the rest can still be served."""
    missing, chosen = want.quantity, []
    for device in want.devices:
        most = _most(ClassRequest(want.class_name, missing, want.devices), device, later, left)
        if most:
            chosen.append((device, most))
            left[device] -= most
            missing -= most
    return chosen


def _most(want: ClassRequest, device: str, later: Sequence[ClassRequest], left: Mapping[str, int]) -> int:
    """Return the largest amount of a device that can be taken.

    It is found by bisection: if an amount can be taken, so can every smaller one.
    """
    low, high = 0, min(want.quantity, left[device])
    while low < high:
        middle = (low + high + 1) // 2
        rest = ClassRequest(want.class_name, want.quantity - middle, want.devices)
        if fits([rest, *later], _without(left, device, middle)):
            low = middle
        else:
            high = middle - 1
    return low


def _without(left: Mapping[str, int], device: str, quantity: int) -> dict[str, int]:
    return {**left, device: left[device] - quantity}


def _serve(
    number: int, wants: Sequence[ClassRequest], left: dict[str, int], given: dict[tuple[int, str], int]
) -> bool:
    """Serve one more request. Requests served before may move to other devices of their own."""
    missing = wants[number].quantity
    while missing:
        path = _path(number, wants, left, given)
        if path is None:
            return False
        moved = [given[request, device] for device, request in path[:-1]]
        amount = min(missing, left[path[-1][0]], *moved)
        taker = number
        for device, request in path:
            given[taker, device] = given.get((taker, device), 0) + amount
            if request >= 0:
                given[request, device] -= amount
            taker = request
        left[path[-1][0]] -= amount
        missing -= amount
    return True


def _path(
    number: int,
    wants: Sequence[ClassRequest],
    left: Mapping[str, int],
    given: Mapping[tuple[int, str], int],
) -> list[tuple[str, int]] | None:
    """Return the shortest chain of moves to a free amount.

    Shape: (device, request that gives the device up); -1 for the last device, which is free.
    """
    chains: deque[tuple[int, list[tuple[str, int]]]] = deque([(number, [])])
    seen: set[str] = set()
    while chains:
        request, chain = chains.popleft()
        for device in wants[request].devices:
            if device in seen:
                continue
            seen.add(device)
            if left[device]:
                return [*chain, (device, -1)]
            holders = (other for other in range(number + 1) if given.get((other, device)))
            chains.extend((other, [*chain, (device, other)]) for other in holders if other != request)
    return None
