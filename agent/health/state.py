"""PURE: what is known of the health of a node's devices: one immutable value, which outlives a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.hardware.health.types import GpuEvent, GpuVitals, NicVitals, Unwatched
from agent.hardware.types import Bdf, GpuUuid
from agent.health.causes import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is wrong with what.

    Shape: ``target`` the UUID of a GPU or the address of a NIC's function; ``xid`` of XIDs alone, None also
           for unknown ones where too many are kept apart; ``gi_id`` and ``ci_id`` the MIG instance that an
           event named, None for the whole GPU.
    """

    target: GpuUuid | Bdf
    cause: Cause
    xid: int | None = None
    gi_id: int | None = None
    ci_id: int | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """How long something has been wrong.

    Shape: ``detail`` what the driver said beside the cause, empty for nothing; ``times`` how often it came.
    Units: ``since_s`` and ``last_s`` seconds since 1970.
    """

    since_s: float
    last_s: float
    times: int = 1
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMemory:
    """What earlier readings of a GPU said, by which a reset is seen.

    Shape: ``is_away`` the driver lost or forgot it, and it has not answered since; ``needs_recovery`` the
           driver asked for a reset or reboot; ``ecc`` the last count of uncorrectable errors; ``links`` the
           NVLinks that were active.
    """

    bdf: Bdf
    is_away: bool = False
    needs_recovery: bool = False
    is_remap_pending: bool = False
    ecc: int = 0
    links: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class HealthState:
    """Everything that is wrong on a node. Shape: ``boot_id`` of the boot in which that was seen."""

    boot_id: str = ""
    troubles: Mapping[Key, Trouble] = field(default_factory=dict)
    gpus: Mapping[GpuUuid, GpuMemory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """A device that could not be read.

    Shape: ``is_lost`` the driver says that it fell off the bus; ``is_unknown`` driver or kernel have no such
           device; neither where the call failed in another way.
    """

    reason: str
    is_lost: bool = False
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class GpuReading:
    """A GPU's vitals. Shape: ``has_links`` whether its NVLinks should be active: not so in MIG mode."""

    vitals: GpuVitals
    has_links: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a look at the machine found.

    Shape: ``gpus`` that the driver lists; ``unlisted`` the GPUs that PCI shows beside them; ``given_away``
           those of them that somebody gave to user space on purpose; ``pfs`` and ``vfs`` the functions of
           NICs, without VFs that come and go with claims; ``are_gpus_read`` whether a GPU that is not there
           is gone; ``is_joined_at_boot`` False where NVLinks are active only while a claim has the GPU.
    """

    gpus: Mapping[GpuUuid, Bdf] = field(default_factory=dict)
    unlisted: frozenset[Bdf] = frozenset()
    given_away: frozenset[Bdf] = frozenset()
    pfs: frozenset[Bdf] = frozenset()
    vfs: frozenset[Bdf] = frozenset()
    are_gpus_read: bool = True
    is_joined_at_boot: bool = True


@dataclass(frozen=True, slots=True)
class Told:
    """What driver and kernel told since the last time.

    Shape: ``unwatched`` None where nothing new is known of it; ``gpus`` and ``nics`` what was read now.
    """

    events: tuple[GpuEvent, ...] = ()
    unwatched: tuple[Unwatched, ...] | None = None
    gpus: Mapping[GpuUuid, GpuReading | NoAnswer] = field(default_factory=dict)
    nics: Mapping[Bdf, NicVitals | NoAnswer] = field(default_factory=dict)
