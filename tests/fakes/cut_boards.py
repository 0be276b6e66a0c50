"""Small nodes of boards that can be cut, with random claims on them, and oracles that try everything."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from hypothesis import strategies as st

from scheduler_core.books.ledger import Ledger
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import Matching, Node, Operator, Requirement
from scheduler_core.model.result import Allocation
from scheduler_core.state.testing import ANY, DRIVER, claim, device, held, pool, request

SIZES = (1, 2, 3, 4)
RACK_A = Matching((Requirement("rack", Operator.IN, ("a",)),))
SAME_BOARD = MatchAttribute(qualified("board", DRIVER))


def size(number):
    return f"device.attributes['{DRIVER}'].size == {number}"


def part(board, first, number):
    places = {f"place{place}": 1 for place in range(first, first + number)}
    values = {"size": number, "board": board, "kind": f"part-{number}"}
    return device(f"{board}-{number}-at-{first}", sources=[board], attributes=values, **places)


def board(name):
    """Four places: four small parts, two halves, three quarters only from the first place."""
    values = {"size": 4, "board": name, "kind": "part-4"}
    whole = device(name, attributes=values, **{f"place{place}": 1 for place in range(4)})
    small = [part(name, first, 1) for first in range(4)]
    return [whole, *small, part(name, 0, 2), part(name, 2, 2), part(name, 0, 3)]


def node_pool(node, boards):
    return pool(*(one for number in range(boards) for one in board(f"b{number}")), node=node)


def in_rack_a(published):
    """The pool for all nodes with the label rack: a, in place of one node by name."""
    return replace(
        published, seen_from=(RACK_A,), devices=tuple(replace(one, nodes=RACK_A) for one in published.devices)
    )


def wants(*sizes, name="wanted", together=False):
    """A claim for parts of these sizes."""
    asked = [request(f"r{number}", size(one)) for number, one in enumerate(sizes)]
    return claim(*asked, constraints=(SAME_BOARD,) if together else (), name=name)


@st.composite
def clusters(draw, nodes=2, boards=2):
    """Nodes with claims on them: each claim holds one or two devices of one node."""
    pools = [node_pool(f"n{number}", boards) for number in range(1, nodes + 1)]
    allocated = []
    for one in pools:
        ledger, free = Ledger(one), draw(st.permutations([device.name for device in one.devices]))
        for number in range(draw(st.integers(0, 6))):
            taken = []
            for name in free[3 * number : 3 * number + draw(st.integers(1, 2))]:
                if ledger.admits(name):
                    ledger.take(name, "x")
                    taken.append(name)
            if taken:
                allocated.append(held(*taken, by=f"{one.id.name}-{number}", pool_name=one.id.name))
    return Cluster(pools=tuple(pools), classes={"any": ANY}, allocated=tuple(allocated))


def nodes_of(cluster):
    return [Node(pool.id.name) for pool in cluster.pools]


def fits(cluster, node, claims, without=()):
    """Whether the plain search finds devices, once some claims have ended."""
    rest = tuple(one for one in cluster.allocated if one.ref not in without)
    found = allocate(claims, Cluster(pools=cluster.pools, classes=cluster.classes, allocated=rest), node)
    return isinstance(found, Allocation)


def most_parts(cluster, node, wanted):
    """How many parts of one size fit on a node, by trying every set of parts."""
    (mine,) = (pool for pool in cluster.pools if pool.id.name == node.name)
    ledger = Ledger(mine)
    for claim_ in cluster.allocated:
        for one in claim_.results:
            if one.device.pool == node.name:
                ledger.take(one.device.device, "held")
    names = [one.name for one in mine.devices if one.attributes[qualified("size", DRIVER)] == wanted]
    return _most(ledger, names)


def _most(ledger, names):
    if not names:
        return 0
    first, *rest = names
    without = _most(ledger, rest)
    if not ledger.admits(first):
        return without
    ledger.take(first, "oracle")
    try:
        return max(without, 1 + _most(ledger, rest))
    finally:
        ledger.release(first, "oracle")


def fewest_to_end(cluster, node, claims):
    """How many claims must end on a node at least, by trying every set of claims; None where none will do."""
    here = [one.ref for one in cluster.allocated if any(r.device.pool == node.name for r in one.results)]
    for count in range(len(here) + 1):
        if any(fits(cluster, node, claims, ended) for ended in combinations(here, count)):
            return count
    return None
