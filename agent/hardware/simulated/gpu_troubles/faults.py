"""What can be wrong with the health of a simulated GPU, and the events that its driver raises.

A trouble lasts; an event happens once, and everybody who listens then hears it. ``str`` of each gives its
text; ``fault_text.py`` in this folder parses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agent.hardware.health.types import FabricState, GpuEventKind, Recovery, Slowdown


class GpuTroubleKind(StrEnum):
    """What can be wrong with a GPU's health."""

    ECC = "ecc"
    """So many uncorrectable errors of its memory, until a reset or reboot."""
    REMAP_PENDING = "remap-pending"
    """A row of its memory will be replaced at the next reset or reboot."""
    REMAP_FAILED = "remap-failed"
    """A row could not be replaced; the board keeps that over resets and reboots."""
    NVLINK_DOWN = "nvlink-down"
    """The NVLink of this number is not active, until a reset or reboot."""
    SLOWDOWN = "slowdown"
    """The hardware runs slowly for this reason, until the fault is cleared."""
    RECOVERY = "recovery"
    """The driver says that the GPU needs this, until a reset or reboot."""
    FABRIC = "fabric"
    """The GPU has come so far in joining its fabric, or has this fault there, until a reset or reboot."""


WORDS: Final[dict[GpuTroubleKind, tuple[str, ...]]] = {
    GpuTroubleKind.SLOWDOWN: tuple(Slowdown),
    GpuTroubleKind.RECOVERY: tuple(word for word in Recovery if word is not Recovery.NONE),
    GpuTroubleKind.FABRIC: tuple(word for word in FabricState if word is not FabricState.COMPLETED),
}
"""The troubles that take a word, and which."""

NUMBERED: Final = (GpuTroubleKind.ECC, GpuTroubleKind.NVLINK_DOWN)
"""The troubles that take a number."""

ONE_AT_A_TIME: Final = (GpuTroubleKind.ECC, GpuTroubleKind.RECOVERY, GpuTroubleKind.FABRIC)
"""Troubles of which a GPU has one: another value replaces it."""

_OUTLIVES_RESET: Final = (GpuTroubleKind.REMAP_FAILED, GpuTroubleKind.SLOWDOWN)

PLAIN_EVENTS: Final = (GpuEventKind.MIG_CHANGED, GpuEventKind.UNAVAILABLE)
"""Events that come with nothing but the GPU."""


@dataclass(frozen=True, slots=True)
class GpuTrouble:
    """A trouble of the GPU with this minor number. Shape: ``value`` a number or a word, None without one."""

    gpu: int
    kind: GpuTroubleKind
    value: int | str | None = None

    @property
    def outlives_reset(self) -> bool:
        """Whether a reset or reboot leaves it."""
        return self.kind in _OUTLIVES_RESET

    def __str__(self) -> str:
        return f"gpu-{self.gpu}:{self.kind}" + ("" if self.value is None else f"={self.value}")


@dataclass(frozen=True, slots=True)
class Raised:
    """An event of the driver.

    Shape: ``gpu`` its minor number, None where the driver names a GPU that nobody knows; ``xid`` of XID
           events alone; ``gi_id`` and ``ci_id`` as in ``GpuEvent``; ``times`` how often it happens at once.
    """

    gpu: int | None
    kind: GpuEventKind
    xid: int | None = None
    gi_id: int | None = None
    ci_id: int | None = None
    times: int = 1

    def __str__(self) -> str:
        target = "machine" if self.gpu is None else f"gpu-{self.gpu}"
        number = "" if self.xid is None else f"={self.xid}"
        instance = "".join(
            f":{name}={value}"
            for name, value in (("gi", self.gi_id), ("ci", self.ci_id))
            if value is not None
        )
        return f"{target}:{self.kind}{number}{instance}" + (f":{self.times}" if self.times > 1 else "")
