"""PURE: what the plan and the record hold of one device of a claim, whatever its kind.

The same value is planned, set up and written to the claim's record, so its fields are the record's format on
disk. It holds no type of another library: an upgrade of a library cannot change what is on disk. Devices are
found on the machine by UUID, address and placement; their names are kept for people.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec

from agent.inventory.model import Hardware
from plugin.machine.lock_target import LockTarget
from plugin.machine.share import Share


class Claimed(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """One device of a claim. Each kind adds what finds its hardware, and the facts that undoing it needs.

    Shape: ``requests`` are base names: ``req`` for a result of ``req/sub``; ``device`` the published name.
           A fact is None until it is known to be true; a deed is done only after what undoes it is durable.
    """

    RECORD_VERSION: ClassVar[int] = 1
    """The lowest version of the record's format that knows the kind."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_id: str

    @property
    @abstractmethod
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return the hardware that nobody else may change while the device is set up or taken down."""

    @property
    @abstractmethod
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Return what containers are told of the device, in one variable. It is set up."""

    @property
    def share(self) -> Share | None:
        """Return which part of the device the claim has, None for all of it."""
        return None

    @property
    @abstractmethod
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""

    @abstractmethod
    def as_planned(self) -> Self:
        """Return the device without the facts that setting it up added."""
