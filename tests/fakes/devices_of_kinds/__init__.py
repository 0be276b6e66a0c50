"""A device of every kind to try, and a machine that tells of each call that changes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from agent.hardware.clients.ports import GpuClients
from agent.hardware.fabric.ports import FabricReader
from agent.hardware.mps.ports import MpsReader
from agent.hardware.nics.ports import NicReader, Nics
from agent.hardware.ports import BootReader, DriverFiles, GpuFacts, GpuReader, Machine, PciReader
from agent.hardware.simulated import SimulatedMachine
from agent.hardware.simulated.nic_state import FunctionState
from agent.hardware.simulated.nics.functions import find
from agent.hardware.simulated.state import StateFile
from agent.inventory.modes import GpuModes
from agent.inventory.published import NicVf
from agent.inventory.vfs.rules import VfRule, VfRules
from plugin.kinds.gpus_under_mps.share import MpsGpuKind
from plugin.kinds.gpus_under_mps.whole import GpuUnderMpsKind
from plugin.kinds.imex_channel import ImexChannelKind
from plugin.kinds.kind import PreparableKind
from plugin.kinds.mig_partition.compute_kind import ComputeInstanceKind
from plugin.kinds.mig_partition.kind import MigPartitionKind
from plugin.kinds.mig_partition.under_mps import MigUnderMpsKind
from plugin.kinds.netdev_nic import NetdevNicKind
from plugin.kinds.nic_vf.netdev import NetdevVfKind
from plugin.kinds.nic_vf.rdma import RdmaVfKind
from plugin.kinds.nic_vf.vfio import VfioVfKind
from plugin.kinds.rdma_nic import RdmaNicKind
from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind
from plugin.kinds.whole_gpus.gpu_partition import GpuPartitionKind
from plugin.kinds.whole_gpus.shared_gpu import SharedGpuKind
from plugin.kinds.whole_gpus.whole_gpu import WholeGpuKind
from plugin.kinds.whole_gpus.whole_gpu_in_turns import GpuInTurnsKind
from plugin.machine.made_vfs import MadeVfStore
from plugin.machine.mig.made import MadeModes
from plugin.machine.mig.modes import MigModes
from plugin.machine.vf_supply import VfSupply
from plugin.machine.waiting import Waiting
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.claim import AllocatedDevice, OpaqueConfig
from scheduler_core.model.device import DeviceId, DeviceName

_READERS = (
    *(BootReader, DriverFiles, FabricReader, GpuFacts, GpuClients, GpuReader, MpsReader, NicReader),
    PciReader,
)
READING = {name for port in _READERS for name in vars(port)} | {"read", "find", "refuse_taken"}
"""The methods of a machine that change nothing."""


@dataclass(frozen=True)
class Example:
    """A device of one kind.

    Shape: ``node`` the machine that has it; ``parameters`` its configuration; ``in_mig_mode`` the GPUs that
           somebody left in MIG mode, so that no crash point is skipped; ``parts`` how often the kind's crash
           points happen; ``has_facts`` whether setting it up adds any; ``requests`` how many
           changes of NICs the kernel is asked for while it is set up, and while it is taken down.
    """

    device: str
    node: str = "a100x2"
    parameters: Mapping[str, Any] | None = None
    in_mig_mode: tuple[int, ...] = ()
    parts: int = 1
    has_facts: bool = False
    requests: tuple[int, int] = (0, 0)

    @property
    def configs(self) -> tuple[OpaqueConfig, ...]:
        """The configuration of a claim for it."""
        if self.parameters is None:
            return ()
        parameters = {"apiVersion": "tangram.dev/v1alpha1", **self.parameters}
        return (OpaqueConfig(driver="tangram.dev", parameters=parameters),)

    def prepare(self, bench: Any) -> None:
        """Bring the machine into the state in which setting up the device needs every call."""
        for minor in self.in_mig_mode:
            bench.simulated.gpus.set_mig_mode(bench.uuid(minor), enabled=True)


SHARE_ID = "5a3c1a3e-1c1a-4a3e-9c1a-3e1c1a4a3e9c"


def allocated_device(
    device: str,
    node: str,
    request: str = "r",
    driver: str = "tangram.dev",
    memory: str = "10Gi",
    *,
    admin_access: bool = False,
) -> AllocatedDevice:
    """Return a result for a device; of a GPU that claims share, a share of its memory."""
    name = DeviceId(driver, node, DeviceName(device))
    if not device.endswith(("-shared", "-mps")):
        return AllocatedDevice(request, name, admin_access)
    consumed = {"memory": Quantity.parse(memory), f"{driver}/multiprocessors": Quantity.of(0)}
    return AllocatedDevice(request, name, admin_access, share_id=SHARE_ID, consumed=consumed)


VF_SETTINGS: Mapping[str, Any] = {
    "mac": "02:00:00:00:00:07",
    "vlan": {"id": 100, "qos": 3},
    "minTxRate": 100,
    "maxTxRate": 1000,
    "spoofCheck": False,
    "trust": True,
    "linkState": "enable",
}
"""All settings that a PF keeps of a VF, each other than what a new VF has."""

MPS_SHARING: Mapping[str, Any] = {
    "strategy": "MPS",
    "mpsConfig": {"defaultActiveThreadPercentage": 50, "defaultPinnedDeviceMemoryLimit": "2Gi"},
}

SHORT_TURNS: Mapping[str, Any] = {
    "kind": "GpuConfig",
    "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Short"}},
}
NETDEV: Mapping[str, Any] = {
    "name": "fast0",
    "mtu": 1400,
    "addresses": ["10.9.0.2/24", "fd00:9::2/64"],
    "routes": [{"destination": "10.8.0.0/16", "gateway": "10.9.0.1"}],
}
"""An interface that differs from the host's in everything."""

