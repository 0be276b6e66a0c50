"""The keys of classes, and the published attributes and capacities that they mean.

A key means the device's own attribute of that name, else its own capacity of that name, else the attribute
in this table, which docs/resource-classes.md prints. A key with a domain (``a.example.com/b``) means only
that attribute or capacity.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.names import domain_and_identifier

KIND: Final = "Kind"
TYPE: Final = "type"


@dataclass(frozen=True, slots=True)
class KindRow:
    """A value of ``Kind``: the ``type`` that it means, and an attribute that is required, too."""

    kind: str
    type: str
    required: str | None = None


KINDS: Final = (
    # Only NVIDIA's devices have a CUDA compute capability; devices of any vendor may have the type "gpu".
    KindRow("nvidia-gpu", "gpu", "cudaComputeCapability"),
    KindRow("nvidia-mig", "mig", "cudaComputeCapability"),
    KindRow("nic", "nic"),
    KindRow("nic-vf", "vf"),
)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key that means an attribute of another name.

    Shape: ``attribute`` has a domain where it is not the driver's own. ``prefix`` and ``unit`` are the unit
           of its whole numbers: ``M`` and ``BPS`` for millions of bits per second.
    """

    key: str
    attribute: str
    prefix: str = ""
    unit: str = ""


KEYS: Final = (
    KeyRow("speed", "linkSpeedMbps", "M", "BPS"),
    KeyRow("model", "productName"),
    KeyRow("numa", "resource.kubernetes.io/numaNode"),
    KeyRow("version", "driverVersion"),
    KeyRow("computeCapability", "cudaComputeCapability"),
)
AS_PUBLISHED: Final = ("memory", "size")
"""Keys of the proposal's examples that are published under their own names."""


_OF_VERSIONS: Final = ("version", "capability")


def names_versions(key: str) -> bool:
    """Whether plain numbers under a key are versions: its name ends so (``cudaDriverVersion``), in any case.

    ``12.10`` in such a text is later than ``12.9``; elsewhere plain numbers are amounts.
    """
    return domain_and_identifier(key)[1].lower().endswith(_OF_VERSIONS)


def row_of(key: str) -> KeyRow | None:
    """Return the row of a key, None where the key only means attributes and capacities of that name."""
    return next((row for row in KEYS if row.key == key), None)
