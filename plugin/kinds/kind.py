"""What the plugin must know of a kind of device: one class for each row of the table.

A kind holds no state. Its methods get a context with the machine, and all devices of the kind that one claim
has, so that what these share is read once. Whoever calls them holds the locks of the claim and of the
devices' lock targets; devices with admin access have none, and are never set up or taken down.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypedDict, TypeVar

from msgspec import UnsetType

from agent.hardware.ports import DriverFiles
from agent.inventory.published import PublishedDevice
from plugin.base.errors import ClaimUnusable
from plugin.kinds.claimed import AdminAccess, Claimed
from plugin.machine.context import Context
from plugin.machine.namespaces import PodNamespace
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware
from plugin.machine.share import Share
from scheduler_core.frontends.configuration.preparable import NO_ADMIN
from scheduler_core.frontends.configuration.values import Config

P = TypeVar("P", bound=PublishedDevice)
D = TypeVar("D", bound=Claimed)


class Common(TypedDict):
    """The fields that every kind records."""

    requests: tuple[str, ...]
    pool: str
    device: str
    cdi_id: str
    admin_access: AdminAccess
    alternative: str | UnsetType


@dataclass(frozen=True, slots=True)
class Wanted(Generic[P]):
    """One device that a claim was allocated: all that its plan is made from.

    Shape: ``published`` what the agent offers under its name; ``share`` of a device that several claims have;
           ``config`` the configuration that counts for it, with all defaults, None where none was given;
           ``config_index`` the device's place among those of the claim that have the same configuration.
    """

    published: P
    common: Common
    share: Share | None = None
    config: Config | None = None
    config_index: int = 0


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something on the machine that no record names. Shape: texts for people."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class CrashPoints:
    """Where a process may die while one device is set up or taken down. Tests kill it at each of them.

    Shape: ``setting_up``, ``taking_down`` the methods that change the machine, in the order of their calls;
           ``noted`` what is made durable between them, one text for each time.
    """

    setting_up: tuple[str, ...]
    taking_down: tuple[str, ...]
    noted: tuple[str, ...] = ()


class Progress(Protocol):
    """What is known of a claim's devices while they are set up."""

    def know(self, device: Claimed) -> None:
        """Replace what is known of a device. It is durable with the claim's next record."""
        ...

    def note(self, device: Claimed) -> None:
        """Replace what is known of a device and write the record. Its errors must end the set-up."""
        ...


class Kind(ABC, Generic[P]):
    """A kind of device that the agent publishes.

    Shape: ``text`` names the kind in messages, with its article; ``why_unprepared`` is empty for a kind that
           claims can have.
    """

    text: str
    published: type[P]
    why_unprepared: str = ""

    def takes(self, wanted: Wanted[PublishedDevice]) -> bool:
        """Whether a device that a claim was allocated is of this kind."""
        return isinstance(wanted.published, self.published)

    @abstractmethod
    def why_ill(self, published: P, seen: SeenHardware) -> str:
        """Return why a device does not work, empty where it does."""


class PreparableKind(Kind[P], Generic[P, D]):
    """A kind of device that claims can have. Shape: ``claimed`` what is recorded of one."""

    claimed: type[D]
    crash_points: CrashPoints
    neighbours: tuple[type[Claimed], ...] = ()
    """Records of other kinds that name hardware which this kind also finds: it is not reported as foreign."""

    @abstractmethod
    def plan(self, wanted: Wanted[P]) -> D:
        """Return what is to be set up: pure, and the same for the same input."""

    @abstractmethod
    def refuse_occupied(self, context: Context, devices: Sequence[D]) -> None:
        """Check that nobody else is where the devices will be, before the plan is recorded.

        What is found there later is then known to be ours. Raises: PluginError; HardwareError.
        """

    @abstractmethod
    def set_up(self, context: Context, devices: Sequence[D], progress: Progress) -> None:
        """Set the devices up; what is set up already stays. Each new fact is told to ``progress``.

        Raises: PluginError, HardwareError. What was made before stays for ``take_down``.
        """

    def find_for_admin(self, context: Context, devices: Sequence[D]) -> Sequence[D]:  # noqa: ARG002
        """Return devices with admin access as they are now, whoever has them; change nothing.

        Raises: NotReady where one does not exist now; ClaimUnusable where the kind has no admin access, as
                here; HardwareError.
        """
        subject, remedy = f"device {devices[0].device}", "the user asks without adminAccess"
        raise ClaimUnusable("prepare", subject, NO_ADMIN, remedy)

    @abstractmethod
    def refuse_dead(self, context: Context, devices: Sequence[D]) -> None:
        """Check that the devices that were set up work. Raises: NotReady; HardwareError."""

    def seems_gone(self, files: DriverFiles, node: NodeSnapshot, device: D) -> bool:  # noqa: ARG002
        """Whether the kernel shows a device no more that was set up. It is asked several times a second.

        No lock is held, and no hardware is asked. It is a sign and no proof: ``refuse_dead`` says what is so.
        False, as here, for kinds without such a sign.
        """
        return False

    @abstractmethod
    def parts(self, context: Context, device: D) -> Parts:
        """Return what a container gets of one device. It is set up.

        Raises: NotReady where something is missing; HardwareError.
        """

    def bring_in(
        self,
        context: Context,  # noqa: ARG002
        device: D,
        pod: PodNamespace,  # noqa: ARG002
        progress: Progress,  # noqa: ARG002
    ) -> None:
        """Bring what a device has for the pod's network namespace in, when a container of the pod is made.

        A second container finds it there. Only kinds whose parts join the pod have something.
        Raises: PluginError, HardwareError; the pod then has nothing of it.
        """
        subject = f"device {device.device}"
        raise ClaimUnusable("bring into a pod", subject, "it has nothing for a network namespace")

    def pci_addresses(self, published: P) -> tuple[str, ...]:  # noqa: ARG002
        """Return the PCI functions that a device is, or is cut from; none, as here, where there are none."""
        return ()

    @abstractmethod
    def take_down(self, context: Context, devices: Sequence[D]) -> None:
        """Undo the devices from what is recorded of them, the last one first; what is gone is no error.

        Raises: HardwareError. A second call goes on from there.
        """

    @abstractmethod
    def forget(self, context: Context, devices: Sequence[D]) -> None:
        """Undo what of the devices outlived the boot in which they were set up. Raises: HardwareError."""

    @abstractmethod
    def foreign(self, node: NodeSnapshot, held: Sequence[D]) -> Iterable[Foreign]:
        """Yield what is on the node and of this kind, and is none of the devices that claims hold.

        Shape: ``held`` of this kind and its ``neighbours``.
        """
