"""Places pods that ask for resource classes on plain devices and on published devices, first fit.

The state counts units per device; published devices can also exclude each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.frontends.classes.documents import ClassObjects
from scheduler_core.frontends.classes.events import (
    AddClass,
    AddNode,
    AddPod,
    Done,
    Event,
    EventRefused,
    Outcome,
    PodOutcome,
    PodPlaced,
    PodUnplaced,
)
from scheduler_core.frontends.classes.model import ClassDevice
from scheduler_core.frontends.classes.pods import ClassPod
from scheduler_core.frontends.classes.published_devices import PublishedDevices
from scheduler_core.frontends.classes.state import State, after, in_use, selected
from scheduler_core.model.claim import AllocatedClaim


class ClassPlacement:
    """Classes, the devices of nodes, and who holds what.

    Shape: ``pending`` are the pods that hold nothing yet, in the order of asking; ``state`` is a new value
           after each change. It belongs to one thread at a time.
    """

    def __init__(
        self, objects: ClassObjects, published: PublishedDevices, allocated: Sequence[AllocatedClaim]
    ) -> None:
        self.published = published
        self.state = State()
        self.pending = tuple(pod for pod in objects.pods.values() if pod.grant is None)
        for added in objects.classes.values():
            self._enter(AddClass(added))
        for pod in objects.pods.values():
            if pod.grant is not None:
                self._enter(AddPod(pod.name, pod.requests or None, pod.grant))
                published.record(pod.name, pod.grant)
        devices: dict[str, tuple[ClassDevice, ...]] = {
            node: tuple(listed) for node, listed in published.by_node.items()
        }
        for node, plain in objects.devices.items():
            devices[node] = (*devices.get(node, ()), *plain)
        for node, listed in devices.items():
            self._enter(AddNode(node, listed))
        for claim in allocated:
            for grant in published.held_by(claim):
                self._enter(AddPod(f"claim {claim.ref} on {grant.node}", None, grant))

    def place(self, pod: ClassPod) -> PodOutcome:
        """Place one pod on the first devices that fit.

        A first fit whose devices exclude each other is no grant: the pod stays unplaced.
        """
        before = self.state
        outcome = self._enter(AddPod(pod.name, pod.requests, without=self.published.blocked))
        match outcome:
            case Done():
                raise AssertionError("a pod is placed or it is not")
            case PodUnplaced() | EventRefused():
                return outcome
            case PodPlaced(grant):
                reason = self.published.take(pod.name, grant)
        if reason is None:
            return outcome
        self.state = before
        return PodUnplaced(f"the first fit excludes itself, ask for it with a ResourceClaim: {reason}")

    def free(self) -> dict[str, int]:
        """Return the units by class that a pod could get, if it asked for this class alone on every node."""
        blocked = self.published.blocked
        used = {node: in_use(self.state, node) for node in self.state.nodes}
        return {
            name: sum(
                max(0, device.quantity - used[node].get(device.name, 0))
                for node, device in selected(self.state, name)
                if (node, device.name) not in blocked
            )
            for name in self.state.classes
        }

    def _enter(self, event: Event) -> Outcome:
        self.state, outcome = after(self.state, event)
        return outcome
