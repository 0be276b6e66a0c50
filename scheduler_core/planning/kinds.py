"""Kinds of devices: devices of one driver with equal values of some attributes, and claims for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import Claim, ClaimRef, DeviceClass, DeviceRequest, Request
from scheduler_core.model.names import qualified
from scheduler_core.model.pool import Pool

EVERY_DEVICE: Final = DeviceClass(name="planning/every-device")
"""A class of all devices. No class of a cluster can have its name, which has a slash."""


@dataclass(frozen=True, slots=True, order=True)
class DeviceKind:
    """Devices of one driver with equal values.

    Shape: ``values`` are pairs of an attribute's name, without the driver's domain, and its value.
    """

    driver: str
    values: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """Return what people call it: the last of its values."""
        return self.values[-1][1]

    def claim(self, ref: ClaimRef, count: int = 1) -> Claim:
        """Return a claim for devices of the kind. It needs the class ``EVERY_DEVICE``."""
        own = f'device.attributes["{self.driver}"]'
        selectors = [f'device.driver == "{self.driver}"']
        selectors += [f"{own}[?{_quoted(key)}].orValue('') == {_quoted(value)}" for key, value in self.values]
        asked = DeviceRequest(
            name="devices", class_name=EVERY_DEVICE.name, selectors=(" && ".join(selectors),), count=count
        )
        return Claim(ref=ref, requests=(Request(name=asked.name, alternatives=(asked,)),))


def kinds_of(pools: Iterable[Pool], keys: Sequence[str]) -> tuple[DeviceKind, ...]:
    """Return the kinds of the devices of pools.

    Shape: by driver and values; a device that has none of the attributes is of no kind.
    """
    found: set[DeviceKind] = set()
    for pool in pools:
        names = [(key, qualified(key, pool.id.driver)) for key in keys]
        for device in pool.devices:
            values = [(key, device.attributes.get(name)) for key, name in names]
            texts = tuple((key, value) for key, value in values if isinstance(value, str))
            if texts:
                found.add(DeviceKind(pool.id.driver, texts))
    return tuple(sorted(found))


def _quoted(text: str) -> str:
    """Return a text as a CEL literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
