"""Reads Koordinator's Device object, one per node: its devices and its table of partitions.

Source: scheduling.koordinator.sh/v1alpha1 Device; the annotation and label of "GPU Partitioning APIs".
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.annotations.errors import InvalidNode
from scheduler_core.frontends.partitions.device_value import KIND, DeviceObject
from scheduler_core.frontends.partitions.node_table import node_table_of
from scheduler_core.frontends.pods.amounts import NAMES
from scheduler_core.frontends.pods.hints import GPU, TYPES
from scheduler_core.frontends.pods.reported import ReportedDevice, ReportedVf, pool_of


def decode_device(obj: object) -> DeviceObject:
    """Read a Device object. Types that no pod can ask for are ignored.

    Raises: InvalidNode for the first mistake, with its path.
    """
    subject = subject_of(obj, KIND)
    fields = Fields(obj, subject, "", InvalidNode)
    node = fields.child("metadata").text("name")
    devices = tuple(_devices(fields.child("spec")))
    minors = [one.minor for one in devices if one.kind == GPU]
    return DeviceObject(node, pool_of(node, devices), node_table_of(fields.values, minors))


def _devices(spec: Fields) -> Iterator[ReportedDevice]:
    seen: set[tuple[str, int]] = set()
    for one in spec.children("devices"):
        kind = one.text("type")
        if kind not in TYPES:
            continue
        minor = one.integer("minor", least=0)
        if (kind, minor) in seen:
            raise one.refuse("minor", f"is listed twice: every {kind} has its own minor", minor)
        seen.add((kind, minor))
        place = one.optional("topology")
        yield ReportedDevice(
            kind=kind,
            minor=minor,
            pcie=place.text("pcieID", "") or None,
            numa=place.integer("nodeID", least=-1) if place.has("nodeID") else None,
            bus_id=place.text("busID", "") or None,
            labels=_labels(one),
            is_healthy=one.flag("health", False),
            total=_total(one.optional("resources")),
            vfs=tuple(_vfs(one)),
        )


def _vfs(device: Fields) -> Iterator[ReportedVf]:
    for group in device.children("vfGroups"):
        labels = _labels(group)
        for vf in group.children("vfs"):
            yield ReportedVf(bus_id=vf.text("busID"), labels=labels)


def _labels(fields: Fields) -> dict[str, str]:
    labels = fields.optional("labels")
    return {key: labels.text(key) for key in labels.values}


def _total(resources: Fields) -> dict[str, int]:
    found = {}
    for name in NAMES:
        if resources.has(name):
            quantity = resources.quantity(name)
            if quantity.nano < 0 or not quantity.is_whole:
                raise resources.refuse(name, "must be a whole number, not negative", resources.values[name])
            found[name] = quantity.whole
    return found
