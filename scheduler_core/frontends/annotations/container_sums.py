"""Which containers of a pod run at once, and what they need then, as Kubernetes counts it.

All who count a pod ask here: pods by amounts, webhook, classes and ``migrate``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from scheduler_core.codec.fields import Fields

C = TypeVar("C")
ContainerAmounts = Callable[[Fields], Mapping[str, int]]
"""Returns what one container asks for, by name."""


def running_together(
    init: Iterable[C], main: Iterable[C], fields_of: Callable[[C], Mapping[str, Any]]
) -> Iterator[list[C]]:
    """Yield each set of containers that run at the same time, in the order of the pod's start.

    Sidecars are init containers that stay. An init container that ends is the last of its list, behind the
    sidecars that were started before it.
    """
    sidecars: list[C] = []
    short: list[list[C]] = []
    for container in init:
        if fields_of(container).get("restartPolicy") == "Always":
            sidecars.append(container)
        else:
            short.append([*sidecars, container])
    yield [*main, *sidecars]
    yield from short


def summed(spec: Fields, amounts_of: ContainerAmounts) -> Mapping[str, int]:
    """Return the most that containers of a pod need at the same time, by name, without zeros."""
    init, main = spec.children("initContainers"), spec.children("containers")
    most: dict[str, int] = {}
    for together in running_together(init, main, lambda container: container.values):
        total: dict[str, int] = {}
        for container in together:
            add(total, amounts_of(container))
        for name, amount in total.items():
            most[name] = max(most.get(name, 0), amount)
    return {name: amount for name, amount in most.items() if amount}


def add(total: dict[str, int], more: Mapping[str, int]) -> None:
    """Add amounts to a sum, by name."""
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount
