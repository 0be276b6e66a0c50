"""Amounts of CPU, memory, local storage and pods: what a pod needs, and what a node has.

Takes documents; returns vectors of integers. Source: core/v1 ResourceRequirements; KEP-753 (sidecars).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, Self

from scheduler_core.base.quantity import Quantity

_NANO: Final = 10**9
_MILLI: Final = 10**6


class Amounts(NamedTuple):
    """Amounts of what every node has. Units: CPU in thousandths, memory and storage in bytes."""

    cpu: int = 0
    memory: int = 0
    storage: int = 0
    pods: int = 0

    def plus(self, other: Amounts) -> Self:
        """Return the sum."""
        return type(self)(*[one + two for one, two in zip(self, other, strict=True)])

    def minus(self, other: Amounts) -> Self:
        """Return the difference, which may be below zero."""
        return type(self)(*[one - two for one, two in zip(self, other, strict=True)])

    def most(self, other: Amounts) -> Self:
        """Return the larger amount of each kind."""
        return type(self)(*[max(one, two) for one, two in zip(self, other, strict=True)])


NOTHING: Final = Amounts()
NAMES: Final = Amounts._fields
_KEYS: Final = ("cpu", "memory", "ephemeral-storage", "pods")


def read_amounts(listed: Mapping[str, Any] | None) -> Amounts:
    """Return the amounts of a resource list, 0 for what it does not name or what is no quantity."""
    if not listed:
        return NOTHING
    found = [_amount(str(listed[key])) if key in listed else 0 for key in _KEYS]
    return Amounts(
        cpu=-(-found[0] // _MILLI), memory=_whole(found[1]), storage=_whole(found[2]), pods=_whole(found[3])
    )


def pod_needs(spec: Mapping[str, Any]) -> Amounts:
    """Return what a pod needs of a node, as kube-scheduler counts it.

    Shape: containers and sidecars are added up; an init container counts where it needs more than they do,
           with the sidecars before it; requests of the whole pod replace that sum; ``pods`` is 1.
    """
    running = _sum(map(_requests, spec.get("containers") or ()))
    sidecars, starting = NOTHING, NOTHING
    for container in spec.get("initContainers") or ():
        mine = _requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = sidecars.plus(mine)
            mine = NOTHING
        starting = starting.most(mine.plus(sidecars))
    total = running.plus(sidecars).most(starting)
    whole = (spec.get("resources") or {}).get("requests") or {}
    named = [key in whole for key in _KEYS]
    wanted = read_amounts(whole)
    total = Amounts(*[one if has else two for has, one, two in zip(named, wanted, total, strict=True)])
    return total.plus(read_amounts(spec.get("overhead")))._replace(pods=1)


def _requests(container: Mapping[str, Any]) -> Amounts:
    """Return the requests of a container. The API server has set those that only limits name."""
    return read_amounts((container.get("resources") or {}).get("requests"))


def _sum(all_of_them: Iterable[Amounts]) -> Amounts:
    total = NOTHING
    for one in all_of_them:
        total = total.plus(one)
    return total


def _whole(nano: int) -> int:
    return -(-nano // _NANO)


@lru_cache(maxsize=4096)
def _amount(text: str) -> int:
    try:
        return Quantity.parse(text).nano
    except ValueError:
        return 0
