"""Why this device and not its earlier neighbours; what stood in the way of each device that matched.

In come claims, a cluster and a node, for ``choices`` an allocation too; out come values that say for each
device in order of preference whether it was free, and if not, who holds what it needs. Nothing is decided
here, and nothing is searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scheduler_core.candidates import Candidate
from scheduler_core.ledger import Ledger
from scheduler_core.model.claim import AllocatedDevice, Claim, ClaimRef, Constraint
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation
from scheduler_core.problem import Cluster, problem_of
from scheduler_core.search import Slot, Want
from scheduler_core.shortage import Missing, missing

NO_ROOM_AFTER = "is free, but with it the requests would not all fit"
"""Of a device that nothing bars and that first-fit passed over: with it the search came to no end."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a device could not be had.

    Shape: ``text`` follows the device's name; ``missing`` has the amounts where amounts are the reason.
    """

    text: str
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True)
class Considered:
    """A device that a request matches. Shape: ``obstacle`` is None where it could be had alone."""

    device: DeviceId
    obstacle: Obstacle | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one request, or one alternative of it, asks for and finds.

    Shape: ``needed`` devices of ``matched``, which are in order of preference.
    """

    claim: ClaimRef
    request: str
    needed: int
    matched: tuple[Considered, ...]

    @property
    def free(self) -> int:
        """Return how many of the matching devices could be had alone."""
        return sum(one.obstacle is None for one in self.matched)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A device that a request got.

    Shape: ``passed`` the devices before it in order of preference that its request did not get;
           ``yielded`` the alternatives before the one it answers.
    """

    claim: ClaimRef
    request: str
    device: DeviceId
    passed: tuple[Considered, ...]
    yielded: tuple[Demand, ...]


def demands(claims: Sequence[Claim], cluster: Cluster, node: Node) -> tuple[Demand, ...]:
    """Return what every request finds on the node in the present state, each by itself.

    Shape: requests in order, an entry per alternative.
    Raises: as ``allocate``.
    """
    books = _Books(claims, cluster, node)
    return tuple(
        books.demand(claims[slot.claim].ref, want) for slot in books.problem.slots for want in slot.wants
    )


def choices(
    allocation: Allocation, claims: Sequence[Claim], cluster: Cluster, node: Node
) -> tuple[Choice, ...]:
    """Return why each device of an answer of policy ``first-fit`` was the first that would do.

    Shape: in the order of the results.
    Raises: as ``allocate``.
    """
    books = _Books(claims, cluster, node)
    found: list[Choice] = []
    for slot in books.problem.slots:
        ref = claims[slot.claim].ref
        given = [one for one in allocation.results[ref] if _answers(slot, one)]
        found += books.choose(ref, slot, given)
    return tuple(found)


def told(constraint: Constraint) -> str:
    """Return a constraint as a claim writes it."""
    kind = type(constraint).__name__
    return f"{kind[:1].lower()}{kind[1:]} {constraint.attribute}"


def _answers(slot: Slot, result: AllocatedDevice) -> bool:
    return any(want.name == result.request for want in slot.wants)


class _Books:
    """The books of all pools while devices are taken one by one, as the search took them."""

    def __init__(self, claims: Sequence[Claim], cluster: Cluster, node: Node) -> None:
        seen = (pool.as_seen_from(node) for pool in cluster.pools)
        self._pools = tuple(sorted(seen, key=lambda pool: pool.id))
        self.problem = problem_of(claims, replace(cluster, pools=self._pools), node)
        self._constraints = [constraint for claim in claims for constraint in claim.constraints]

    def demand(self, ref: ClaimRef, want: Want) -> Demand:
        """Return what a request finds in the present state."""
        matched = tuple(Considered(self._id(one), self._obstacle(want, one)) for one in want.candidates)
        needed = len(want.candidates) if want.count is None else want.count
        return Demand(claim=ref, request=want.name, needed=needed, matched=matched)

    def choose(self, ref: ClaimRef, slot: Slot, given: Sequence[AllocatedDevice]) -> Iterator[Choice]:
        """Yield the choices of one request, and take its devices."""
        place = next((i for i, want in enumerate(slot.wants) if given and want.name == given[0].request), 0)
        want = slot.wants[place]
        yielded = tuple(self.demand(ref, other) for other in slot.wants[:place])
        places = {self._id(one): index for index, one in enumerate(want.candidates)}
        mine = {one.device for one in given}
        for result in given:
            before = want.candidates[: places[result.device]]
            passed = tuple(
                Considered(self._id(one), self._passed(want, one))
                for one in before
                if self._id(one) not in mine
            )
            yield Choice(claim=ref, request=want.name, device=result.device, passed=passed, yielded=yielded)
            self._take(ref, want, want.candidates[places[result.device]])

    def _passed(self, want: Want, candidate: Candidate) -> Obstacle:
        obstacle = self._obstacle(want, candidate)
        if obstacle is not None:
            return obstacle
        for rule in want.rules:
            if not self.problem.rules[rule].admits(candidate.offer.device):
                return Obstacle(f"{told(self._constraints[rule])} keeps it from the devices chosen before")
        return Obstacle(NO_ROOM_AFTER)

    def _obstacle(self, want: Want, candidate: Candidate) -> Obstacle | None:
        if candidate.error is not None:
            return Obstacle(str(candidate.error))
        if candidate.barred is not None:
            return Obstacle(candidate.barred)
        if want.admin_access:
            return None
        name, ledger = candidate.offer.device.name, self._ledger(candidate)
        text = ledger.obstacle(name, candidate.share)
        if text is None:
            return None
        pool = self._pools[candidate.offer.pool]
        return Obstacle(text.removeprefix(f"{name} "), missing(pool, ledger, name))

    def _take(self, ref: ClaimRef, want: Want, candidate: Candidate) -> None:
        if not want.admin_access:
            holder = f"{ref} request {want.name}"
            self._ledger(candidate).take(candidate.offer.device.name, holder, candidate.share)
        for rule in want.rules:
            self.problem.rules[rule].add(candidate.offer.device)

    def _ledger(self, candidate: Candidate) -> Ledger:
        return self.problem.ledgers[candidate.offer.pool]

    def _id(self, candidate: Candidate) -> DeviceId:
        return self._pools[candidate.offer.pool].id_of(candidate.offer.device)
