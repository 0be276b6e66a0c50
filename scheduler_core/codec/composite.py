"""Decodes slices of the composite dialect.

A mistake has one of three consequences. An object that is no slice is refused (InvalidSlice). A device or
mixin of unknown kind makes the pool unusable, because its meaning is unknown. A device or mixin that breaks
a rule is left out with the reason, and the others are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from scheduler_core.base import limits
from scheduler_core.base.errors import InvalidSlice
from scheduler_core.base.quantity import Quantity
from scheduler_core.codec.amounts import read_capacity, read_policies
from scheduler_core.codec.attributes import read_attributes
from scheduler_core.codec.decoded import Decoded, content
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.codec.selections import SELECTION, read_selection
from scheduler_core.codec.v1_device import read_groups, read_only_with, read_taints
from scheduler_core.model.composite import CompositeDevice, CompositeSlice, Mixin
from scheduler_core.model.device import AttributeValue, DeviceName, QualifiedName
from scheduler_core.model.names import (
    DRIVER_RULE,
    NAME_RULE,
    POOL_RULE,
    is_dotted_name,
    is_driver,
    is_pool,
)
from scheduler_core.model.nodes import NodeSelection
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.pool import PoolId

API_VERSION: Final = "tangram.dev/v1alpha1"
KIND: Final = "CompositeResourceSlice"
_SPEC: Final = ("driver", "pool", *SELECTION, "nodeSelectionDelegated", "deviceMixins", "devices")
_COMPOSITE_ONLY: Final = (
    "includes",
    "consumesCapacityFrom",
    "compatibleOnlyWith",
    "allowMultipleAllocations",
)
_mixins: Final[Decoded[Mixin]] = Decoded(4096)
_devices: Final[Decoded[CompositeDevice]] = Decoded(1 << 14)
_DEVICE_KINDS: Final = ("basic", "composite")


def decode_slice(obj: Mapping[str, Any]) -> CompositeSlice:
    """Read one slice.

    Raises: InvalidSlice where the object as a whole cannot be read.
    """
    top = Fields(obj, subject_of(obj, str(obj.get("kind") or "ResourceSlice")), "", InvalidSlice)
    spec = top.child("spec")
    spec.only(*_SPEC)
    driver = spec.text("driver", rule=lambda text: None if is_driver(text) else DRIVER_RULE)
    pool = spec.child("pool")
    nodes = _slice_nodes(spec)
    reading = _Reading(driver=driver, delegated=nodes is None)
    reading.read(spec)
    return CompositeSlice(
        name=top.optional("metadata").text("name", ""),
        pool=PoolId(driver, pool.text("name", rule=lambda text: None if is_pool(text) else POOL_RULE)),
        generation=pool.integer("generation", 1, least=0),
        slice_count=pool.integer("resourceSliceCount", 1, least=1),
        nodes=nodes,
        mixins=tuple(reading.mixins),
        devices=tuple(reading.devices),
        broken_mixins=reading.broken_mixins,
        broken_devices=reading.broken_devices,
        problem=reading.problem,
    )


def _slice_nodes(spec: Fields) -> NodeSelection | None:
    nodes = read_selection(spec)
    delegated = spec.flag("nodeSelectionDelegated", False)
    if delegated == (nodes is not None):
        rule = "must have exactly one of nodeName, nodeSelector, allNodes and nodeSelectionDelegated"
        raise spec.refuse("", rule)
    return nodes


class _Reading:
    """The entries of a slice that are read so far."""

    def __init__(self, driver: str, delegated: bool) -> None:
        self.driver = driver
        self.delegated = delegated
        self.mixins: list[Mixin] = []
        self.devices: list[CompositeDevice] = []
        self.broken_mixins: dict[str, str] = {}
        self.broken_devices: dict[DeviceName, str] = {}
        self.problem: str | None = None

    def read(self, spec: Fields) -> None:
        mixins, devices = list(spec.children("deviceMixins")), list(spec.children("devices"))
        count = len(mixins) + len(devices)
        if count >= limits.COMPOSITE_ITEMS_BELOW:
            rule = f"mixins and devices together must be fewer than {limits.COMPOSITE_ITEMS_BELOW}"
            raise spec.refuse("", f"has {count} mixins and devices; {rule}")
        for fields in mixins:
            self._mixin(fields)
        for fields in devices:
            self._device(fields)
        self._unique(spec)

    def _unique(self, spec: Fields) -> None:
        mixins = [*(mixin.name for mixin in self.mixins), *self.broken_mixins]
        devices = [*(str(device.name) for device in self.devices), *self.broken_devices]
        for key, names in (("deviceMixins", mixins), ("devices", devices)):
            twice = first_repeated(names)
            if twice is not None:
                self.problem = f"{spec.subject}: {spec.at(key)}: {twice!r}: names must be unique"

    def _mixin(self, fields: Fields) -> None:
        key = (self.driver, content(fields.values))
        known = _mixins.get(key)
        if known is not None:
            self.mixins.append(known)
            return
        name = fields.text("name")
        if self._is_unknown(fields, name, ("composite",)):
            return
        try:
            _check_name(fields, name)
            body = fields.child("composite")
            body.only("attributes", "capacity")
            attributes, capacity, policies = self._properties(body)
        except InvalidSlice as error:
            self.broken_mixins[name] = str(error)
            return
        self.mixins.append(Mixin(name=name, attributes=attributes, capacity=capacity, policies=policies))
        if key[1] is not None:
            _mixins.put(key, self.mixins[-1])

    def _device(self, fields: Fields) -> None:
        key = (self.driver, self.delegated, content(fields.values))
        known = _devices.get(key)
        if known is not None:
            self.devices.append(known)
            return
        name = DeviceName(fields.text("name"))
        if self._is_unknown(fields, name, _DEVICE_KINDS):
            return
        try:
            _check_name(fields, name)
            kinds = [kind for kind in _DEVICE_KINDS if fields.has(kind)]
            if len(kinds) != 1:
                raise fields.refuse("", "must have exactly one of basic and composite")
            self.devices.append(self._body(fields.child(kinds[0]), name, is_basic=kinds[0] == "basic"))
        except InvalidSlice as error:
            self.broken_devices[name] = str(error)
            return
        if key[2] is not None:
            _devices.put(key, self.devices[-1])

    def _is_unknown(self, fields: Fields, name: str, known: tuple[str, ...]) -> bool:
        """Whether the kind of an entry is unknown. Such an entry makes the whole pool unusable."""
        unknown = [key for key in fields.values if key not in ("name", *known)]
        if unknown or not any(fields.has(kind) for kind in known):
            found = f"unknown kind {unknown[0]!r}" if unknown else "no kind"
            self.problem = f"{fields.subject}: {fields.path} {name}: {found}; known: {', '.join(known)}"
            return True
        return False

    def _body(self, body: Fields, name: DeviceName, *, is_basic: bool) -> CompositeDevice:
        own = ("attributes", "capacity", "taints")
        body.only(*own, *(() if is_basic else _COMPOSITE_ONLY), *SELECTION)
        attributes, capacity, policies = self._properties(body)
        sources = tuple(body.children("consumesCapacityFrom", limits.SOURCES))
        for fields in sources:
            fields.only("name", "compatibilityGroups")
        return CompositeDevice(
            name=name,
            includes=_references(body),
            sources=tuple(DeviceName(fields.text("name")) for fields in sources),
            groups={
                DeviceName(fields.text("name")): groups
                for fields in sources
                if (groups := read_groups(fields))
            },
            only_with=read_only_with(body),
            attributes=attributes,
            capacity=capacity,
            nodes=self._device_nodes(body),
            is_basic=is_basic,
            is_shareable=body.flag("allowMultipleAllocations", False),
            policies=policies,
            taints=read_taints(body),
        )

    def _device_nodes(self, body: Fields) -> NodeSelection | None:
        nodes = read_selection(body)
        if self.delegated and nodes is None:
            raise body.refuse("", "must have one of nodeName, nodeSelector, allNodes: the slice delegates it")
        if not self.delegated and nodes is not None:
            raise body.refuse("", "must not select nodes: the slice does not delegate it")
        return nodes

    def _properties(
        self, body: Fields
    ) -> tuple[
        Mapping[QualifiedName, AttributeValue],
        Mapping[QualifiedName, Quantity],
        Mapping[QualifiedName, RequestPolicy],
    ]:
        for key in ("attributes", "capacity"):
            self._refuse_own_domain(body.optional(key))
        attributes = read_attributes(body.optional("attributes"), self.driver)
        capacities = body.optional("capacity")
        known = content(capacities.values)
        capacity = read_capacity(capacities, self.driver, known)
        count = len(attributes) + len(capacity)
        if count > limits.PROPERTIES:
            raise body.refuse("", f"has {count} attributes and capacities; at most {limits.PROPERTIES}")
        return attributes, capacity, read_policies(capacities, self.driver, known)

    def _refuse_own_domain(self, fields: Fields) -> None:
        for key in fields.values:
            own = str(key).removeprefix(f"{self.driver}/")
            if own != key and own not in fields.values:
                raise fields.refuse("", f"own keys are written without their domain: {own!r}", key)


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that is listed twice, None where all differ."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _check_name(fields: Fields, name: str) -> None:
    if not is_dotted_name(name):
        raise fields.refuse("name", NAME_RULE, name)


def _references(body: Fields) -> tuple[str, ...]:
    references = []
    for fields in body.children("includes", limits.INCLUDES):
        fields.only("name")
        references.append(fields.text("name"))
    return tuple(references)
