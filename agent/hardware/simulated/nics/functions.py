"""The functions of a machine's NICs in one state: which there are, and what each one is.

Pure: takes a node file and a state. A function that the state does not list is as its driver first makes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as replace_site
from typing import Final

from msgspec.structs import replace

from agent.hardware import guids
from agent.hardware.nics.types import LinkState as VfLinkState
from agent.hardware.simulated.devices import Nic
from agent.hardware.simulated.faults import NicTrouble
from agent.hardware.simulated.nic_state import (
    KERNEL_DRIVER,
    NEVER,
    FunctionState,
    LinkState,
    SettingState,
)
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.state import State
from agent.hardware.simulated.strikes import trouble
from agent.hardware.simulated.tree import Site
from agent.hardware.types import Bdf

VFIO: Final = "vfio-pci"
_PREFIX: Final = {"ethernet": "en", "infiniband": "ib", "unspecified": "en"}
_ADDRESS_BYTES: Final = {"ethernet": 6, "infiniband": 20, "unspecified": 6}
_FIRST_GROUP: Final = 20
_FIRST_INDEX: Final = 10
_NO_MAC: Final = "00:00:00:00:00:00"


@dataclass(frozen=True, slots=True)
class Function:
    """One function of a NIC. Shape: ``index`` of a VF, None for the PF."""

    nic: Nic
    index: int | None

    @property
    def bdf(self) -> Bdf:
        """Return its address."""
        return self.nic.bdf if self.index is None else self.nic.vf_address(self.index)

    @property
    def site(self) -> Site:
        """Return its place in the PCIe tree: a VF lies beside its PF."""
        return replace_site(self.nic.site, bdf=self.bdf, folder=self.folder)

    @property
    def folder(self) -> str:
        """Return its folder in sysfs, relative to the root."""
        return f"{self.nic.site.folder.rpartition('/')[0]}/{self.bdf}"

    @property
    def number(self) -> int:
        """Return a number that no other function of the machine has, present or not."""
        return self.nic.first_verbs + (0 if self.index is None else 1 + self.index)

    @property
    def rdma_device(self) -> str:
        """Return the name of its RDMA device."""
        number = self.nic.number if self.index is None else self.nic.first_rdma + self.index
        return f"{self.nic.model.driver.removesuffix('_core')}_{number}"

    @property
    def software_rdma_device(self) -> str | None:
        """Return the name of the RDMA device that software makes on the NIC's interface, None without one."""
        kind = self.nic.form.software_rdma if self.index is None else None
        return f"{kind}_{self.netdev}" if kind else None

    @property
    def netdev(self) -> str:
        """Return the name that its link first has: from its PF's address, as systemd's names are."""
        domain, bus, rest = self.nic.bdf.split(":")
        device, function = rest.split(".")
        number = f"f{function}" if function != "0" else ""
        suffix = "" if self.index is None else f"v{self.index}"
        where = f"P{int(domain, 16)}" if int(domain, 16) else ""
        return f"{_PREFIX[self.nic.form.link]}{where}p{int(bus, 16)}s{int(device, 16)}{number}{suffix}"

    @property
    def link_index(self) -> int:
        """Return the kernel's number of its link."""
        return _FIRST_INDEX + self.number

    def of(self, state: State) -> FunctionState:
        """Return what it is in a state."""
        return state.functions.get(self.bdf, self.fresh)

    @property
    def fresh(self) -> FunctionState:
        """Return what its kernel driver first makes of it.

        An InfiniBand VF has no GUIDs, and its port stays down, until its PF is asked for them.
        Source: NVIDIA, SR-IOV with InfiniBand: policy, node and port of a VF.
        """
        state = FunctionState(driver=self.nic.model.driver)
        if self.first_guid != guids.NO_GUID:
            return state
        return replace(state, setting=SettingState(link_state=VfLinkState.DISABLE))

    @property
    def takes_guids(self) -> bool:
        """Whether it is a VF whose GUIDs its PF's driver sets: of the drivers in Linux, mlx5 alone does."""
        is_infiniband_vf = self.index is not None and self.nic.form.link == "infiniband"
        return is_infiniband_vf and self.nic.model.driver == KERNEL_DRIVER

    @property
    def first_guid(self) -> str:
        """Return the GUID with which its driver leaves it, ``NO_GUID`` for none."""
        if self.takes_guids and not self.nic.form.guids:
            return guids.NO_GUID
        return digest(f"{self.bdf} GUID", 8, ":", 1)

    def guids(self, state: State) -> tuple[str, str]:
        """Return the GUIDs of its RDMA device and of that device's port."""
        own = self.of(state)
        return own.node_guid or self.first_guid, own.port_guid or self.first_guid

    def link(self, state: State) -> LinkState | None:
        """Return its network link, None unless it has a kernel driver that makes one."""
        function = self.of(state)
        if function.driver != self.nic.model.driver or not self.nic.has_interface:
            return None
        return function.link or LinkState(self.netdev, self.first_mac(function))

    def first_mac(self, function: FunctionState) -> str:
        """Return the address of a new link: the PF's setting for this VF counts when a driver starts."""
        if function.setting.mac != _NO_MAC:
            return function.setting.mac
        own = digest(self.bdf, _ADDRESS_BYTES[self.nic.form.link], ":", 1)
        if self.nic.form.link != "infiniband":
            return own
        guid = function.port_guid or self.first_guid
        return own[: -len(guid)] + guid  # IP over InfiniBand ends with it

    def group(self, state: State) -> int | None:
        """Return the number of its IOMMU group, None if it has none."""
        if trouble(state, self.nic.number, NicTrouble.NO_IOMMU):
            return None
        is_shared = trouble(state, self.nic.number, NicTrouble.SHARED_IOMMU)
        return _FIRST_GROUP + (self.nic.first_verbs if is_shared else self.number)

    def has_carrier(self, state: State) -> bool:
        """Whether its link has a carrier while it is up. A VF follows its PF unless its setting says more."""
        setting = self.of(state).setting.link_state
        if self.index is not None and setting != VfLinkState.AUTO:
            return setting == VfLinkState.ENABLE
        cable = trouble(state, self.nic.number, NicTrouble.LINK_DOWN)
        return cable is None and (self.nic.form.link == "ethernet" or self._is_port_up(state))

    def is_port_active(self, state: State) -> bool:
        """Whether the port of its RDMA device is active: on Ethernet it needs the link's carrier."""
        return self._is_port_up(state) and self.has_carrier(state)

    def _is_port_up(self, state: State) -> bool:
        is_down = trouble(state, self.nic.number, NicTrouble.PORT_DOWN) is not None
        return not is_down and guids.normal(self.guids(state)[1]) != guids.NO_GUID

    def __str__(self) -> str:
        return f"PCI function {self.bdf}"


