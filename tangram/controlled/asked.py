"""What a pod of a cluster asks of devices: claims, amounts, or both."""

from __future__ import annotations

from controller.decide.question import Question
from controller.run.coordinator import Coordinator
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.classes.claims import class_claim
from scheduler_core.frontends.pod_reasons.refused import PodFits
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.claim import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedByPod:
    """What a pod asks.

    Shape: ``claims`` are those of ours, and one for amounts of resource classes; ``ask`` are its amounts of
           Koordinator's names, None without.
    """

    claims: tuple[Claim, ...]
    ask: PodAsk | None

    def fits(self, coordinator: Coordinator) -> PodFits:
        """Return a function that answers whether amounts and the pod's claims fit together on a node."""
        seen, engine = coordinator.seen, coordinator.allocator.engine
        placer = PodPlacer(seen.devices)
        return PodFits(placer=placer, tables=seen.tables, engine=engine, claims=self.claims)


def asked_by(question: Question, coordinator: Coordinator) -> AskedByPod:
    """Return what a question asks of devices. Raises: CoreError for a claim that is wrong."""
    claims = [one.asked for one in coordinator.allocator.ours(question)]
    amounts = question.amounts
    if amounts is not None and amounts.asked.classes:
        claims.append(class_claim(amounts.ref, amounts.asked.classes))
    return AskedByPod(claims=tuple(claims), ask=None if amounts is None else amounts.asked.ask)
