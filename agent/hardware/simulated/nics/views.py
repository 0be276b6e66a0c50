"""What the files of each NIC function show in a state: compared to find what must be rendered again.

Pure: a machine and a state enter, one view per function leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.hardware.simulated.nic_state import KERNEL_DRIVER, LinkState
from agent.hardware.simulated.nics.functions import VFIO, Function, functions_of
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.state import State


@dataclass(frozen=True, slots=True)
class View:
    """What the files of one function show.

    Shape: ``link`` None unless it is in the host's namespace; ``group`` its IOMMU group, None without one.
    """

    function: Function
    driver: str | None
    override: str | None
    link: LinkState | None
    has_rdma: bool
    group: int | None

    @property
    def is_vfio(self) -> bool:
        """Whether it is given to user space."""
        return self.driver == VFIO


def views(node: NodeFile, state: State) -> dict[str, View]:
    """Return the view of every function that exists, by address."""
    found = (_view(function, state) for nic in node.nics for function in functions_of(nic, state))
    return {view.function.bdf: view for view in found}


def _view(function: Function, state: State) -> View:
    own, link = function.of(state), function.link(state)
    return View(
        function,
        own.driver,
        own.override,
        link if link is not None and link.namespace is None else None,
        own.driver == KERNEL_DRIVER and own.reads_left == 0,
        function.group(state),
    )


def is_same(before: State, after: State) -> bool:
    """Whether no file of a NIC can differ: most changes are about GPUs."""
    return (before.vfs, before.functions, before.faults) == (after.vfs, after.functions, after.faults)
