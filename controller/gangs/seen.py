"""A PodGroup as the controller sees it. Takes its document; returns a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.gangs.reading import pod_group_of
from controller.gangs.values import Gang, GroupKey, Source
from scheduler_core.base.errors import CoreError


@dataclass(frozen=True, slots=True)
class PodGroupSeen:
    """A PodGroup.

    Shape: ``gang`` None where its pods are served one by one; ``problem`` says why it cannot be read, else
           empty.
    """

    key: GroupKey
    gang: Gang | None = None
    problem: str = ""


def read_pod_group(document: Mapping[str, Any]) -> PodGroupSeen:
    """Return what a PodGroup says. Its API group is scheduling.x-k8s.io or scheduling.k8s.io."""
    try:
        return PodGroupSeen(*pod_group_of(document))
    except CoreError as error:
        return PodGroupSeen(key_of_group(document), problem=str(error))


def key_of_group(document: Mapping[str, Any]) -> GroupKey:
    """Return the key of a PodGroup, whatever else it says."""
    metadata = document["metadata"]
    is_plugins = str(document["apiVersion"]).startswith("scheduling.x-k8s.io/")
    source = Source.SCHEDULER_PLUGINS if is_plugins else Source.KUBERNETES
    return GroupKey(source, metadata["namespace"], metadata["name"])
