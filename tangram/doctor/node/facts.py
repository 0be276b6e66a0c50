"""PURE: what is known of one node at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.hardware.types import Bdf, Unreadable
from agent.inventory.foreign.found import FoundForeign
from agent.inventory.numbers.numbering import NumberedGpu
from agent.inventory.numbers.unlisted import UnlistedGpu
from agent.inventory.vfs.rules import VfRule
from plugin.claim.quarantine.census import Census
from plugin.claim.vfs.judgement import VfState
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import ClaimUid

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFacts:
    """What the plugin's files say of claims.

    Shape: ``checksums`` of the CDI documents, by claim; ``paths`` where those of records and documents are,
           for commands.
    Units: ``written_s`` when each record was written, seconds since 1970.
    """

    census: Census
    written_s: Mapping[ClaimUid, float]
    checksums: Mapping[ClaimUid, str]
    record_path: Path
    document_path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What the API server says of this node's claims.

    Shape: ``over`` the prepared claims that no pod of this node has, each with the reason; ``in_use`` those
           with devices of this node that a running pod has, each as namespace and name, with the pod's name;
           ``programs`` what uses the GPUs of a claim that is over, as text.
    """

    over: Mapping[ClaimUid, str] = field(default_factory=dict)
    in_use: Mapping[ClaimUid, tuple[str, str]] = field(default_factory=dict)
    programs: Mapping[ClaimUid, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class VfsOfNic:
    """The VFs of a NIC and their rule."""

    nic: Bdf
    rule: VfRule
    state: VfState


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """What the machine says.

    Shape: ``mig_left`` the GPUs whose MIG mode this driver turned on, and that have no instance now.
    """

    boot_id: str
    foreign: tuple[FoundForeign, ...] = ()
    unlisted: tuple[UnlistedGpu, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    vfs: tuple[VfsOfNic, ...] = ()
    mig_left: tuple[NumberedGpu, ...] = ()


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that the plugin writes to.

    Shape: ``problem`` why it cannot be written, empty where it can. Units: ``free`` bytes; ``files`` how many
           more fit, None where the file system does not count them.
    """

    path: Path
    problem: str = ""
    free: int = 0
    files: int | None = None


@dataclass(frozen=True, slots=True)
class PluginSocket:
    """A socket that a plugin serves. Shape: ``problem`` why it does not answer, empty where it does."""

    path: Path
    is_registered: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock that is held. Shape: ``name`` of claim or hardware; ``holders`` processes with its file open."""

    name: str
    holders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingFacts:
    """Whether the plugin can work. Shape: ``sockets`` those to which a process listens."""

    has_run: bool
    data_dir: Path
    lock_file: Path
    folders: tuple[Folder, ...] = ()
    sockets: tuple[PluginSocket, ...] = ()
    locks: tuple[HeldLock, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """A node at one moment. Shape: ``server`` None where nobody asked it. Units: ``now_s`` since 1970."""

    node: str
    now_s: float
    claims: ClaimFacts
    machine: MachineFacts
    serving: ServingFacts
    server: ServerFacts | None = None
