"""What is known of the devices that a request may get: from its selectors and from published slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.view import DeviceView
from scheduler_core.frontends.configuration.check import TYPE, type_of
from scheduler_core.model.device import Device, QualifiedName
from scheduler_core.model.names import domain_and_identifier
from scheduler_core.model.ownership import MULTI_NODE
from scheduler_core.model.pool import Pool
from scheduler_core.rules.selectors import Selector, view

_MOST_VALUES: Final = 20


@dataclass(frozen=True)
class KnownDevices:
    """The devices of slices, and the driver whose configurations are judged."""

    pools: Sequence[Pool]
    driver: str

    def matching(self, selectors: Sequence[Selector]) -> list[Device]:
        """Return the driver's devices that all selectors select."""
        return [
            device for device, seen in self._views if all(_matches(selector, seen) for selector in selectors)
        ]

    def types(self, selectors: Sequence[Selector]) -> frozenset[str] | None:
        """Return the types of the devices that selectors select; None where that is not known.

        Published devices say it, else a selector that compares ``type`` with texts.
        """
        found = frozenset(type_of(device, self.driver) for device in self.matching(selectors))
        if found:
            return found
        said = [one for one in (one.demanded(self.driver, TYPE) for one in selectors) if one is not None]
        return frozenset.intersection(*said) if said else None

    def unknown_keys(self, selector: Selector) -> Iterator[str]:
        """Yield a sentence for every attribute or capacity that a selector reads and no device has.

        Of a selector for types that nobody publishes, nothing is known.
        """
        if not self._has_pools_of_nodes:
            return
        demanded = selector.demanded(self.driver, TYPE)
        if demanded is not None and self._types.isdisjoint(demanded):
            return
        for kind, domain, identifier in sorted(selector.reads or ()):
            known = self._keys.get((kind, domain)) if self._keys else None
            if not self._keys or kind not in ("attributes", "capacity") or identifier in (known or ()):
                continue
            what = "attribute" if kind == "attributes" else "capacity"
            text = f"no published device has the {what} {domain}/{identifier}"
            near = get_close_matches(identifier, sorted(known or ()), n=3)
            yield f"{text}; similar: {', '.join(near)}" if near else text

    def absent_values(self, selector: Selector) -> Iterator[str]:
        """Yield a sentence for every attribute that must have a text which no published device has.

        Of types nothing is said: a class may select what other nodes have.
        """
        if not self._has_pools_of_nodes:
            return
        demanded = selector.demanded(self.driver, TYPE)
        if demanded is not None and self._types.isdisjoint(demanded):
            return
        for kind, domain, identifier in sorted(selector.reads or ()):
            if kind != "attributes" or identifier == TYPE:
                continue
            wanted, present = selector.demanded(domain, identifier), self._texts(domain, identifier)
            if wanted and present and present.isdisjoint(wanted):
                texts = sorted(present)
                more = f" and {len(texts) - _MOST_VALUES} more" if len(texts) > _MOST_VALUES else ""
                yield (
                    f"no published device has {domain}/{identifier} {' or '.join(sorted(wanted))}; "
                    f"present are {', '.join(texts[:_MOST_VALUES])}{more}"
                )

    def _texts(self, domain: str, identifier: str) -> frozenset[str]:
        values = (
            device.attributes.get(QualifiedName(f"{domain}/{identifier}"))
            for pool in self.pools
            for device in pool.devices
        )
        return frozenset(
            text
            for value in values
            for text in (value if isinstance(value, tuple) else (value,))
            if isinstance(text, str)
        )

    @cached_property
    def _has_pools_of_nodes(self) -> bool:
        """Whether slices of single nodes are given: multi-node pools say nothing about a node's devices."""
        return any(not pool.id.name.startswith(MULTI_NODE) for pool in self.pools)

    @cached_property
    def _views(self) -> list[tuple[Device, DeviceView]]:
        ours = (pool for pool in self.pools if pool.id.driver == self.driver)
        return [(device, view(self.driver, device)) for pool in ours for device in pool.devices]

    @cached_property
    def _types(self) -> frozenset[str]:
        return frozenset(type_of(device, self.driver) for device, _ in self._views)

    @cached_property
    def _keys(self) -> Mapping[tuple[str, str], frozenset[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for pool in self.pools:
            for device in pool.devices:
                _collect(found, "attributes", device.attributes)
                _collect(found, "capacity", device.capacity)
        return {place: frozenset(names) for place, names in found.items()}


def _collect(found: dict[tuple[str, str], set[str]], kind: str, names: Iterable[str]) -> None:
    for name in names:
        domain, identifier = domain_and_identifier(name)
        found.setdefault((kind, domain), set()).add(identifier)


def _matches(selector: Selector, seen: DeviceView) -> bool:
    try:
        return selector.matches(seen)
    except SelectorError:
        return False
