"""Serves members pod after pod with every choice of nodes and devices: what the joint search must find.

The plain search judges each choice by itself, with everything that earlier members got in the cluster.
"""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from math import inf

from scheduler_core.base.effort import Effort
from scheduler_core.model.claim import AllocatedClaim, ExclusiveScope
from scheduler_core.model.nodes import admits
from scheduler_core.search.answer import allocation, with_share_ids
from scheduler_core.search.depth_first import Search
from scheduler_core.search.pinned import pinned
from scheduler_core.search.problem import problem_of


class Pods:
    """Room for so many members on a node, larger ones count more. Shape: ``needs`` is how much one counts."""

    def __init__(self, most):
        self.most = most
        self.taken = Counter()

    def admits(self, member, node):
        return self.taken[node.name] + (member.needs or 1) <= self.most.get(node.name, inf)

    def take(self, member, node):
        assert self.admits(member, node)
        self.taken[node.name] += member.needs or 1

    def give(self, member, node):
        self.taken[node.name] -= member.needs or 1
        assert self.taken[node.name] >= 0


def fits_in_turn(members, cluster, nodes, room, minimum):
    """Whether some choice of nodes and devices serves ``minimum`` members, all users of a claim or none."""
    return InTurn(members, nodes, room).serves(0, cluster, {}, len(members) - minimum)


class InTurn:
    def __init__(self, members, nodes, room):
        self.members, self.nodes, self.room = members, nodes, room
        self.failed = set()

    def serves(self, number, cluster, selections, slack):
        """Shape: ``selections`` has where each claim so far can be used from, None where it was left out."""
        if slack < 0 or number == len(self.members):
            return slack >= 0
        key = (number, slack, str(sorted(self.room.taken.items())), _held(cluster), str(selections))
        if key in self.failed:
            return False
        self.failed.add(key)
        claims = self.members[number].claims
        mine = [claim for claim in claims if claim.ref not in selections]
        shared = [selections[claim.ref] for claim in claims if claim.ref in selections]
        if None not in shared and self._serves_somewhere(number, cluster, selections, slack):
            return True
        if any(one is not None for one in shared):
            return False  # another user of the claim was served
        gone = {**selections, **{claim.ref: None for claim in mine}}
        return self.serves(number + 1, cluster, gone, slack - 1)

    def _serves_somewhere(self, number, cluster, selections, slack):
        member = self.members[number]
        mine = [claim for claim in member.claims if claim.ref not in selections]
        shared = [selections[claim.ref] for claim in member.claims if claim.ref in selections]
        for node in self.nodes:
            if not all(admits(one, node) for one in shared) or not self.room.admits(member, node):
                continue
            self.room.take(member, node)
            try:
                for found in every_allocation(mine, cluster, node):
                    chosen = {**selections, **found.nodes}
                    if self.serves(number + 1, with_held(cluster, mine, found), chosen, slack):
                        return True
            finally:
                self.room.give(member, node)
        return False


def every_allocation(claims, cluster, node, only=None):
    """Yield every allocation of the claims on a node, each set of devices once.

    Shape: ``only`` limits the devices of each claim to those of an allocation.
    """
    ordered = replace(cluster, pools=cluster.pools_seen_from(node))
    seen = set()
    for one in _with_one_alternative_each(claims):
        problem = problem_of(one, ordered, node)
        choices = [_choices(request, one, ordered, only) for request in problem.requests]
        for picked in product(*choices):
            pins = {number: ids for number, ids in enumerate(picked) if ids is not None}
            search = Search(pinned(problem, pins, ordered.pools), Effort(most=inf))
            if search.run():
                found = allocation(one, search.problem, search.chosen, cluster=ordered, node=node)
                key = str(found.results)
                if key not in seen:
                    seen.add(key)
                    yield found


def with_held(cluster, claims, found):
    found = with_share_ids(found, cluster.pools, lambda: "share")
    held = tuple(
        AllocatedClaim(
            ref=claim.ref,
            results=found.results[claim.ref],
            exclusive=tuple(one for one in claim.constraints if isinstance(one, ExclusiveScope)),
        )
        for claim in claims
    )
    return replace(cluster, allocated=(*cluster.allocated, *held))


def _with_one_alternative_each(claims):
    per_claim = []
    for claim in claims:
        options = product(*(request.alternatives for request in claim.requests))
        per_claim.append(
            [
                replace(
                    claim,
                    requests=tuple(
                        replace(request, alternatives=(option,))
                        for request, option in zip(claim.requests, chosen, strict=True)
                    ),
                )
                for chosen in options
            ]
        )
    return product(*per_claim)


def _choices(request, claims, cluster, only):
    (option,) = request.alternatives
    if option.count is None:
        return [None]
    ids = [cluster.pools[one.offer.pool].id_of(one.offer.device) for one in option.candidates]
    if only is not None:
        mine = [one.device for one in only.results[claims[request.claim].ref] if one.request == option.name]
        ids = [one for one in ids if one in mine]
    return list(combinations(ids, option.count))


def _held(cluster):
    return frozenset(
        (str(one.ref), tuple(str(result) for result in one.results)) for one in cluster.allocated
    )
