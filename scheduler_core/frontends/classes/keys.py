"""Keys of classes, and which published attributes and capacities they stand for.

A key reads the device's own attribute of that name, then its own capacity of that name, then what this
table says. docs/resource-classes.md prints the table. A key with a domain (``a.example.com/b``) is that
attribute or capacity and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KIND: Final = "Kind"
TYPE: Final = "type"


@dataclass(frozen=True, slots=True)
class KindRow:
    """A value of ``Kind``: the ``type`` that it stands for, and an attribute that must be there too."""

    kind: str
    type: str
    beside: str | None = None


KINDS: Final = (
    # Only NVIDIA's devices tell a CUDA compute capability; "gpu" alone may be anybody's.
    KindRow("nvidia-gpu", "gpu", "cudaComputeCapability"),
    KindRow("nvidia-mig", "mig", "cudaComputeCapability"),
    KindRow("nic", "nic"),
    KindRow("nic-vf", "vf"),
)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key that stands for an attribute of another name.

    Shape: ``attribute`` is qualified where it is not the driver's own. ``prefix`` and ``unit`` are what
           its whole numbers count: ``M`` and ``BPS`` for millions of bits per second.
    """

    key: str
    attribute: str
    prefix: str = ""
    unit: str = ""


KEYS: Final = (
    KeyRow("speed", "linkSpeedMbps", "M", "BPS"),
    KeyRow("model", "productName"),
    KeyRow("numa", "resource.kubernetes.io/numaNode"),
)
AS_PUBLISHED: Final = ("memory", "size")
"""Keys of the seed's examples that are published under their own names."""


def row_of(key: str) -> KeyRow | None:
    """Return the row of a key, None where it is only what devices publish under that name."""
    return next((row for row in KEYS if row.key == key), None)
