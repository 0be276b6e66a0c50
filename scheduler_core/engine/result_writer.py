"""Result writer: turns an answer (numbers of components and positions) into the allocation of the claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.claims.claim_signature import Alternative
from scheduler_core.engine.solve.plan import Solution
from scheduler_core.model.claim import AllocatedDevice, Claim, DeviceClass, OpaqueConfig
from scheduler_core.model.device import DeviceId
from scheduler_core.model.names import bare
from scheduler_core.model.nodes import NodeSelection, OnNode
from scheduler_core.model.result import Allocation
from scheduler_core.search.answer import combined, configs
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.component import Component

_LIMIT: Final = 1 << 14  # results kept; then the cache is cleared


class ResultWriter:
    """Writes allocations. Results for the same device and request are one object."""

    def __init__(self) -> None:
        self._classes: Mapping[str, DeviceClass] = {}
        self._results: dict[tuple[Component, int, Alternative], AllocatedDevice] = {}

    def set_classes(self, classes: Mapping[str, DeviceClass]) -> None:
        """Replace all device classes."""
        self._classes = classes
        self._results.clear()

    def written(self, answer: Solution, claims: Sequence[Claim], node_view: NodeView) -> Allocation:
        """Return the allocation. Shape: the devices of a claim are in the order of its requests."""
        results: list[list[AllocatedDevice]] = [[] for _ in claims]
        selections: list[list[NodeSelection]] = [[] for _ in claims]
        components = node_view.components
        for alternative, (number, position) in zip(answer.choice.devices, answer.picks, strict=True):
            component = components[number]
            result = self._result(component, position, alternative)
            results[alternative.claim].append(result)
            binds = result.binding.to_node
            selections[alternative.claim].append(
                OnNode(node_view.node.name) if binds else component.selection(position)
            )
        return Allocation(
            node=node_view.node.name,
            results={one.ref: tuple(found) for one, found in zip(claims, results, strict=True)},
            nodes={
                one.ref: combined(found, node_view.node)
                for one, found in zip(claims, selections, strict=True)
            },
            configs={claim.ref: self._configs(number, claim, answer) for number, claim in enumerate(claims)},
        )

    def _result(self, component: Component, position: int, alternative: Alternative) -> AllocatedDevice:
        key = (component, position, alternative)
        found = self._results.get(key)
        if found is None:
            pool = component.pool
            found = AllocatedDevice(
                alternative.name,
                DeviceId(pool.driver, pool.name, component.layout.names[position]),
                admin_access=alternative.admin_access,
                tolerations=alternative.tolerations,
                consumed=_consumed(component, position, alternative),
                binding=component.template.structure_class.device_facts[position].binding,
            )
            if len(self._results) >= _LIMIT:
                self._results.clear()
            self._results[key] = found
        return found

    def _configs(self, number: int, claim: Claim, answer: Solution) -> tuple[OpaqueConfig, ...]:
        if not claim.configs and not answer.choice.has_configs:
            return ()
        names = [
            alternative.name for alternative in answer.choice.alternatives if alternative.claim == number
        ]
        return tuple(configs(claim, self._classes, names))


def _consumed(component: Component, position: int, alternative: Alternative) -> Mapping[str, Quantity]:
    """Return how much of a shareable device is consumed, by capacity; empty for any other device."""
    structure_class = component.template.structure_class
    if not structure_class.shareable >> position & 1:
        return {}
    share = structure_class.share(position, alternative.capacity) or ()
    names = structure_class.device_facts[position].capacity
    return {bare(name, component.pool.driver): amount for name, amount in zip(names, share, strict=True)}
