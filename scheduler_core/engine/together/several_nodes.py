"""One question about the claims of members on given nodes, asked with the plain search.

It is for what a joint question about one node cannot express: devices that several nodes may use, claims
that members on several nodes use, and members that keep each other out of scopes. A claim gets devices that
can be used from the nodes of all its members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_core.base.effort import DECISION, Effort, EffortExceeded
from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.ledger import Ledger
from scheduler_core.engine.together.other_members import OtherMembers, Served, User, compared_scopes
from scheduler_core.engine.together.shapes import excludes
from scheduler_core.engine.together.values import GroupMember
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node, admits
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.rules.constraints import Rule
from scheduler_core.search.answer import allocation
from scheduler_core.search.candidates import Offer, located, offers
from scheduler_core.search.depth_first import Problem, Search, SearchAlternative, SearchRequest
from scheduler_core.search.problem import problem_of
from scheduler_core.state.cluster_state import ClusterState

Places = Sequence[tuple[GroupMember, Node]]


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A claim as it is searched. Shape: ``nodes`` of its members, each once."""

    user: User
    nodes: tuple[Node, ...]
    problem: Problem


class _Changing(Exception):
    """A pool has another generation for one of the nodes."""


class SeveralNodes:
    """The questions about one group. What a claim may get from some nodes is computed once.

    Shape: ``steps`` that all searches took so far.
    """

    def __init__(self, state: ClusterState) -> None:
        self.steps = 0
        self._state = state
        self._pools: list[Pool] = []
        self._ledgers: list[Ledger] = []
        self._numbers: dict[PoolId, int] = {}
        self._problems: dict[tuple[ClaimRef, tuple[str, ...]], Problem] = {}

    def decide(self, places: Places) -> Mapping[ClaimRef, Allocation] | Undecided | None:
        """Return the allocation of each claim, None where the claims do not fit these nodes.

        Raises: as ``explain.allocate``.
        """
        claims = {claim.ref: claim for member, _ in places for claim in member.claims}
        effort = Effort(most=DECISION)
        try:
            asked = [self._asked(claim, places) for claim in claims.values()]
            search = Search(self._joined(asked), effort)
            is_fit = search.run()
        except SelectorError as error:
            raise located(error, list(claims.values()), self._state.classes) from None
        except _Changing:
            return _undecided(places, "a pool is between two generations", 0)
        except EffortExceeded as exceeded:
            return _undecided(places, "the plain search reached its bound", int(exceeded.limit))
        finally:
            self.steps += effort.steps
        return dict(self._written(asked, search)) if is_fit else None

    def _asked(self, claim: Claim, places: Places) -> _Asked:
        mine = [(member, node) for member, node in places if claim.ref in _refs(member)]
        nodes = tuple({node.name: node for _, node in mine}.values())
        key = (claim.ref, tuple(node.name for node in nodes))
        problem = self._problems.get(key)
        if problem is None:
            problem = self._problems[key] = self._problem(claim, nodes)
        return _Asked(User(claim, frozenset(member.id for member, _ in mine)), nodes, problem)

    def _problem(self, claim: Claim, nodes: Sequence[Node]) -> Problem:
        """Return what a claim may get. Shape: candidates name pools by their number among all."""
        node, *others = nodes
        wants_all = any(option.count is None for one in claim.requests for option in one.alternatives)
        cluster = self._state.seen_from(node)
        cluster = replace(cluster, pools=cluster.pools_seen_from(node))
        seen = [
            offer
            for offer in offers(cluster.pools, node, cluster.features)
            if not others or wants_all or _is_common(offer, others)
        ]
        problem = problem_of([claim], cluster, node, seen)
        pairs = zip(cluster.pools, problem.ledgers, strict=True)
        numbers = [self._number(pool, ledger) for pool, ledger in pairs]
        requests = _common(problem.requests, others) if others and wants_all else problem.requests
        return replace(problem, requests=tuple(_renumbered(requests, numbers)))

    def _number(self, pool: Pool, ledger: Ledger) -> int:
        number = self._numbers.setdefault(pool.id, len(self._pools))
        if number == len(self._pools):
            self._pools.append(pool)
            self._ledgers.append(ledger)
        elif self._pools[number].generation != pool.generation:
            raise _Changing
        return number

    def _joined(self, asked: Sequence[_Asked]) -> Problem:
        """Return the problem of all claims together."""
        claims = [one.user.claim for one in asked]
        is_exclusive = excludes(claims)
        scopes = compared_scopes(claims, self._pools) if is_exclusive else {}
        served, rules, requests = Served(), list[Rule](), list[SearchRequest]()
        for number, one in enumerate(asked):
            first = len(rules)
            rules += one.problem.rules
            for request in one.problem.requests:
                alternatives = []
                for option in request.alternatives:
                    mine = tuple(first + rule for rule in option.rules)
                    if is_exclusive:
                        mine = (*mine, len(rules))
                        rules.append(OtherMembers(one.user, option.name, served, scopes))
                    alternatives.append(replace(option, rules=mine, kind=(number, option.kind)))
                requests.append(SearchRequest(number, tuple(alternatives)))
        return Problem(tuple(requests), tuple(rules), self._ledgers)

    def _written(self, asked: Sequence[_Asked], search: Search) -> Iterator[tuple[ClaimRef, Allocation]]:
        cluster = Cluster(
            pools=tuple(self._pools), classes=self._state.classes, features=self._state.features
        )
        taken = iter(search.chosen)
        for one in asked:
            chosen = [next(taken) for _ in one.problem.requests]
            claim, node = one.user.claim, one.nodes[0]
            yield claim.ref, allocation([claim], one.problem, chosen, cluster=cluster, node=node)


def _refs(member: GroupMember) -> set[ClaimRef]:
    return {claim.ref for claim in member.claims}


def _is_common(offer: Offer, others: Sequence[Node]) -> bool:
    device = offer.device
    return not device.binding.to_node and all(admits(device.nodes, node) for node in others)


def _common(requests: Sequence[SearchRequest], others: Sequence[Node]) -> list[SearchRequest]:
    """Return the requests without the devices of one node; a request for all devices then gets none."""
    found = []
    for request in requests:
        alternatives = []
        for option in request.alternatives:
            kept = tuple(one for one in option.candidates if _is_common(one.offer, others))
            is_cut = option.count is None and len(kept) < len(option.candidates)
            alternatives.append(replace(option, candidates=() if is_cut else kept))
        found.append(SearchRequest(request.claim, tuple(alternatives)))
    return found


def _renumbered(requests: Sequence[SearchRequest], numbers: Sequence[int]) -> Iterator[SearchRequest]:
    for request in requests:
        alternatives = (_moved(one, numbers) for one in request.alternatives)
        yield SearchRequest(0, tuple(alternatives))


def _moved(option: SearchAlternative, numbers: Sequence[int]) -> SearchAlternative:
    candidates = tuple(
        replace(one, offer=replace(one.offer, pool=numbers[one.offer.pool])) for one in option.candidates
    )
    return replace(option, candidates=candidates)


def _undecided(places: Places, why: str, steps: int) -> Undecided:
    names = dict.fromkeys(node.name for _, node in places)
    return Undecided(node=" and ".join(names), steps=steps, why=why)
