"""What the files of each NIC function show in a state: compared to find what must be rendered again.

Pure: takes a machine and a state; returns one view per function.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.hardware.guids import NO_GUID
from agent.hardware.simulated.devices import Nic
from agent.hardware.simulated.nic_state import FunctionState, LinkState
from agent.hardware.simulated.nics.functions import VFIO, Function, functions_of
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.state import State


@dataclass(frozen=True, slots=True)
class View:
    """What the files of one function show.

    Shape: ``link`` None unless it is in the host's namespace; ``group`` its IOMMU group, None without one;
           ``has_carrier`` of the link while it is up; ``is_port_active`` of the RDMA device's port,
           ``guids`` of the device and of its port.
    """

    function: Function
    driver: str | None
    override: str | None
    link: LinkState | None
    has_rdma: bool
    group: int | None
    has_carrier: bool = True
    is_port_active: bool = True
    guids: tuple[str, str] = (NO_GUID, NO_GUID)

    @property
    def is_vfio(self) -> bool:
        """Whether it is given to user space."""
        return self.driver == VFIO


def views(nics: Iterable[Nic], state: State) -> dict[str, View]:
    """Return the view of every function that some NICs have, by address."""
    found = (_view(function, state) for nic in nics for function in functions_of(nic, state))
    return {view.function.bdf: view for view in found}


def _view(function: Function, state: State) -> View:
    own, link = function.of(state), function.link(state)
    return View(
        function,
        own.driver,
        own.override,
        link if link is not None and link.namespace is None else None,
        function.nic.has_rdma and own.driver == function.nic.model.driver and own.reads_left == 0,
        function.group(state),
        function.has_carrier(state),
        function.is_port_active(state),
        function.guids(state),
    )


def changed_nics(node: NodeFile, before: State, after: State) -> tuple[Nic, ...]:
    """Return the NICs whose files may differ: most changes are about GPUs, or about one NIC."""
    if before.faults != after.faults:
        return node.nics
    if (before.vfs, before.functions) == (after.vfs, after.functions):
        return ()
    return tuple(nic for nic in node.nics if _parts(nic, before) != _parts(nic, after))


def _parts(nic: Nic, state: State) -> tuple[int, list[FunctionState | None]]:
    addresses = (nic.bdf, *nic.vf_addresses)
    return state.vfs[nic.bdf], [state.functions.get(address) for address in addresses]
