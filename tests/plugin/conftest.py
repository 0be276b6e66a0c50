"""A driver on a simulated machine, without sockets: what the tests of the plugin's parts stand on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import infiniband_vfs
import pytest
import shared_nvswitch
from devices_of_kinds import ON_DEMAND, allocated_device, left_of_nics
from infiniband_vfs import infiniband_node
from shared_nvswitch import shared_node
from short_folders import short_folder
from slow_daemons import with_slow_daemons
from told_cluster import Cluster

from agent.hardware.nics.links import Link
from agent.hardware.open import simulated_hardware
from agent.hardware.ports import Machine
from agent.hardware.simulated import NodeFile, SimulatedMachine, load_node, parse_fault
from agent.hardware.simulated.state import StateFile
from agent.hardware.types import Bdf, ComputeMode, GpuInstance, GpuUuid, TimeSlice
from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.model import LinkedGpus, NodeDevices, SplitGpus
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.vfs.rules import VfRules
from plugin.assembly import assemble
from plugin.claim.driver import Driver
from plugin.claim.plan import PreparedDevice
from plugin.claim.record import Record
from plugin.claim.record_store import RecordStore
from plugin.machine.namespaces import PodNamespace
from plugin.options import Options
from plugin.telling.reports import Reports
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid, OpaqueConfig
from scheduler_core.model.pool import Pool

DRIVER = "tangram.dev"
NOW_S = 1_800_000_000.0
PAIR = LinkedGpus(table_of("table", {"2": [{"minors": [0, 1], "allocationScore": 1}]}))


@dataclass
class Clock:
    """Time that passes only when somebody sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Bench:
    """A simulated machine and the driver that works on it."""

    simulated: SimulatedMachine
    options: Options
    clock: Clock
    driver: Driver = field(init=False)
    first_links: tuple[Link, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.first_links = self.simulated.kernel.links(None)
        self.driver = assemble(self.machine, self.options, clock=self.clock, sleep=self.clock.sleep)

    @property
    def machine(self) -> Machine:
        return machine_of(self.simulated)

    @property
    def node(self) -> str:
        return self.options.node_name

    def with_rules(self, rules: VfRules | None) -> Driver:
        """Return the driver of a plugin that was started again with other rules for VFs."""
        self.options = replace(self.options, vfs=rules)
        return self.restart()

    def vfs(self, nic: str = "0000:19:00.1") -> int:
        """Return how many VFs a NIC has."""
        return self.machine.nics.reader.vf_count(Bdf(nic)).present

    def restart(self) -> Driver:
        """Return a driver that knows only what is on disk and on the machine, reconciled as at a start."""
        self.driver = assemble(self.machine, self.options, clock=self.clock, sleep=self.clock.sleep)
        self.driver.reconcile()
        return self.driver

    def another_driver(self, waits: Event | None = None) -> Driver:
        """Return a driver as a second process would have it; it really waits, and says so with ``waits``."""

        def sleep(seconds: float) -> None:
            if waits is not None:
                waits.set()
            time.sleep(seconds)

        return assemble(self.machine, self.options, clock=time.monotonic, sleep=sleep)

    def claim(self, uid: str, *devices: str, request: str = "r", **more: object) -> AllocatedClaim:
        return allocated(uid, self.node, devices, request=request, **more)

    def prepare(self, uid: str, *devices: str) -> tuple[PreparedDevice, ...]:
        return self.driver.prepare(self.claim(uid, *devices))

    def look_at(self, uid: str, *devices: str) -> tuple[PreparedDevice, ...]:
        """Prepare a claim with admin access to devices."""
        return self.driver.prepare(self.claim(uid, *devices, admin_access=True))

    @property
    def pod(self) -> Path:
        """What stands for a pod's network namespace."""
        file = self.simulated.directory.parent / "pod"
        file.touch()
        return file

    def bring_in(self, uid: str, device: str, pod: Path | None = None) -> None:
        """Do what the hook of a container runtime asks for."""
        namespace = PodNamespace.at(pod or self.pod)
        assert namespace is not None
        self.driver.bring_in(ClaimUid(uid), device, namespace)

    def unprepare(self, uid: str) -> None:
        self.driver.unprepare(ClaimUid(uid), ClaimRef("default", f"claim-{uid}"))

    def names(self) -> list[str]:
        """Return what the node offers, in published order."""
        return [str(name) for name in devices_of(self.machine, self.node).by_name]

    def offered(self) -> Pool:
        """Return what the node offers, as the core sees it."""
        return devices_of(self.machine, self.node).pool

    def inject(self, *faults: str) -> None:
        for fault in faults:
            self.simulated.inject(parse_fault(fault))

    def uuid(self, minor: int) -> GpuUuid:
        return self.simulated.node.cards[minor].uuid

    def instances(self, minor: int = 0) -> tuple[GpuInstance, ...]:
        return self.simulated.gpus.gpu_instances(self.uuid(minor))

    def is_in_mig_mode(self, minor: int = 0) -> bool:
        mode = self.simulated.gpus.mig_mode(self.uuid(minor))
        assert mode is not None
        assert mode.is_settled
        return mode.current

    def records(self) -> tuple[Record, ...]:
        return RecordStore(self.options.claims_dir).census().records

    def document(self, uid: str) -> Path:
        return self.options.cdi_dir / f"{self.options.driver_name}-claim_{uid}.json"

    def _is_changed(self, link: Link) -> bool:
        """Whether a link is not as it was; that of a VF that was made meanwhile is not known."""
        known = {first.bdf for first in self.first_links}
        return link.bdf in known and link not in self.first_links

    def leftovers(self) -> list[str]:
        """Return everything that a claim could have left: instances, modes, what NICs keep, files."""
        found = [
            f"{entry.index}: {self.simulated.gpus.gpu_instances(entry.uuid)}"
            for entry in self.simulated.node.cards
            if self.simulated.gpus.gpu_instances(entry.uuid)
        ]
        found += [
            f"{card.index} in MIG mode"
            for card in self.simulated.node.cards
            if (mode := self.simulated.gpus.mig_mode(card.uuid)) and (mode.current or mode.pending)
        ]
        found += [
            f"{card.index} has compute mode {mode}"
            for card in self.simulated.node.cards
            if (mode := self.simulated.gpus.compute_mode(card.uuid)) is not ComputeMode.DEFAULT
        ]
        found += [
            f"GPU {uuid} has interval {state.time_slice.name}"
            for uuid, state in StateFile(self.simulated.directory).read().gpus.items()
            if state.time_slice is not TimeSlice.DEFAULT
        ]
        found += [f"MPS daemon {name}" for name in self.machine.mps.names()]
        found += left_of_nics(self.simulated)
        found += [f"{link}" for link in self.simulated.kernel.links(None) if self._is_changed(link)]
        found += [
            f"fabric partition {one}" for one in StateFile(self.simulated.directory).read().fabric.active
        ]
        folders = (
            self.options.cdi_dir,
            self.options.claims_dir,
            self.options.metadata_dir,
            self.options.made_vfs_dir,
            self.options.mig_modes_dir,
        )
        return found + [str(path) for folder in folders if folder.exists() for path in folder.iterdir()]


def allocated(
    uid: str,
    pool: str,
    devices: Iterable[str],
    *,
    request: str = "r",
    driver: str = DRIVER,
    configs: tuple[OpaqueConfig, ...] = (),
    admin_access: bool = False,
) -> AllocatedClaim:
    return AllocatedClaim(
        ref=ClaimRef("default", f"claim-{uid}"),
        uid=ClaimUid(uid),
        results=tuple(
            allocated_device(device, pool, request, driver, admin_access=admin_access) for device in devices
        ),
        configs=configs,
    )


def devices_of(machine: Machine, node: str) -> NodeDevices:
    return describe(discover(machine.readers, node), DRIVER)


def machine_of(simulated: SimulatedMachine) -> Machine:
    return with_slow_daemons(simulated_hardware(simulated))


ALL_MODES = GpuModes(ModesOfGpu(shared=100, mps=100))
"""Every GPU in every mode; the modes take turns."""


def make_bench(
    folder: Path,
    node: str,
    sleep: Callable[[float], None] | None,
    linked: LinkedGpus | None = None,
    modes: GpuModes | None = None,
    *,
    split: SplitGpus | None = None,
    has_metadata: bool = False,
    file: NodeFile | None = None,
    imex_channels: int = 0,
    vfs: VfRules | None = None,
) -> Bench:
    clock = Clock()
    simulated = SimulatedMachine.open(file or load_node(node), folder / "machine", sleep or clock.sleep)
    node = simulated.node.name
    options = Options(
        driver_name=DRIVER,
        node_name=node,
        kubelet_dir=folder / "kubelet",
        cdi_dir=folder / "cdi",
        linked=linked,
        has_metadata=has_metadata,
        modes=modes or GpuModes(),
        imex_channels=imex_channels,
        vfs=vfs,
        split=split,
    )
    return Bench(simulated, options, clock)


@pytest.fixture(scope="session")
def bench_for() -> Callable[..., Bench]:
    """Make a bench in a folder of one's own, with options of a node."""

    def make(folder: Path, node: str, *, is_linked: bool = False, **more: Any) -> Bench:
        if not is_linked:
            return make_bench(folder, node, None, **more)
        return make_bench(folder, node, None, PAIR, split=SplitGpus(), imex_channels=2, **more)

    return make


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path short enough for the sockets below it."""
    with short_folder() as name:
        yield Path(name)


@pytest.fixture
def bench_of(folder: Path) -> Callable[..., Bench]:
    """Make a bench for a shipped node."""
    return lambda node, sleep=None: make_bench(folder, node, sleep)


@pytest.fixture
def bench_in() -> Callable[[Path], Bench]:
    """Make the bench of most tests in a folder of one's own."""
    return lambda folder: make_bench(folder, "a100x2", None)


@pytest.fixture
def bench(bench_of: Callable[..., Bench]) -> Bench:
    """Two A100s, the machine of most tests."""
    return bench_of("a100x2")


@pytest.fixture
def linked_bench_in() -> Callable[..., Bench]:
    """Make a bench with two A100s that links join and claims share or have parts of, in one's own folder.

    It offers two IMEX channels.
    """
    return lambda folder, linked=PAIR, node="a100x2": make_bench(
        folder, node, None, linked, ALL_MODES, split=SplitGpus(), imex_channels=2
    )


@pytest.fixture
def linked_bench(folder: Path, linked_bench_in: Callable[..., Bench]) -> Bench:
    """Two A100s, which a table lets people have together as gpus-0-1, and which claims may share."""
    return linked_bench_in(folder)


@pytest.fixture
def split_bench(folder: Path) -> Bench:
    """Two A100s whose GPU instances claims may share."""
    return make_bench(folder, "a100x2", None, split=SplitGpus())


@pytest.fixture
def telling_bench(folder: Path) -> Bench:
    """Two A100s that a table joins; containers find metadata files of their devices."""
    return make_bench(folder, "a100x2", None, PAIR, has_metadata=True)


@pytest.fixture
def offering_bench_in() -> Callable[..., Bench]:
    """Make a bench that offers all that a node can, in a folder of one's own."""
    return lambda folder, node, vfs=None: make_bench(
        folder, node, None, PAIR, ALL_MODES, split=SplitGpus(), imex_channels=2, vfs=vfs
    )


@pytest.fixture
def fabric_bench_in() -> Callable[..., Bench]:
    """Make a bench with an HGX H100 in Shared NVSwitch mode, in a folder of one's own; without VFs."""

    def make(folder: Path, linked: LinkedGpus | None = None, modes: GpuModes | None = None) -> Bench:
        return make_bench(folder, shared_nvswitch.NAME, None, linked, modes, file=shared_node())

    return make


@pytest.fixture
def fabric_bench(folder: Path, fabric_bench_in: Callable[..., Bench]) -> Bench:
    """An HGX H100 whose fabric manager joins GPUs on request; the options say nothing of it."""
    return fabric_bench_in(folder)


@pytest.fixture
def infiniband_bench_in() -> Callable[..., Bench]:
    """Make a bench whose InfiniBand VFs have no GUIDs, in a folder of one's own; three are made on demand."""
    return lambda folder, *changes: make_bench(
        folder, infiniband_vfs.NAME, None, vfs=infiniband_vfs.ON_DEMAND, file=infiniband_node(*changes)
    )


@pytest.fixture
def infiniband_bench(folder: Path, infiniband_bench_in: Callable[..., Bench]) -> Bench:
    """The same."""
    return infiniband_bench_in(folder)


@pytest.fixture
def vf_bench_in() -> Callable[[Path, VfRules | None], Bench]:
    """Make a bench with a NIC that has two VFs and one that has none, and rules for their number."""
    return lambda folder, rules: make_bench(folder, "a30x4", None, vfs=rules)


@pytest.fixture
def vf_bench(folder: Path) -> Bench:
    """The same; three VFs of the second NIC are made on demand."""
    return make_bench(folder, "a30x4", None, vfs=ON_DEMAND)


@pytest.fixture(scope="session")
def dgx_devices() -> Iterator[NodeDevices]:
    """What a DGX A100 offers."""
    with short_folder() as name:
        simulated = SimulatedMachine.open(load_node("dgx-a100"), Path(name))
        yield devices_of(machine_of(simulated), "dgx-a100")


@pytest.fixture
def claim_of() -> Callable[..., AllocatedClaim]:
    """Make an allocated claim: UID, pool, devices."""
    return allocated


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def reports(bench: Bench, cluster: Cluster, clock: Clock) -> Reports:
    """What the cluster is to be told; nothing is written before a test delivers it."""
    return Reports(RecordStore(bench.options.claims_dir), cluster, cluster, clock, lambda: NOW_S + clock.now)


@pytest.fixture
def deliver(reports: Reports, clock: Clock) -> Callable[[], float | None]:
    """Let the time pass that a change waits, then write."""

    def run() -> float | None:
        clock.now += 0.5
        return reports.deliver()

    return run
