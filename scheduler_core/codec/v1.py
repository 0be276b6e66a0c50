"""Decodes and encodes ResourceSlices of ``resource.k8s.io/v1``. It also decodes v1beta1 and v1beta2."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import field, replace
from typing import Any, Final

from scheduler_core.base import limits
from scheduler_core.base.errors import InvalidSlice
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.amounts import write_amounts
from scheduler_core.codec.decoded import Decoded
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.codec.selections import SELECTION, read_selection, write_selection
from scheduler_core.codec.v1_device import read_counters, read_device, read_label, write_device
from scheduler_core.codec.v1_text import DeviceTextReader, Parse
from scheduler_core.dialects.layout import Cut, Layout, cut
from scheduler_core.model.device import Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.names import DRIVER_RULE, NAME_RULE, POOL_RULE, is_dotted_name, is_driver, is_pool
from scheduler_core.model.nodes import AllNodes, AnyOf, NodeSelection, SliceSelection, of_devices
from scheduler_core.model.pool import PartitionableSlices, Pool, PoolId, Rejected

API_VERSION: Final = "resource.k8s.io/v1"
_names: Final[Decoded[DeviceName]] = Decoded(1 << 14)
_NO_COUNTERS: Final[Set[str]] = frozenset()
_SPEC: Final = (
    "driver",
    "pool",
    *SELECTION,
    "perDeviceNodeSelection",
    "devices",
    "sharedCounters",
    "skipNodeOperations",
    "partitionTypeAttribute",  # nothing an allocation reads
)


@dataclass(frozen=True, slots=True, kw_only=True)
class V1Slice:
    """One slice.

    Shape: ``nodes`` is None where each device selects nodes itself; ``full_names`` are the capacities that
           are written with the driver's own domain.
    """

    name: str
    pool: PoolId
    generation: int
    slice_count: int
    nodes: NodeSelection | None
    sources: Mapping[SourceName, Mapping[str, Quantity]] = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    broken: Mapping[DeviceName, str] = field(default_factory=dict)
    full_names: frozenset[QualifiedName] = frozenset()


def encode_pool(pool: Pool, layout: Layout) -> tuple[dict[str, Any], ...]:
    """Return the slices of a projected pool.

    Shape: in the order of their names, counters first; versions in full semver form.
    Raises: CannotProject for a pool that does not fit the old layout.
    """
    return encode_cuts(pool, cut(pool, layout))


def encode_cuts(pool: Pool, cuts: Sequence[Cut]) -> tuple[dict[str, Any], ...]:
    """Return the slices of a projected pool with these contents, which name sets of its sources."""
    own = sorted({repr(device.nodes): device.nodes for device in pool.devices}.items())
    shared = own[0][1] if len(own) == 1 else None
    if not own:
        first = pool.seen_from[0]
        shared = AllNodes() if isinstance(first, AnyOf) else first
    return tuple(_slice(pool, content, index, len(cuts), shared) for index, content in enumerate(cuts))


def _slice(pool: Pool, content: Cut, index: int, count: int, shared: NodeSelection | None) -> dict[str, Any]:
    driver = pool.id.driver
    spec: dict[str, Any] = {
        "driver": driver,
        "pool": {"name": pool.id.name, "generation": pool.generation, "resourceSliceCount": count},
    }
    if shared is not None:
        spec |= write_selection(shared)
    elif content.devices:
        spec["perDeviceNodeSelection"] = True
    else:
        spec["allNodes"] = True
    if content.sources:
        spec["sharedCounters"] = [
            {"name": source, "counters": write_amounts(pool.sources[source])} for source in content.sources
        ]
    if content.devices:
        spec["devices"] = [
            write_device(device, driver, with_nodes=shared is None) for device in content.devices
        ]
    skipped = {device.skipped_operations for device in content.devices}
    if len(skipped) == 1 and (operations := skipped.pop()):
        spec["skipNodeOperations"] = list(operations)
    name = f"{pool.id.name}-{driver}-{index:02d}".replace("/", "-")
    return {"apiVersion": API_VERSION, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def decode_slice(obj: Mapping[str, Any], parse: Parse | None = None) -> V1Slice:
    """Read one slice.

    Shape: with ``parse`` the devices of the object are ``DeviceText``.
    Raises: InvalidSlice where the object as a whole cannot be read.
    """
    top = Fields(obj, subject_of(obj, "ResourceSlice"), "", InvalidSlice)
    spec = top.child("spec")
    spec.only(*_SPEC)
    driver = spec.text("driver", rule=lambda text: None if is_driver(text) else DRIVER_RULE)
    pool = spec.child("pool")
    nodes = read_selection(spec)
    if spec.flag("perDeviceNodeSelection", False) == (nodes is not None):
        raise spec.refuse(
            "", "must have exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection"
        )
    devices, broken = _devices(spec, driver, nodes, parse)
    skipped = spec.texts("skipNodeOperations")
    if skipped:
        devices = [replace(device, skipped_operations=skipped) for device in devices]
    return V1Slice(
        name=top.optional("metadata").text("name", ""),
        pool=PoolId(driver, pool.text("name", rule=lambda text: None if is_pool(text) else POOL_RULE)),
        generation=pool.integer("generation", 1, least=0),
        slice_count=pool.integer("resourceSliceCount", 1, least=1),
        nodes=nodes,
        sources=_sources(spec),
        devices=tuple(devices),
        broken=broken,
        full_names=frozenset() if parse is not None else _full_names(spec, driver),
    )


def _full_names(spec: Fields, driver: str) -> frozenset[QualifiedName]:
    """Return the capacities that the devices write with the driver's own domain: hardly any driver does."""
    own = f"{driver}/"
    devices = (one for one in spec.items("devices", limits.DEVICES) if isinstance(one, Mapping))
    bodies = (one.get("basic") or one for one in devices)
    capacities = (body.get("capacity") for body in bodies if isinstance(body, Mapping))
    names = (key for one in capacities if isinstance(one, Mapping) for key in one)
    return frozenset(QualifiedName(key) for key in names if str(key).startswith(own))


