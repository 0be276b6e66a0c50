"""A plugin process dies at any call about a NIC or a shared GPU, and its successor puts things right.

Every claim also has a MIG partition of another GPU, which is set up before the NIC and after the share.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from devices_of_kinds import EXAMPLES, Example

from agent.hardware.simulated.faults import Call, Moment
from plugin.kinds.kind import PreparableKind
from plugin.kinds.nic_vf.rdma import RdmaVfKind
from plugin.kinds.nic_vf.vfio import VfioVfKind
from plugin.kinds.rdma_nic import RdmaNicKind
from plugin.kinds.whole_gpus.shared_gpu import SharedGpuKind

MOMENTS = (Moment.BEFORE, Moment.AFTER)
SHARED = ("--gpu-modes", "all=whole,mig,shared")
PARTITIONS = {"a100x2": "gpu-1-mig-3g-20gb-4-7", "a30x4": "gpu-1-mig-2g-12gb-2-3"}
KERNEL_CALLS = {
    "write": (Call.SET_SETTINGS,),
    "give_to": (Call.OVERRIDE, Call.UNBIND, Call.PROBE),
    "set_mig_mode": (Call.SET_MIG_MODE,),
    "set_time_slice": (Call.SET_TIME_SLICE,),
}
OF_GPUS = (Call.SET_MIG_MODE, Call.SET_TIME_SLICE)
"""What the machine is asked for by each method that sets a device up; restoring asks for the same."""
READS = {RdmaVfKind: (Call.READ_SETTINGS, Call.READ_RDMA), RdmaNicKind: (Call.READ_RDMA,)}
"""What is read of a device after its plan is recorded: a process may die there too."""


@dataclass(frozen=True)
class Death:
    """A call at which a process dies. Shape: ``times`` how many processes in turn die of it."""

    kind: type[PreparableKind[Any, Any]]
    call: Call
    moment: Moment
    times: int = 1

    @property
    def example(self) -> Example:
        return EXAMPLES[self.kind]

    @property
    def fault(self) -> str:
        number = "gpu-0" if self.call in OF_GPUS else "nic-0"
        return f"{number}:{self.call}:{self.moment}:{self.times}"

    def __str__(self) -> str:
        return f"{self.kind.__name__}-{self.fault}"


def deaths_in_prepare(kind: type[PreparableKind[Any, Any]]) -> list[Death]:
    calls = [call for method in kind.crash_points.setting_up for call in KERNEL_CALLS[method]]
    return [Death(kind, call, moment) for call in (*calls, *READS.get(kind, ())) for moment in MOMENTS]


def deaths_in_unprepare(kind: type[PreparableKind[Any, Any]]) -> list[Death]:
    """The calls that undo; the successor makes those that were not made, and dies of them too."""
    if not kind.crash_points.taking_down:
        return []
    calls = [call for method in kind.crash_points.setting_up for call in KERNEL_CALLS[method]]
    return [
        Death(kind, call, moment, 2 if moment is Moment.BEFORE else 1) for call in calls for moment in MOMENTS
    ]


PREPARING = [
    death
    for kind in (SharedGpuKind, RdmaVfKind, VfioVfKind, RdmaNicKind)
    for death in deaths_in_prepare(kind)
]
UNDOING = [death for kind in (RdmaVfKind, VfioVfKind) for death in deaths_in_unprepare(kind)]


@pytest.fixture
def site(death: Death, site_of: Callable[..., Any]) -> Any:
    """The machine that has the example of the kind that dies, in the state in which every call is made."""
    site = site_of(death.example.node)
    for minor in death.example.in_mig_mode:
        site.simulated.gpus.set_mig_mode(site.simulated.node.cards[minor].uuid, enabled=True)
    return site


def allocate(site: Any, example: Example) -> Any:
    devices = {"own": example.device, "beside": PARTITIONS[example.node]}
    return site.allocate_kinds(
        "u1", devices, {} if example.parameters is None else {"own": example.parameters}
    )


def expected(example: Example) -> list[tuple[str, str]]:
    devices = (example.device, PARTITIONS[example.node])
    return [(device, f"tangram.dev/claim=u1-{device}") for device in devices]


def dies_in(process: Any, call: Callable[[], object]) -> None:
    with pytest.raises(grpc.RpcError):
        call()
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("death", PREPARING, ids=str)
def test_killed_in_prepare_the_next_process_prepares_it_and_leaves_nothing(
    site: Any, kubelet_of: Callable[..., Any], death: Death
) -> None:
    claim = allocate(site, death.example)
    with site.process(*SHARED) as process:
        site.inject(death.fault)
        dies_in(process, lambda: kubelet_of(site).prepare(claim))

    with site.process(*SHARED):
        after_start = site.leftovers()
        answer = kubelet_of(site).devices(claim)
        kubelet_of(site).undone(claim)

    assert [left for left in after_start if "0 in MIG mode" not in left] == []
    assert answer == expected(death.example)
    assert site.leftovers() == []


@pytest.mark.parametrize("death", UNDOING, ids=str)
def test_killed_while_it_undoes_the_last_successor_leaves_nothing(
    site: Any, kubelet_of: Callable[..., Any], death: Death
) -> None:
    claim = allocate(site, death.example)
    with site.process(*SHARED) as process:
        kubelet_of(site).devices(claim)
        site.inject(death.fault)
        dies_in(process, lambda: kubelet_of(site).unprepare(claim))
    for _ in range(1, death.times):
        with site.process(*SHARED) as process:  # it undoes at its start what it finds half undone
            assert process.wait() == -signal.SIGKILL

    with site.process(*SHARED):
        after_start = site.leftovers()
        answer = kubelet_of(site).devices(claim)
        kubelet_of(site).undone(claim)

    assert after_start == []
    assert answer == expected(death.example)
    assert site.leftovers() == []
