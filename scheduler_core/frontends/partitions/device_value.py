"""What Koordinator's Device object says of one node.

It is apart from what reads it, which takes long to load and few files need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.pool import Pool

if TYPE_CHECKING:
    from scheduler_core.frontends.partitions.node_table import NodeTable

KIND: Final = "Device"
API_VERSION: Final = "scheduling.koordinator.sh/v1alpha1"


@dataclass(frozen=True, slots=True)
class DeviceObject:
    """The devices of one node. Shape: ``pool`` has the name of the node."""

    node: str
    pool: Pool
    table: NodeTable