def _sources(spec: Fields) -> dict[SourceName, Mapping[str, Quantity]]:
    found: dict[SourceName, Mapping[str, Quantity]] = {}
    for fields in spec.children("sharedCounters", limits.COUNTER_SETS):
        name = SourceName(read_label(fields, "name"))
        if name in found:
            raise fields.refuse("name", "is listed twice: names must be unique", name)
        if not fields.optional("counters").values:
            raise fields.refuse("counters", "is required: a counter set has at least one counter")
        found[name] = read_counters(fields.child("counters"))
    return found


def _devices(
    spec: Fields, driver: str, nodes: NodeSelection | None, parse: Parse | None
) -> tuple[list[Device], dict[DeviceName, str]]:
    devices: list[Device] = []
    broken: dict[DeviceName, str] = {}
    reader = None if parse is None else DeviceTextReader(driver, nodes, parse)
    for index, one in enumerate(spec.items("devices", limits.DEVICES)):
        values = one if reader is None else {"name": one.name}
        fields = Fields(values, spec.subject, f"{spec.at('devices')}[{index}]", spec.error)
        name = _device_name(fields)
        try:
            if reader is None:
                devices.append(read_device(_body(fields), name, driver, nodes))
            else:
                devices.append(reader.read(one, fields, name))
        except InvalidSlice as error:
            broken[name] = str(error)
    return devices, broken


def _device_name(fields: Fields) -> DeviceName:
    """Return the name. Equal names give one object: nodes of one kind name their devices alike."""
    written = fields.values.get("name")
    known = _names.get(written) if type(written) is str else None
    return known or _names.put(written, DeviceName(fields.text("name", rule=_dotted)))


