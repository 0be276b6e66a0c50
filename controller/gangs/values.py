"""The values of a group of pods: its key, and what its author asks of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scheduler_core.base.errors import InvalidInput


class InvalidPodGroup(InvalidInput):
    """A PodGroup that its user must correct."""


class Source(StrEnum):
    """Where a group is described."""

    KOORDINATOR = "annotations of Koordinator"
    SCHEDULER_PLUGINS = "PodGroup of scheduling.x-k8s.io"
    KUBERNETES = "PodGroup of scheduling.k8s.io"


@dataclass(frozen=True, slots=True, order=True)
class GroupKey:
    """The identity of a group. Groups of different sources are different, even if they have one name."""

    source: Source
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Gang:
    """What is asked of a group.

    Shape: at least ``minimum`` members, which is at least 1, get devices together or none does; ``timeout_s``
           None where the group waits as long as it takes.
    Units: seconds.
    """

    minimum: int
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """What a pod says about its group. Shape: ``gang`` None where the pod only names it."""

    key: GroupKey
    gang: Gang | None = None
