"""Why a request does not get one device: the first thing that it asks which the device does not meet.

Takes claims, a cluster, a node and a device; returns a verdict per alternative of each request. Devices for
all requests together are not searched, so that a device that a request could have may still be given to
nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scheduler_core.advice.remedies import EndClaims
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.explain.funnel import matching_stages
from scheduler_core.explain.possible import Possible
from scheduler_core.explain.replay import Replay
from scheduler_core.model.claim import Claim, ClaimRef, Constraint
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId
from scheduler_core.model.funnel import Stage
from scheduler_core.model.nodes import Node
from scheduler_core.model.obstacles import ConstraintRefuses, Obstacle
from scheduler_core.planning.ending import EndingSearch, Questions, Wish, wish_for
from scheduler_core.planning.freeing import holders_that_may_end
from scheduler_core.search.candidates import Candidate, Offer, offers
from scheduler_core.search.depth_first import SearchAlternative

_QUESTIONS: Final = 100  # each takes some milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceVerdict:
    """What keeps a device from one alternative of a request.

    Shape: ``stage`` is what it does not meet, None where it matches; ``obstacle`` is what stands in its
           way then, None where the request could have it. ``is_seen`` False where the node does not see
           the device, or its pool is not used.
    """

    claim: ClaimRef
    request: str
    device: DeviceId
    is_seen: bool = True
    stage: Stage | None = None
    obstacle: Obstacle | None = None

    @property
    def is_possible(self) -> bool:
        """Whether the request could have the device, if the other requests allow it."""
        return self.is_seen and self.stage is None and self.obstacle is None


def why_not_device(
    claims: Sequence[Claim], cluster: Cluster, node: Node, device: DeviceId
) -> tuple[DeviceVerdict, ...]:
    """Return the verdicts. Shape: requests in order, an entry per alternative. Raises: as ``allocate``."""
    pools = cluster.pools_seen_from(node)
    seen = offers(pools, node, cluster.features)
    mine = [one for one in seen if pools[one.pool].id_of(one.device) == device]
    return tuple(_Verdicts(claims, cluster, node, device, mine).all())


def freeing_device(claims: Sequence[Claim], engine: Engine, node: Node, device: DeviceId) -> EndClaims | None:
    """Return the fewest claims whose end lets a request have a device, None where none were found.

    Shape: the other requests may still need the device. The engine's state is as before afterwards.
    Raises: as ``allocate``.
    """

    def is_possible() -> bool:
        found = why_not_device(claims, engine.state.seen_from(node), node, device)
        return any(one.is_possible for one in found)

    holders = holders_that_may_end(engine.state.concerning(node), ())
    excludes = wish_for(engine, claims, node, 0).excludes
    questions = Questions(_QUESTIONS)
    wish = Wish(is_possible, 1, excludes)
    ending = EndingSearch(engine.state, wish, node, holders, questions, len(holders)).run()
    if ending is None or not ending.ended:
        return None
    return EndClaims(node=node.name, held=ending.ended, is_fewest=ending.is_fewest)


@dataclass(frozen=True, slots=True)
class _Verdicts:
    claims: Sequence[Claim]
    cluster: Cluster
    node: Node
    device: DeviceId
    offers: Sequence[Offer]

    def all(self) -> Iterator[DeviceVerdict]:
        """Yield the verdict of every alternative."""
        replay = Replay(self.claims, self.cluster, self.node)
        possible = Possible(self.claims, replay.problem, self.cluster.features)
        for request in replay.problem.requests:
            claim = self.claims[request.claim]
            options = {option.name: option for one in claim.requests for option in one.alternatives}
            for alternative in request.alternatives:
                stages = matching_stages(options[alternative.name], self.cluster, self.offers)
                yield DeviceVerdict(
                    claim=claim.ref,
                    request=alternative.name,
                    device=self.device,
                    is_seen=bool(self.offers),
                    stage=next((one for one in stages if not one.left), None) if self.offers else None,
                    obstacle=self._obstacle(alternative, replay, possible),
                )

    def _obstacle(
        self, alternative: SearchAlternative, replay: Replay, possible: Possible
    ) -> Obstacle | None:
        found = (one for one in alternative.candidates if replay.id_of(one) == self.device)
        candidate = next(found, None)
        if candidate is None:
            return None
        refusing = _refusing(alternative, candidate, possible)
        return replay.obstacle(alternative, candidate) or (ConstraintRefuses(refusing) if refusing else None)


def _refusing(alternative: SearchAlternative, candidate: Candidate, possible: Possible) -> Constraint | None:
    """Return the first constraint that allows the device with no other devices."""
    refusing = (
        possible.constraints[number]
        for number in alternative.rules
        if possible.asks(number) and not possible.admits(number, candidate.offer.device)
    )
    return next(refusing, None)
