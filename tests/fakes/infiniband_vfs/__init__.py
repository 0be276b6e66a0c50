"""A machine with two InfiniBand NICs whose driver leaves VFs without GUIDs, as ConnectX does."""

from __future__ import annotations

from collections.abc import Mapping

from devices_of_kinds import NETDEV, Example

from agent.hardware.guids import NO_GUID
from agent.hardware.nics.ports import NicReader
from agent.hardware.simulated import NodeFile, parse_node
from agent.hardware.types import Bdf
from agent.inventory.vfs.rules import VfRule, VfRules
from plugin.kinds.nic_vf.netdev import NetdevVfKind
from plugin.kinds.nic_vf.rdma import RdmaVfKind
from plugin.kinds.nic_vf.vfio import VfioVfKind
from plugin.kinds.table import AnyKind

NAME = "infiniband-vfs"
TEXT = """
name: infiniband-vfs
summary: two InfiniBand NICs; the first has two VFs
topology: illustrative
driver: null
numa: [{node: 0, socket: 0, cpus: 0-15, distances: [10]}]
pci:
- root_complex: pci0000:20
  numa_node: 0
  root_ports:
  - port: "0000:20:01.0"
    below:
    - {kind: nic, bdf: "0000:21:00.0", model: connectx-7, link: infiniband, guids: false,
       vfs: 2, total_vfs: 3}
  - port: "0000:20:02.0"
    below:
    - {kind: nic, bdf: "0000:22:00.0", model: connectx-7, link: infiniband, guids: false, total_vfs: 3}
"""
PF, OTHER_PF = Bdf("0000:21:00.0"), Bdf("0000:22:00.0")
VF_BDF, SIBLING_BDF = Bdf("0000:21:00.1"), Bdf("0000:21:00.2")
VF, SIBLING = "nic-0000-21-00-0-vf-0", "nic-0000-21-00-0-vf-1"
VF_ON_DEMAND = "nic-0000-22-00-0-vf-1"
ON_DEMAND = VfRules({str(OTHER_PF): VfRule(3, on_demand=True)})
EXAMPLES: Mapping[type[AnyKind], Example] = {
    kind: Example(VF, node=NAME, parameters={"kind": "VfConfig", **parameters}, has_facts=True)
    for kind, parameters in (
        (RdmaVfKind, {}),
        (VfioVfKind, {"mode": "vfio"}),
        (NetdevVfKind, {"mode": "netdev", "netdev": NETDEV}),
    )
}


def example_of(kind: str) -> Example:
    """Return the example of a kind by the kind's name."""
    return next(example for row, example in EXAMPLES.items() if row.__name__ == kind)


def infiniband_node(old: str = "", new: str = "") -> NodeFile:
    """The machine, with one text of its file in the place of another."""
    assert old in TEXT
    return parse_node(NAME, TEXT.replace(old, new) if old else TEXT)


def guids_of(reader: NicReader, function: Bdf) -> tuple[str | None, str | None]:
    """Return the GUIDs that the RDMA device of a function shows."""
    (device,) = reader.rdma_devices(function)
    return device.node_guid, device.port_guid


NONE = (NO_GUID, NO_GUID)