EXAMPLES: Mapping[type[AnyKind], Example] = {
    WholeGpuKind: Example("gpu-0", in_mig_mode=(0,)),
    GpuUnderMpsKind: Example(
        "gpu-0", in_mig_mode=(0,), parameters={"kind": "GpuConfig", "sharing": MPS_SHARING}
    ),
    MigUnderMpsKind: Example(
        "gpu-0-mig-3g-20gb-4-7", parameters={"kind": "MigConfig", "sharing": MPS_SHARING}, has_facts=True
    ),
    MpsGpuKind: Example("gpu-0-mps", in_mig_mode=(0,)),
    SharedGpuKind: Example("gpu-0-shared", parameters=SHORT_TURNS, in_mig_mode=(0,)),
    GpuInTurnsKind: Example("gpu-0", parameters=SHORT_TURNS, in_mig_mode=(0,)),
    GpuPartitionKind: Example("gpus-0-1", in_mig_mode=(0, 1), parts=2),
    MigPartitionKind: Example("gpu-0-mig-3g-20gb-4-7", has_facts=True),
    ImexChannelKind: Example("imex-channel-1"),
    ComputeInstanceKind: Example("gpu-0-mig-1c-3g-20gb-4-7-ci-1", has_facts=True),
    RdmaVfKind: Example(
        "nic-0000-19-00-0-vf-0",
        node="a30x4",
        parameters={"kind": "VfConfig", **VF_SETTINGS},
        has_facts=True,
        requests=(6, 6),
    ),
    RdmaNicKind: Example("nic-0000-19-00-0", node="a30x4", has_facts=True),
    VfioVfKind: Example(
        "nic-0000-19-00-0-vf-0",
        node="a30x4",
        parameters={"kind": "VfConfig", "mode": "vfio", "trust": True},
        has_facts=True,
        requests=(1 + 3, 1 + 4),
    ),
    NetdevVfKind: Example(
        "nic-0000-19-00-0-vf-0",
        node="a30x4",
        parameters={"kind": "VfConfig", "mode": "netdev", "trust": True, "netdev": NETDEV},
        has_facts=True,
        requests=(1, 1),
    ),
    NetdevNicKind: Example(
        "nic-0000-19-00-0", node="a30x4", parameters={"kind": "NicConfig", **NETDEV}, has_facts=True
    ),
}


WITH_ADMIN_ACCESS = tuple(
    kind for kind in KINDS.preparable if type(kind).find_for_admin is not PreparableKind.find_for_admin
)
"""The kinds whose devices can be looked at."""


def example_of(kind: AnyKind) -> Example:
    return EXAMPLES[type(kind)]


def setting_up(kind: AnyKind) -> list[str]:
    """The calls that change the machine while the example is set up."""
    return list(kind.crash_points.setting_up) * example_of(kind).parts


def taking_down(kind: AnyKind) -> list[str]:
    """The calls that change the machine while the example is taken down."""
    return list(kind.crash_points.taking_down) * example_of(kind).parts


