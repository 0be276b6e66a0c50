"""Devices of ``resource.k8s.io/v1`` that come as JSON text: text that came before is not parsed again.

API servers write equal values as equal text, and the devices of a cluster consist of few different parts.
``v1_device`` reads every part that is new, so what is accepted, refused and said is the same as there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.attributes import read_new_attributes
from scheduler_core.codec.decoded import Decoded
from scheduler_core.codec.fields import Fields
from scheduler_core.codec.v1_device import NO_BINDING, read_device
from scheduler_core.model.device import AttributeValue, Device, DeviceName, Draw, QualifiedName
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.taints import Taint

Parse = Callable[[bytes], Any]
"""Returns what a JSON text says."""
_Attributes = Mapping[QualifiedName, AttributeValue]
_Capacities = tuple[Mapping[QualifiedName, Quantity], Mapping[QualifiedName, RequestPolicy]]

_PARTS: Final = ("attributes", "capacity", "consumesCounters", "taints")

_attributes: Final[Decoded[_Attributes]] = Decoded(4096)
_capacities: Final[Decoded[_Capacities]] = Decoded(4096)
_draws: Final[Decoded[tuple[Draw, ...]]] = Decoded(4096)
_taints: Final[Decoded[tuple[Taint, ...]]] = Decoded(4096)


class DeviceText(Protocol):
    """A device that has no other fields than these. Shape: a part is empty where the device has none."""

    name: str
    attributes: bytes
    capacity: bytes
    consumes_counters: bytes
    taints: bytes


@dataclass(frozen=True, slots=True)
class DeviceTextReader:
    """Reads the devices of one slice. Shape: ``nodes`` is None where each device has its own selection."""

    driver: str
    nodes: NodeSelection | None
    parse: Parse

    def read(self, text: DeviceText, place: Fields, name: DeviceName) -> Device:
        """Read the device at a place of the slice. Raises: InvalidSlice, as ``read_device`` does."""
        parts = (
            bytes(text.attributes),
            bytes(text.capacity),
            bytes(text.consumes_counters),
            bytes(text.taints),
        )
        capacities, draws = _capacities.get((self.driver, parts[1])), _draws.get(parts[2])
        taints = _taints.get(parts[3])
        if capacities is None or draws is None or taints is None or self.nodes is None:
            return self._read_all(parts, place, name)
        attributes = self._attributes(parts[0], place)
        if len(attributes) + len(capacities[0]) > limits.PROPERTIES:
            return self._read_all(parts, place, name)
        return Device(
            name=name,
            attributes=attributes,
            capacity=capacities[0],
            draws=draws,
            nodes=self.nodes,
            taints=taints,
            binding=NO_BINDING,
            policies=capacities[1],
        )

    def _attributes(self, part: bytes, place: Fields) -> _Attributes:
        known = _attributes.get((self.driver, part))
        if known is not None:
            return known
        body = self._body((part,), place)
        return _attributes.put(
            (self.driver, part), read_new_attributes(body.optional(_PARTS[0]), self.driver)
        )

    def _read_all(self, parts: Sequence[bytes], place: Fields, name: DeviceName) -> Device:
        """Parse and read all parts, and remember them."""
        device = read_device(self._body(parts, place), name, self.driver, self.nodes)
        _attributes.put((self.driver, parts[0]), device.attributes)
        _capacities.put((self.driver, parts[1]), (device.capacity, device.policies))
        _draws.put(parts[2], device.draws)
        _taints.put(parts[3], device.taints)
        return device

    def _body(self, parts: Sequence[bytes], place: Fields) -> Fields:
        """Return the device as a document of some parts."""
        values = {key: self.parse(part) for key, part in zip(_PARTS, parts, strict=False) if part}
        return Fields(values, place.subject, place.path, place.error)
