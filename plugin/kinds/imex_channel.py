"""An IMEX channel: a device node that the container runtime makes from its numbers. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from agent.inventory.published import Hardware, ImexChannel
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.machine.context import Context
from plugin.machine.lock_target import LockTarget
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts, usable_nodes
from plugin.machine.seen import SeenHardware


class ClaimedImexChannel(Claimed, frozen=True, kw_only=True, tag="imex-channel"):
    """An IMEX channel of a claim."""

    RECORD_VERSION: ClassVar[int] = 3

    number: int

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        """Return the channel."""
        return (LockTarget("IMEX-channel", str(self.number)),)

    @property
    def hardware(self) -> Hardware:
        """Return what the device is, whatever its published name is now."""
        return ImexChannel(self.number)

    @property
    def identity(self) -> str:
        """Return the number that containers get."""
        return str(self.number)

    @property
    def status_data(self) -> Mapping[str, Any]:
        """Return what the claim's status says of the channel."""
        return {"channel": self.number}

    def as_planned(self) -> Self:
        """Return the device: setting it up adds no fact."""
        return self


class ImexChannelKind(PreparableKind[ImexChannel, ClaimedImexChannel]):
    """A channel that one claim has to itself."""

    text = "an IMEX channel"
    published = ImexChannel
    claimed = ClaimedImexChannel
    crash_points = CrashPoints(setting_up=(), taking_down=())

    def why_ill(self, published: ImexChannel, seen: SeenHardware) -> str:
        """Return why the driver lacks the channel."""
        return "" if seen.has_imex else f"IMEX channel {published.number} no longer exists"

    def plan(self, wanted: Wanted[ImexChannel]) -> ClaimedImexChannel:
        """Return the channel by its number."""
        return ClaimedImexChannel(**wanted.common, number=wanted.published.number)

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedImexChannel]) -> None:
        """Check nothing: other claims are found by their records."""

    def set_up(self, context: Context, devices: Sequence[ClaimedImexChannel], progress: Progress) -> None:
        """Make nothing: a channel exists with the driver."""

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedImexChannel]) -> None:
        """Check nothing: a channel that is gone was found when its node was looked up."""

    def parts(self, context: Context, device: ClaimedImexChannel) -> Parts:
        """Return the channel's node. Raises: NotFound where the driver has no channels; NotReady."""
        node = context.machine.files.imex_channel_node(device.number)
        return Parts(usable_nodes((node,), context.host_root))

    def take_down(self, context: Context, devices: Sequence[ClaimedImexChannel]) -> None:
        """Undo nothing: nothing was changed."""

    def forget(self, context: Context, devices: Sequence[ClaimedImexChannel]) -> None:
        """Undo nothing."""

    def foreign(self, _node: NodeSnapshot, _held: Sequence[ClaimedImexChannel]) -> Iterable[Foreign]:
        """Yield nothing: channels are made by the driver."""
        return ()
