"""The file of a node's health on disk: the agent writes it, the plugin reads it.

Of two agents during a rolling update the one that writes last counts. Both hear the same: there is no lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from agent.health.file_format import MOST_BYTES, Damaged, decode, encode
from agent.health.state import HealthState
from agent.inventory.numbers.node_file import NodeFile

FOLDER: Final = "health"


def folder_of(kubelet_dir: Path, driver: str, machine: Path | None) -> Path:
    """Return the folder that agent and plugin share: in the plugin's own, or in a simulated machine's."""
    return (kubelet_dir / "plugins" / driver if machine is None else machine) / FOLDER


@dataclass(frozen=True, slots=True)
class StateFile(NodeFile[HealthState]):
    """The health of the devices of one node."""

    MOST: ClassVar[int] = MOST_BYTES

    def _encoded(self, said: HealthState) -> bytes:
        return encode(self.node, said)

    def _decoded(self, data: bytes) -> HealthState:
        if len(data) > MOST_BYTES:
            raise Damaged(f"it is larger than {MOST_BYTES} bytes")
        return decode(self.node, data)
