"""What nodes answered to pods that do not fit there, kept until a node gets devices back.

Where a pod does not fit, it does not fit either when more is taken. So a refusal holds until devices of the
node are released, its pools change, or its table of partitions does.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Final

from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.claim import DeviceClass
from scheduler_core.model.result import Undecided
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.node_class import NodeView
from scheduler_core.tables.component import Component

Refusal = JointRefusal | Undecided
_ASKS: Final = 256  # different questions remembered; then they are forgotten


class Refusals:
    """Refusals by question and node. It observes the state."""

    def __init__(self, state: ClusterState) -> None:
        self._known: dict[Hashable, dict[str, tuple[Refusal, NodeTable | None]]] = {}
        state.subscribe(self)

    def of(self, ask: PodAsk) -> RefusalsOfAsk:
        """Return what nodes answered to pods that ask for the same."""
        key = question_of(ask)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _ASKS:
                self._known.clear()
            found = self._known[key] = {}
        return RefusalsOfAsk(found)

    def component_entered(self, component: Component) -> None:
        """Nothing: the view of the component's node is dropped, too."""

    def component_left(self, component: Component) -> None:
        """Nothing: the view of the component's node is dropped, too."""

    def component_moved(self, component: Component, before: int) -> None:
        """Nothing: ``devices_given`` follows where a device was released."""

    def view_dropped(self, node_view: NodeView) -> None:
        """Forget what a node answered: its pools changed."""
        self._forget((node_view.node.name,))

    def devices_taken(self, nodes: Iterable[str]) -> None:
        """Nothing: what does not fit does not fit when more is taken."""

    def devices_given(self, nodes: Iterable[str]) -> None:
        """Forget what nodes answered whose devices were released."""
        names = tuple(nodes)
        if names:
            self._forget(names)
        else:
            self._known.clear()

    def classes_changed(self, classes: Mapping[str, DeviceClass]) -> None:
        """Nothing: amounts have no device class."""

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            for answers in self._known.values():
                answers.pop(name, None)


class RefusalsOfAsk:
    """What nodes answered to one question."""

    def __init__(self, answers: dict[str, tuple[Refusal, NodeTable | None]]) -> None:
        self._answers = answers

    def get(self, node: str, table: NodeTable | None) -> Refusal | None:
        """Return what a node with this table answered, None where it was not asked."""
        found = self._answers.get(node)
        return found[0] if found is not None and (found[1] is table or found[1] == table) else None

    def keep(self, node: str, table: NodeTable | None, refusal: Refusal) -> None:
        """Remember what a node with this table answered."""
        self._answers[node] = (refusal, table)


def question_of(ask: PodAsk) -> Hashable:
    """Return what two pods have in common that every node answers alike."""
    return tuple(sorted(ask.amounts.items())), tuple(sorted(ask.hints.items())), ask.joint, ask.spec