def _body(fields: Fields) -> Fields:
    """Return the content of a device, which v1beta1 has in ``basic``."""
    if fields.has("basic"):
        fields.only("name", "basic")
        return fields.child("basic")
    values = {key: value for key, value in fields.values.items() if key != "name"}
    return Fields(values, fields.subject, fields.path, fields.error)


def _dotted(text: str) -> str | None:
    """Check a device's name. Dots are allowed as in the proposals; the API server is stricter."""
    return None if is_dotted_name(text) else NAME_RULE


def pools(slices: Iterable[V1Slice]) -> tuple[Pool, ...]:
    """Return every pool of the slices, by driver and name, at its newest generation."""
    by_id: dict[PoolId, list[V1Slice]] = {}
    for one in slices:
        by_id.setdefault(one.pool, []).append(one)
    return tuple(pool_of(by_id[pool]) for pool in sorted(by_id))


def pool_of(slices: Collection[V1Slice]) -> Pool:
    """Return the pool that slices of one driver and pool name form, older generations behind the newest.

    Shape: at least one slice. Slices are read in the order of their names, whatever order they came in.
    """
    older: Pool | None = None
    for generation in sorted({one.generation for one in slices}):
        older = _generation([one for one in slices if one.generation == generation], older)
    assert older is not None, "a pool has at least one slice"
    return older


def _generation(slices: list[V1Slice], older: Pool | None) -> Pool:
    current = sorted(slices, key=lambda one: one.name)
    devices = tuple(device for one in current for device in one.devices)
    sources = {name: amounts for one in current for name, amounts in one.sources.items()}
    broken = {name: reason for one in current for name, reason in one.broken.items()}
    return Pool(
        id=current[0].pool,
        generation=current[0].generation,
        devices=devices,
        sources=sources,
        rejected={name: Rejected(reason, Device(name=name)) for name, reason in broken.items()},
        problem=_problem(current, devices, sources),
        is_complete=len(current) == current[0].slice_count,
        seen_from=tuple(dict.fromkeys(map(_seen_from, current))),
        older=older,
        partitionable=_partitionable(current),
        full_names=frozenset().union(*(one.full_names for one in current)),
        skips_operations=any([one.devices and one.devices[0].skipped_operations for one in current]),
    )


def _seen_from(one: V1Slice) -> SliceSelection:
    """Return from which nodes the slice has a device; one that cannot be read may be anywhere."""
    if one.nodes is not None:
        return one.nodes
    return of_devices([*(device.nodes for device in one.devices), *(AllNodes() for _ in one.broken)])


def _partitionable(slices: list[V1Slice]) -> PartitionableSlices | None:
    """Return what the slices with counter sets, and those with ``perDeviceNodeSelection``, list."""
    ignored = [one for one in slices if one.nodes is None or one.sources]
    if not ignored:
        return None
    others = dict.fromkeys(one.nodes for one in slices if one.nodes is not None and not one.sources)
    names = [name for one in ignored for name in (*(device.name for device in one.devices), *one.broken)]
    return PartitionableSlices(tuple(names), tuple(others))


def _problem(
    slices: list[V1Slice], devices: tuple[Device, ...], sources: Mapping[SourceName, Mapping[str, Quantity]]
) -> str | None:
    """Return why the pool is invalid: in v1 one wrong reference makes the whole pool unusable."""
    names = [device.name for device in devices]
    if len(set(names)) < len(names):
        return f"device {next(name for name in names if names.count(name) > 1)} is listed twice"
    if sum(len(one.sources) for one in slices) > len(sources):
        return "a counter set is listed twice"
    known = {name: amounts.keys() for name, amounts in sources.items()}
    for device in devices:
        for draw in device.draws:
            counters = known.get(draw.source, _NO_COUNTERS)
            if not draw.amounts.keys() <= counters:
                missing = next(name for name in draw.amounts if name not in counters)
                return f"device {device.name} draws {missing} from {draw.source}, which has no such counter"
    return None
