"""The occupancy of a cluster as values: nodes, their GPUs, NICs and other devices, and the holders.

Nothing here is computed: ``view.py`` makes these values from a cluster state, ``to_json.py`` their JSON form.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.device import DeviceName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.pool import PoolId
from scheduler_core.model.taints import Taint

NOTHING: Final = Quantity(0, "i")


class Availability(StrEnum):
    """The state of a memory slice, a VF or a whole device.

    ``FREE``: a claim could get it now. ``HELD``: a claim has it. ``SHARED``: claims have shares of its GPU,
    which are not bound to memory slices. ``UNUSABLE``: nobody holds it, and no device that takes it can be
    allocated now.
    """

    FREE = "free"
    HELD = "held"
    SHARED = "shared"
    UNUSABLE = "unusable"


class Mode(StrEnum):
    """How a GPU is in use now. ``PARTITION``: together with other GPUs, as one partition."""

    FREE = "free"
    WHOLE = "whole"
    MIG = "mig"
    SHARED = "shared"
    MPS = "mps"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class MemorySlice:
    """One memory slice of a GPU. Shape: ``holders`` in order, empty unless held or shared."""

    index: int
    state: Availability
    holders: tuple[ClaimRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUse:
    """One device that one claim holds, or its share of it.

    Shape: ``what`` is the profile, else the kind of device; ``memory`` is what the claim has of the device's
           memory, None where the device has none; ``memory_slices`` are their numbers, ascending, empty for
           a share; ``request`` as in the claim's allocation.
    """

    device: DeviceName
    what: str
    claim: ClaimRef
    request: str
    memory: Quantity | None = None
    memory_slices: tuple[int, ...] = ()
    is_share: bool = False


@dataclass(frozen=True, slots=True)
class GpuRoom:
    """What claims could still get of GPUs, and what they could get were the held devices placed best.

    Shape: ``now`` is at most ``best``; how they are counted: ``scheduler_core.frontends.occupancy.room``.
    Units: memory slices, added up over profiles.
    """

    now: int
    best: int

    @property
    def fragmentation(self) -> float:
        """Return the part of the room that is lost by where the held devices are: 0 (none) to 1 (all)."""
        return 1 - self.now / self.best if self.best else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FreePlaces:
    """What of one profile could be allocated now.

    Shape: ``what`` is the profile, or the kind of a device without one; ``places`` is the number of free
           devices, which may overlap; ``fits`` is how many of them claims can have at the same time.
           Above 64 devices that share counters, ``fits`` may be too small, never too large.
    """

    what: str
    places: int
    fits: int
    memory_slices: int = 0
    memory: Quantity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesLeft:
    """A GPU that claims share. Shape: ``memory`` is all that its shares may have, ``left`` the rest of it."""

    device: DeviceName
    what: str
    memory: Quantity | None
    left: Quantity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a device is in its node, as far as its slices say it."""

    numa_node: int | None = None
    pci_bus_id: str | None = None
    pcie_root: str | None = None
    pcie_root_port: str | None = None
    pcie_switch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU.

    Shape: ``name`` is the device of the whole GPU, else what it is called in the slices; ``memory_slices`` by
           number, empty where no slice of the API has them; ``modes`` never empty, ``FREE`` alone where
           nothing is in use; ``uses`` by device, then claim; ``free`` the largest first, kinds with nothing
           free too; ``taints`` are those that keep claims away from some device of the GPU, each once;
           ``room`` is None where the GPU has no memory slices.
    """

    name: str
    pool: PoolId
    product: str
    memory: Quantity | None
    modes: tuple[Mode, ...]
    memory_slices: tuple[MemorySlice, ...]
    uses: tuple[DeviceUse, ...]
    free: tuple[FreePlaces, ...]
    shares: tuple[SharesLeft, ...]
    taints: tuple[Taint, ...]
    place: Place
    room: GpuRoom | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NicFunction:
    """A NIC or one of its VFs, as a device. Shape: ``holders`` in order, empty unless held."""

    name: DeviceName
    state: Availability
    holders: tuple[ClaimRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One NIC. Shape: ``whole`` is None where the NIC is not offered as a whole; ``vfs`` in pool order."""

    name: str
    pool: PoolId
    link_type: str
    whole: NicFunction | None
    vfs: tuple[NicFunction, ...]
    uses: tuple[DeviceUse, ...]
    taints: tuple[Taint, ...]
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDevices:
    """Devices of one kind that belong to no GPU or NIC: partitions of several GPUs, IMEX channels.

    Shape: ``what`` is ``device`` where nothing says which kind they are; ``free`` of ``count`` could each be
           allocated now; ``uses`` by device, then claim; ``usable_from`` are the nodes from which they can be
           used, each selection once.
    """

    what: str
    pool: PoolId
    count: int
    free: int
    uses: tuple[DeviceUse, ...]
    usable_from: tuple[NodeSelection, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOccupancy:
    """One node, or what belongs to no single node, then ``name`` is empty.

    Shape: GPUs, NICs and others by pool, then in pool order; ``problems`` are sentences about what cannot be
           used; ``free`` and ``room`` add up those of the GPUs.
    """

    name: str
    gpus: tuple[Gpu, ...] = ()
    nics: tuple[Nic, ...] = ()
    others: tuple[OtherDevices, ...] = ()
    free: tuple[FreePlaces, ...] = ()
    problems: tuple[str, ...] = ()
    room: GpuRoom | None = None

    @property
    def drivers(self) -> frozenset[str]:
        """Return the drivers whose devices are there."""
        return frozenset(one.pool.driver for parts in (self.gpus, self.nics, self.others) for one in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A claim that holds devices. Shape: ``pods`` are the names of the pods that it is reserved for."""

    claim: ClaimRef
    pods: tuple[str, ...] = ()
    devices: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceTotal:
    """What the claims of one namespace hold.

    Shape: ``gpus`` are whole GPUs, a partition of several counts each of them; a memory slice, NIC or VF
           that several claims hold counts once; ``shares`` are shares of GPUs.
    """

    namespace: str
    claims: int = 0
    gpus: int = 0
    memory_slices: int = 0
    shares: int = 0
    memory: Quantity = NOTHING
    nics: int = 0
    vfs: int = 0
    others: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOccupancy:
    """A cluster.

    Shape: nodes by name, what belongs to no single node last; holders and namespaces by name.
    """

    nodes: tuple[NodeOccupancy, ...] = ()
    holders: tuple[Holder, ...] = ()
    namespaces: tuple[NamespaceTotal, ...] = ()
    free: tuple[FreePlaces, ...] = ()
    room: GpuRoom | None = None

    @property
    def drivers(self) -> tuple[str, ...]:
        """Return the drivers whose devices are there, by name."""
        return tuple(sorted({name for node in self.nodes for name in node.drivers}))
