"""Pods of groups for such a world, and what they are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from claims_at_server import claim, pod
from claims_at_server.world import World

NAME: Final = "gang.scheduling.koordinator.sh/name"
LEAST: Final = "gang.scheduling.koordinator.sh/min-available"
WAITING: Final = "gang.scheduling.koordinator.sh/waiting-time"


def grouped(
    document: Mapping[str, Any], minimum: int = 2, group: str = "training", waiting: str = ""
) -> dict[str, Any]:
    """Return a pod as a member of a group; ``waiting`` is its group's time."""
    metadata = document["metadata"]
    annotations = {**metadata["annotations"], NAME: group, LEAST: str(minimum)}
    if waiting:
        annotations[WAITING] = waiting
    return {**document, "metadata": {**metadata, "annotations": annotations}}


def add(
    world: World,
    *names: str,
    kind: str = "gpu",
    count: int = 1,
    minimum: int = 2,
    group: str = "training",
    waiting: str = "",
    **spec: Any,
) -> None:
    """Create members, each with a claim of its name."""
    for name in names:
        world.server.put("ResourceClaim", claim(name, kind, count))
        world.server.put("Pod", grouped(pod(name, name, **spec), minimum, group, waiting))


def nodes(world: World, *names: str) -> list[str | None]:
    """Return the nodes of the claims with these names."""
    return [world.node_of(name) for name in names]
