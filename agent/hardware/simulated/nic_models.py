"""NIC products: PCI ids of physical and virtual functions, from ``models/pci-ids.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import msgspec

from agent.hardware.simulated.gpu_models import FOLDER

# The oldest BlueField has one name for two ids of different functions, so it cannot be looked up by name.
_AMBIGUOUS: Final = "bluefield"


@dataclass(frozen=True, slots=True)
class NicModel:
    """One NIC product.

    Shape: ids are four lower-case hex digits; ``speed_gbps`` of its fastest port, None if unknown;
           ``pci_class`` of its functions, None for that of its link; ``driver`` is the kernel's.
    """

    name: str
    vendor_id: str
    pf_device_id: str
    vf_device_id: str
    speed_gbps: int | None = None
    driver: str = "mlx5_core"
    pci_class: str | None = None
    has_interface: bool = True
    has_rdma: bool = True


# Source: NVIDIA's product briefs of the adapters, the fastest single port.
_SPEEDS_GBPS: Final = {
    "connectx-5": 100,
    "connectx-6": 200,
    "connectx-6-dx": 200,
    "connectx-6-lx": 50,
    "connectx-7": 400,
    "connectx-8": 800,
    "bluefield-2": 200,
    "bluefield-3": 400,
}

# Cards of other drivers than mlx5. Source: the PCI ID repository, and the device tables of these drivers.
_UNLIKE: Final = (
    NicModel("connectx-3", "15b3", "1003", "1004", 50, driver="mlx4_core", pci_class="028000"),
    NicModel("efa", "1d0f", "efa2", "efa2", 100, driver="efa", has_interface=False),
    NicModel("i350", "8086", "1521", "1520", 1, driver="igb", has_rdma=False),
)


@cache
def nic_models() -> Mapping[str, NicModel]:
    """Return the NIC products by the name that node files use, such as ``connectx-6``."""
    file = _FILES.decode((FOLDER / "pci-ids.json").read_bytes())
    shared_vf = next(row.device_id for row in file.nics if row.function == "VF" and "family" in row.name)
    own_vf = {row.key: row.device_id for row in file.nics if row.function == "VF"}
    listed = {
        row.key: NicModel(
            row.key,
            file.mellanox_vendor_id,
            row.device_id,
            own_vf.get(row.key, shared_vf),
            _SPEEDS_GBPS.get(row.key),
        )
        for row in file.nics
        if row.function == "PF" and row.key != _AMBIGUOUS
    }
    return listed | {model.name: model for model in _UNLIKE}


class _Row(msgspec.Struct, frozen=True):
    name: str
    device_id: str
    function: str

    @property
    def key(self) -> str:
        """Return ``connectx-6-dx`` for ``ConnectX-6 Dx``; text in brackets is dropped."""
        return self.name.partition(" (")[0].strip().lower().replace(" ", "-")


class _File(msgspec.Struct, frozen=True):
    mellanox_vendor_id: str
    nics: tuple[_Row, ...]


_FILES: Final = msgspec.json.Decoder(_File)
