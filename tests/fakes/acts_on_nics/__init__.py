"""A simulated machine on which anything may be done to NICs in any order, as hypothesis chooses."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from hypothesis import strategies as st

from agent.hardware.nics.links import Rename, SetUp
from agent.hardware.nics.types import VFIO_PCI, DriverBinding
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, parse_fault
from agent.hardware.types import Bdf

PF, VF, SIBLING = Bdf("0000:19:00.0"), Bdf("0000:19:00.2"), Bdf("0000:19:00.3")
NODE = load_node("a30x4")
ORIGINAL = DriverBinding("mlx5_core")

FAULTS = [
    "machine:no-vfio",
    "nic-0:no-iommu",
    "nic-0:shared-iommu",
    "nic-0:no-rdma",
    "nic-0:late-rdma=1",
    "nic-0:fewer-vfs=1",
]

ACT = st.one_of(
    st.tuples(st.just("count"), st.sampled_from(["0000:19:00.0", "0000:19:00.1"]), st.integers(0, 4)),
    st.tuples(st.just("vfio"), st.sampled_from([PF, VF, SIBLING])),
    st.tuples(st.just("restore"), st.sampled_from([VF, SIBLING])),
    st.tuples(st.just("in"), st.sampled_from([VF, SIBLING]), st.sampled_from(["fast0", "fast1"])),
    st.tuples(st.just("end")),
    st.tuples(
        st.just("fault"),
        st.sampled_from(FAULTS),
    ),
    st.tuples(st.just("clear")),
    st.tuples(st.just("read"), st.sampled_from([VF, SIBLING])),
    st.tuples(st.just("rename"), st.sampled_from([VF, SIBLING]), st.sampled_from(["fast0", "fast1"])),
)
ACTS = st.lists(ACT, max_size=8)


class Acting:
    """A machine on which anything may be done in any order; refusals are answers too."""

    def __init__(self, folder: Path) -> None:
        self.machine = SimulatedMachine.open(NODE, folder / "machine")
        self.nics = simulated_hardware(self.machine).nics
        self.pod = folder / "pod"
        self.pod.touch()

    def do(self, act: tuple) -> None:
        match act:
            case ("count", pf, count):
                self.nics.functions.set_vf_count(Bdf(pf), count)
            case ("vfio", bdf):
                self.nics.functions.give_to(bdf, VFIO_PCI)
            case ("restore", bdf):
                self.nics.functions.restore(bdf, ORIGINAL)
            case ("in", bdf, name):
                self.nics.interfaces.move_in(bdf, self.pod, WantedInterface(name=name))
            case ("end",):
                self.pod.unlink()
                self.pod.touch()
                self.nics.interfaces.find(VF)
            case ("fault", fault):
                self.machine.inject(parse_fault(fault))
            case ("clear",):
                self.machine.clear_faults()
            case ("read", bdf):
                self.nics.reader.rdma_devices(bdf)
            case ("rename", bdf, name):
                self._rename(bdf, name)

    def _rename(self, bdf: Bdf, name: str) -> None:
        link = self.nics.interfaces.find(bdf)
        if link is not None:
            with suppress(OSError):
                for step in (SetUp(link.name, False), Rename(link.name, name)):
                    self.nics.interfaces.kernel.apply(None, step)
