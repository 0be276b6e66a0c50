"""PURE: mixins and devices as API servers take them, with sentences about what was left out.

A server refuses a whole slice for one odd value, and a pool that lacks a slice is used by nobody. So an
attribute that breaks a rule is left out; else the device that has it, and whatever is cut from that device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from agent.inventory.model import Group
from scheduler_core.base import limits
from scheduler_core.model.composite import CompositeDevice, Mixin
from scheduler_core.model.device import DeviceName
from scheduler_core.model.names import LABEL_RULE, bare, is_label
from scheduler_core.model.pool import Rejected
from scheduler_core.model.validity import why_not_amount, why_not_attribute

_Entry = TypeVar("_Entry", Mixin, CompositeDevice)
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class SoundEntries:
    """What may be published.

    Shape: ``left_out`` are sentences, each begins with the name of the device or mixin; ``gone`` are devices
           that are not published.
    """

    shared: tuple[Mixin, ...]
    groups: tuple[Group, ...]
    left_out: tuple[str, ...]
    gone: frozenset[DeviceName]


def sound_entries(shared: Iterable[Mixin], groups: Iterable[Group], driver: str) -> SoundEntries:
    """Return the mixins and devices that keep the API's rules. Names count once: the first one has it."""
    checking = _Checking(driver)
    mixins = checking.mixins(shared)
    kept = [
        Group(mixins=checking.mixins(one.mixins), devices=checking.devices(one.devices)) for one in groups
    ]
    kept = checking.with_sources(kept)
    listed = tuple(one for one in kept if one.devices)
    return SoundEntries(mixins, listed, tuple(checking.told), frozenset(checking.gone))


def without_rejected(entries: SoundEntries, rejected: Mapping[DeviceName, Rejected]) -> SoundEntries:
    """Return the entries without devices that nobody could use: they need what their source has not."""
    if not rejected:
        return entries
    groups = (
        replace(one, devices=tuple(each for each in one.devices if each.name not in rejected))
        for one in entries.groups
    )
    told = (f"{name} is not published: {why.reason[:_SHOWN]}" for name, why in rejected.items())
    return replace(
        entries,
        groups=tuple(one for one in groups if one.devices),
        left_out=(*entries.left_out, *told),
        gone=entries.gone | rejected.keys(),
    )


@dataclass(slots=True)
class _Checking:
    driver: str
    told: list[str] = field(default_factory=list)
    gone: set[DeviceName] = field(default_factory=set)
    known: dict[str, Mixin] = field(default_factory=dict)
    names: set[DeviceName] = field(default_factory=set)

    def group(self, group: Group) -> Group:
        return Group(mixins=self.mixins(group.mixins), devices=self.devices(group.devices))

    def mixins(self, mixins: Iterable[Mixin]) -> tuple[Mixin, ...]:
        kept = []
        for one in mixins:
            why = "another one has its name" if one.name in self.known else self._why_not(one)
            if why is not None:
                self._tell(one.name, f"what includes it is not published: {why}")
                continue
            self.known[one.name] = self._with_sound_attributes(one)
            kept.append(self.known[one.name])
        return tuple(kept)

    def devices(self, devices: Iterable[CompositeDevice]) -> tuple[CompositeDevice, ...]:
        kept = []
        for one in devices:
            if one.name in self.names:
                self._tell(one.name, "a second device of this name is not published")
                continue
            checked = self._with_sound_attributes(one)
            if (why := self._why_not(checked) or self._why_not_with_mixins(checked)) is not None:
                self._drop(one.name, why)
                continue
            self.names.add(one.name)
            kept.append(checked)
        return tuple(kept)

    def with_sources(self, groups: list[Group]) -> list[Group]:
        """Return the groups without what is cut from a device that is not there."""
        count = -1
        while count != len(self.gone):
            count = len(self.gone)
            groups = [replace(one, devices=tuple(filter(self._has_sources, one.devices))) for one in groups]
        return groups

    def _has_sources(self, device: CompositeDevice) -> bool:
        missing = next((name for name in device.sources if name not in self.names), None)
        if missing is not None:
            self.names.discard(device.name)
            self._drop(device.name, f"it is cut from {missing[:_SHOWN]}")
        return missing is None

    def _with_sound_attributes(self, entry: _Entry) -> _Entry:
        odd = {
            name: why
            for name, value in entry.attributes.items()
            if (why := why_not_attribute(name, value)) is not None
        }
        if not odd:
            return entry
        for name, why in odd.items():
            self._tell(entry.name, f"goes without {bare(name, self.driver)[:_SHOWN]}: {why}")
        kept = {name: value for name, value in entry.attributes.items() if name not in odd}
        return replace(entry, attributes=kept)

    def _why_not(self, entry: Mixin | CompositeDevice) -> str | None:
        """Return why an entry cannot be published. A capacity is what is counted: it cannot be left out."""
        if not is_label(entry.name):
            return f"its name {LABEL_RULE}"
        found = (why_not_amount(name, amount) for name, amount in entry.capacity.items())
        return next((why for why in found if why is not None), None)

    def _why_not_with_mixins(self, device: CompositeDevice) -> str | None:
        missing = next((name for name in device.includes if name not in self.known), None)
        if missing is not None:
            return f"it includes {missing[:_SHOWN]}"
        mixins = [self.known[name] for name in device.includes]
        attributes = set(device.attributes).union(*(one.attributes for one in mixins))
        size = len(attributes) + len(set(device.capacity).union(*(one.capacity for one in mixins)))
        rule = f"at most {limits.PROPERTIES} are allowed"
        return f"it has {size} attributes and capacities; {rule}" if size > limits.PROPERTIES else None

    def _drop(self, name: DeviceName, why: str) -> None:
        self.gone.add(name)
        self._tell(name, f"is not published: {why}")

    def _tell(self, name: str, what: str) -> None:
        self.told.append(f"{name[:_SHOWN]} {what}")
