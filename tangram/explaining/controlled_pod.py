"""What keeps a pod of a cluster from one node, or from one device, when its turn comes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from controller.decide.decisions import Placed, Refused
from controller.decide.question import Question
from controller.decide.reasons import HELD_BACK
from controller.model.pods import Pod
from controller.run.coordinator import Coordinator
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.pod_reasons.device import pod_device
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from tangram.controlled.answer import PodAnswer, at_its_turn, limits
from tangram.controlled.asked import AskedByPod, asked_by
from tangram.explaining.asked import Asked
from tangram.explaining.pod_why_not import Gets, Subject, refused_told, why_not_of_pod
from tangram.explaining.why_not import named_device, of_device, of_node
from tangram.face import DOES_NOT_FIT
from tangram.program.fitting import Hanging
from tangram.told import Told

_NOT_TOGETHER = "the pod's amounts and its claims fit one by one, and not together"


def why_not_in_cluster(wanted: str, coordinator: Coordinator, pod: Pod, width: int) -> Told | PodAnswer:
    """Explain one node or device for a pod; an answer where no devices are searched for the pod.

    Raises: BadInput for a node or device that is not known, CoreError for claims that are wrong.
    """
    decided = at_its_turn(coordinator, pod)
    if isinstance(decided, PodAnswer):
        return decided
    question = decided.question
    against = _against(wanted, question, coordinator)
    if against is not None:
        value = {"pod": str(pod.ref), "node": wanted, "mayRun": False, "why": against}
        return Told(DOES_NOT_FIT, value, (Hanging(f"pod {pod.ref} gets nothing on {wanted}: it {against}"),))
    found = _Search(coordinator, asked_by(question, coordinator), _gets(decided), width).told(wanted)
    return Told(found.status, {"pod": str(pod.ref), **found.value}, found.pictures)


def _against(name: str, question: Question, coordinator: Coordinator) -> str | None:
    """Return why the pod may not run on a node, whatever devices it has; None where it may, or is no node."""
    seen = coordinator.seen
    if name not in seen.devices.views.names:
        return "has no devices that the controller allocates" if name in seen.nodes else None
    against, reserved = limits(coordinator, question)
    why = coordinator.allocator.candidates.why_not(question, name, against)
    return HELD_BACK if why is None and name in reserved else why


def _gets(decided: Placed | Refused) -> Gets | None:
    if isinstance(decided, Refused):
        return None
    devices = [one.device for results in decided.devices.values() for one in results]
    return Gets(decided.node, tuple(devices))


@dataclass(frozen=True, slots=True)
class _Search:
    coordinator: Coordinator
    asked: AskedByPod
    gets: Gets | None
    width: int

    def told(self, wanted: str) -> Told:
        """Explain a node or a device that the pod may use otherwise."""
        state = self.coordinator.seen.devices
        nodes = tuple(map(state.views.node, state.views.names))
        claims = Asked(
            claims=self.asked.claims,
            cluster=state.with_pools(tuple(state.pools())),
            nodes=nodes,
            known=nodes,
        )
        if wanted in state.views.names:
            return self._node(state.views.node(wanted), claims)
        device, node = named_device(wanted, claims.cluster, nodes)
        return self._device(device, node, claims)

    def _node(self, node: Node, claims: Asked) -> Told:
        ask, parts = self.asked.ask, list[Told]()
        fits = self.asked.fits(self.coordinator)
        if ask is not None:
            parts.append(why_not_of_pod(ask, Subject(node, None), fits, self.gets))
        if claims.claims:
            parts.append(of_node(node, claims, self.coordinator.allocator.engine, self.width))
        if ask is not None and not any(one.status for one in parts) and not fits(ask, node):
            return refused_told(ask, node, fits, _NOT_TOGETHER)
        return _together(parts)

    def _device(self, device: DeviceId, node: Node, claims: Asked) -> Told:
        ask = self.asked.ask
        if ask is not None:
            fits = self.asked.fits(self.coordinator)
            given = () if self.gets is None else self.gets.devices
            is_asked = pod_device(ask, device, node, fits.placer, given).is_asked
            if is_asked or not claims.claims:
                return why_not_of_pod(ask, Subject(node, device), fits, self.gets)
        return of_device(device, node, claims, self.coordinator.allocator.engine)


def _together(parts: Sequence[Told]) -> Told:
    """Return the explanations of the pod's amounts and claims. What refuses the pod comes first."""
    ordered = sorted(parts, key=lambda one: -one.status)
    pictures: list[RenderableType | str] = []
    for one in ordered:
        pictures += ["", *one.pictures] if pictures else one.pictures
    value = ordered[0].value if len(ordered) == 1 else {"parts": [dict(one.value) for one in ordered]}
    return Told(ordered[0].status, value, tuple(pictures))
