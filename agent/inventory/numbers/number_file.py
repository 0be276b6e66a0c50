"""The file of a node's numbers on disk, which agent and plugin share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from agent.inventory.numbers.file_format import MOST_BYTES, Damaged, decode, encode
from agent.inventory.numbers.node_file import NodeFile
from agent.inventory.numbers.numbering import Numbers

FOLDER: Final = "gpu-numbers"


def folder_of(kubelet_dir: Path, driver: str, machine: Path | None) -> Path:
    """Return the folder that agent and plugin share: in the plugin's own, or in a simulated machine's."""
    return (kubelet_dir / "plugins" / driver if machine is None else machine) / FOLDER


@dataclass(frozen=True, slots=True)
class NumberFile(NodeFile[Numbers]):
    """The numbers of the GPUs of one node."""

    MOST: ClassVar[int] = MOST_BYTES

    def _encoded(self, said: Numbers) -> bytes:
        return encode(self.node, said)

    def _decoded(self, data: bytes) -> Numbers:
        if len(data) > MOST_BYTES:
            raise Damaged(f"it is larger than {MOST_BYTES} bytes")
        return decode(self.node, data)