def functions_of(simulated: SimulatedMachine) -> Mapping[str, FunctionState]:
    """Return the functions of NICs that are not as their driver first makes them, by address."""
    return StateFile(simulated.directory).read().functions


def left_of_nics(simulated: SimulatedMachine) -> list[str]:
    """Return what claims could have left of NICs' functions: drivers, overrides, settings of PFs."""
    state = StateFile(simulated.directory).read()
    found = ((function, find(simulated.node, state, bdf)) for bdf, function in state.functions.items())
    return [
        f"{function}: {own}"
        for own, function in found
        if function is not None
        and (new := function.fresh)
        and (own.driver, own.override, own.setting) != (new.driver, new.override, new.setting)
    ]


STEPS_OF_DOCUMENT = 3 + 1
"""How many steps end with a claim that is done: that line is written, then the document."""
STEPS_OF_LOOK = 3 + 2 + 2 + 3
"""How many steps prepare has with admin access: a claim is coming, its plan, it is done, the document."""
STEPS_AFTER_LOOK = 2 + 2 + 2
"""How many steps unprepare has then: that it is undone, the document, the record."""


def turns_mode_off(kind: AnyKind) -> bool:
    """Whether a kind undoes the MIG mode: on the examples' GPUs a file says that this driver turned it on."""
    return "set_mig_mode" in kind.crash_points.taking_down


# A file that is replaced has three steps, what is appended or removed two, a call two.
def steps_of_prepare(kind: AnyKind) -> int:
    """How many steps prepare has: a claim is coming, its plan, the device, it is done, the document."""
    noted = len(kind.crash_points.noted) * example_of(kind).parts
    device = 2 * len(setting_up(kind)) + 2 * example_of(kind).requests[0] + 3 * turns_mode_off(kind)
    return 3 + 2 + device + 2 * noted + 2 + 3


def steps_of_unprepare(kind: AnyKind) -> int:
    """How many steps unprepare has: that it is undone, the document, the device, the record."""
    device = 2 * len(taking_down(kind)) + 2 * example_of(kind).requests[1] + 2 * turns_mode_off(kind)
    return 2 + 2 + device + 2


def told(machine: Machine, before: Callable[[str], None], after: Callable[[str], None]) -> Machine:
    """Return the machine with each call that changes it told before and after it is made."""

    def ports_of(parts: Any) -> dict[str, Any]:
        return {one.name: _Port(getattr(parts, one.name), before, after) for one in fields(parts)}

    nics = Nics(**ports_of(machine.nics))
    return replace(machine, **{**ports_of(machine), "nics": nics})


class _Port:
    def __init__(self, port: Any, before: Callable[[str], None], after: Callable[[str], None]) -> None:
        self._port = port
        self._before = before
        self._after = after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name in READING:
            return method

        def call(*arguments: Any, **more: Any) -> Any:
            self._before(name)
            answer = method(*arguments, **more)
            self._after(name)
            return answer

        return call


def waiting_of(bench: Any) -> Waiting:
    """Return how long a call waits for the machine of a bench."""
    return Waiting(most_s=5.0, clock=bench.clock, sleep=bench.clock.sleep)


def modes_of(bench: Any, policy: GpuModes | None = None, machine: Machine | None = None) -> MigModes:
    """Return what changes the MIG modes of a bench, or of a machine that stands before the bench's."""
    machine = machine or bench.machine
    return MigModes(
        gpus=machine.gpus,
        clients=machine.clients,
        waiting=waiting_of(bench),
        made=MadeModes(bench.options.mig_modes_dir),
        policy=policy or GpuModes(),
    )


def vfs_of(bench: Any) -> VfSupply:
    """Return the VFs of a bench, where nobody knows what other claims hold."""
    boot_id = bench.machine.boot.boot_id()
    return VfSupply(bench.machine.nics, MadeVfStore(bench.options.made_vfs_dir), boot_id, lambda: None)


ON_DEMAND = VfRules({"0000:19:00.1": VfRule(3, on_demand=True)})
"""Of node a30x4: a NIC without VFs gets three when a claim needs one."""
STATIC = VfRules({"0000:19:00.1": VfRule(3)})
VF_ON_DEMAND = "nic-0000-19-00-1-vf-1"
VF_KINDS = tuple(kind for kind in KINDS.preparable if kind.published is NicVf)
