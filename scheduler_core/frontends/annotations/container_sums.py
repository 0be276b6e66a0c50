"""Adds up what the containers of a pod ask for, as Kubernetes does.

Containers and sidecars are added. An init container counts where it needs more, together with the sidecars
before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scheduler_core.codec.fields import Fields

ContainerAmounts = Callable[[Fields], Mapping[str, int]]
"""Returns what one container asks for, by name."""


def summed(spec: Fields, amounts_of: ContainerAmounts) -> Mapping[str, int]:
    """Return the sum over all containers of a pod, in the manifest's order, without zeros."""
    running: dict[str, int] = {}
    for container in spec.children("containers"):
        add(running, amounts_of(container))
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in spec.children("initContainers"):
        mine = amounts_of(container)
        if container.values.get("restartPolicy") == "Always":
            add(sidecars, mine)
            mine = {}
        for name in {**sidecars, **mine}:
            most[name] = max(most.get(name, 0), sidecars.get(name, 0) + mine.get(name, 0))
    add(running, sidecars)
    names = {**running, **most}
    return {name: asked for name in names if (asked := max(running.get(name, 0), most.get(name, 0)))}


def add(total: dict[str, int], more: Mapping[str, int]) -> None:
    """Add amounts to a sum, by name."""
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount
