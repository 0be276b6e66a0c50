"""PURE: what the plan and the record hold of one device of a claim, whatever its kind.

The same value is planned, set up and written to the claim's record, so its fields are the record's format on
disk. It holds no type of another library: an upgrade of a library cannot change what is on disk. Devices are
found on the machine by UUID, address and placement; their names are kept for people.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Self

import msgspec
from msgspec import UNSET, UnsetType

from agent.hardware.types import Bdf
from agent.inventory.published import Hardware
from plugin.machine.lock_target import LockTarget
from plugin.machine.share import Share
from plugin.machine.vf_supply import WantedVf

AdminAccess = Literal[True] | UnsetType
"""True, or not there at all: records without admin access are those of earlier versions."""
_VERSION_WITH_ADMIN_ACCESS: Final = 3


class Claimed(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """One device of a claim. Each kind adds what finds its hardware, and the facts that undoing it needs.

    Shape: ``requests`` are base names: ``req`` for a result of ``req/sub``; ``device`` the published name;
           ``cdi_id`` is unique in the claim, which may have several shares of one device.
           A fact is None until it is known to be true; a deed is done only after what undoes it is durable.
           ``alternative`` is ``sub`` for a result of ``req/sub``; ``pci_addresses`` those of the functions
           that the device is, or is cut from. Neither is there where it says nothing.
           A device with ``admin_access`` may be anybody's: it is looked up, and never set up or taken down.
    """

    RECORD_VERSION: ClassVar[int] = 1
    """The lowest version of the record's format that knows the kind."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_id: str
    admin_access: AdminAccess = UNSET
    alternative: str | UnsetType = UNSET
    pci_addresses: tuple[str, ...] | UnsetType = UNSET

    @property
    def has_admin_access(self) -> bool:
        """Whether the claim may only look at the device, whoever has it."""
        return self.admin_access is True

    @property
    def record_version(self) -> int:
        """Return the lowest version of the record's format that can express the device."""
        if self.has_admin_access:
            return max(self.RECORD_VERSION, _VERSION_WITH_ADMIN_ACCESS)
        return self.RECORD_VERSION

    @property
    def request_names(self) -> tuple[str, ...]:
        """Return the requests as the allocation names them, with the alternative."""
        if self.alternative is UNSET:
            return self.requests
        return tuple(f"{request}/{self.alternative}" for request in self.requests)

    def says_the_same(self, other: Claimed) -> bool:
        """Whether two devices differ in nothing but what containers are told."""
        return self._without_words() == other._without_words()

    def _without_words(self) -> Self:
        return msgspec.structs.replace(self, alternative=UNSET, pci_addresses=UNSET)

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

    def with_share(self, share: Share) -> Self:  # noqa: ARG002
        """Return the device with another share of it; one that has no shares stays as it is."""
        return self

    @property
    def interval(self) -> str | None:
        """Return the interval of time slicing that the claim asks for, None where it asks for none."""
        return None

    @property
    def mps_uuid(self) -> str | None:
        """Return the UUID of the GPU or MIG device whose MPS daemon the device needs, None without one.

        Of a MIG partition it is known once that is set up.
        """
        return None

    @property
    def wanted_vf(self) -> WantedVf | None:
        """Return the VF that must be made for the claim, None for a device that needs none."""
        return None

    @property
    def is_made(self) -> bool:
        """Whether the VF that it needs was made, as far as is known; true where it needs none."""
        return True

    def made_at(self, address: Bdf) -> Self:  # noqa: ARG002
        """Return the device with the address of the VF that was made for it."""
        return self

    @property
    @abstractmethod
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the hardware."""

    @property
    def network_data(self) -> Mapping[str, Any] | None:
        """Return what is told of the network interface that pods get, None where they get none.

        Source: resource.k8s.io/v1, NetworkDeviceData.
        """
        return None

    @property
    def is_in_pod(self) -> bool:
        """Whether something of the device was brought into a pod."""
        return False

    def known_as(self, identity: str) -> Self:  # noqa: ARG002
        """Return the device with what its identity tells of it, where lines of its record were lost.

        Only of a MIG device that is more than what planning it told.
        """
        return self

    @abstractmethod
    def as_planned(self) -> Self:
        """Return the device without the facts that setting it up added."""
