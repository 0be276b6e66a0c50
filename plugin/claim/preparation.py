"""A claim that is begun: its lock is held, and what goes wrong from here on is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from agent.hardware.errors import HardwareError
from plugin.base.errors import HardwareFailed, PluginError
from plugin.claim.holder_wait import Wait
from plugin.claim.plan import PreparedDevice
from plugin.claim.record import Record
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid


@dataclass(slots=True)
class Begun:
    """A claim of which the name is known, and soon the devices.

    Shape: ``record`` what earlier calls left of it; ``is_only_wanted`` as long as its file says no more than
           that the kubelet wants it; ``wait`` how long other claims may take to let its devices go, None
           where nobody waits.
    """

    deed: Callable[[Begun, AllocatedClaim], tuple[PreparedDevice, ...]]
    record: Record | None
    wait: Wait | None
    is_only_wanted: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_only_wanted = self.record is None

    def prepare(self, claim: AllocatedClaim) -> tuple[PreparedDevice, ...]:
        """Make the claim's devices usable and return them. Raises: PluginError."""
        return self.deed(self, claim)


@contextmanager
def attributed(attempted: str, ref: ClaimRef, uid: ClaimUid | None) -> Iterator[None]:
    """Say of every error which claim it was for, and of the hardware's what was attempted."""
    try:
        yield
    except PluginError as error:
        error.claim_uid = uid
        raise
    except HardwareError as error:
        failed = HardwareFailed(attempted, f"claim {ref}", str(error), retry=error.retry)
        failed.claim_uid = uid
        raise failed from error