def functions(node: NodeFile, state: State) -> Iterator[Function]:
    """Yield all functions that a machine's NICs have in a state, NIC by NIC, the PF first."""
    for nic in node.nics:
        yield from functions_of(nic, state)


def functions_of(nic: Nic, state: State) -> Iterator[Function]:
    """Yield the PF of a NIC and its VFs."""
    yield Function(nic, None)
    for index in range(state.vfs[nic.bdf]):
        yield Function(nic, index)


def uplinks(node: NodeFile, state: State) -> tuple[str, ...]:
    """Return the names of the host's interfaces that carry the node's default route."""
    links = (Function(nic, None).link(state) for nic in node.nics if nic.form.default_route)
    return tuple(link.name for link in links if link is not None and link.namespace is None)


def find(node: NodeFile, state: State, bdf: str) -> Function | None:
    """Return a function by address, None if there is none (now)."""
    for nic in node.nics:
        if nic.bdf == bdf:
            return Function(nic, None)
        for index in range(state.vfs[nic.bdf]):
            if nic.vf_addresses[index] == bdf:
                return Function(nic, index)
    return None


def with_function(state: State, function: Function, own: FunctionState) -> State:
    """Return the state with one function changed."""
    rest = {key: value for key, value in state.functions.items() if key != function.bdf}
    return replace(state, functions=rest if own == function.fresh else {**rest, function.bdf: own})


def with_vfs(state: State, nic: Nic, count: int) -> State:
    """Return the state with exactly so many VFs of a NIC, all of them new.

    They get no driver if the PF is quiet.
    """
    theirs = set(nic.vf_addresses)
    kept = {bdf: function for bdf, function in state.functions.items() if bdf not in theirs}
    state = replace(state, functions=kept, vfs={**state.vfs, nic.bdf: count})
    for index in range(count):
        vf = Function(nic, index)
        driver = None if nic.bdf in state.quiet else nic.model.driver
        state = with_function(state, vf, probed(state, vf, vf.fresh, driver))
    return state


def probed(state: State, function: Function, own: FunctionState, driver: str | None) -> FunctionState:
    """Return a function after a driver took it: its devices are new, the RDMA device may come late.

    The driver reads the GUIDs of a VF when it starts; later settings of the PF count at the next start.
    """
    reads, nic = 0, function.nic
    if driver == nic.model.driver:
        late = trouble(state, nic.number, NicTrouble.LATE_RDMA)
        never = trouble(state, nic.number, NicTrouble.NO_RDMA)
        reads = NEVER if never else (late.count or 0) if late else 0
        if function.takes_guids:
            own = replace(own, node_guid=own.setting.node_guid, port_guid=own.setting.port_guid)
    return replace(own, driver=driver, reads_left=reads, link=None)


def digest(of: str, length: int, separator: str, group: int) -> str:
    """Return an address that belongs to ``of``; the first byte marks it as locally administered."""
    return (b"\x02" + hashlib.sha256(of.encode()).digest())[:length].hex(separator, group)
