"""What the engine and the plain search decide in a random world, in a form that can be compared."""

from dataclasses import replace

from scheduler_core.base.effort import EffortExceeded
from scheduler_core.base.errors import CoreError, SelectorError
from scheduler_core.codec.allocations import allocation_result
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.search.answer import allocation
from scheduler_core.search.candidates import located
from scheduler_core.search.depth_first import plain_search
from scheduler_core.search.problem import problem_of
from tangram.bench.question import decode_question

NODES = [Node("n1", {"zone": "a"}), Node("n2", {"zone": "b"})]
STEPS = 300_000
"""What the exhaustive search may take for one question: worlds beyond that are counted, not compared."""
UNDECIDED = "undecided"
POLICIES = {"first-fit": FIRST_FIT, "best-fit": BEST_FIT}


def situation(question):
    """Return the claims and the cluster of a world."""
    asked = decode_question(question)
    held = () if not asked.held.results else (asked.held,)
    cluster = Cluster(pools=asked.pools, classes=asked.classes, allocated=held, features=asked.features)
    return asked.batches[0], cluster


def plain(claims, cluster, node):
    """Return what the exhaustive search decides: an allocation, None, an error, or UNDECIDED."""
    seen = replace(cluster, pools=cluster.pools_seen_from(node))
    try:
        search = plain_search(problem_of(claims, seen, node), STEPS)
        if not search.run():
            return None
    except SelectorError as error:
        return SelectorError, str(located(error, claims, cluster.classes))
    except CoreError as error:
        return type(error), str(error)
    except EffortExceeded:
        return UNDECIDED
    return allocation(claims, search.problem, search.chosen, cluster=seen, node=node)


def by(engine, claims, node):
    """Return what an engine decides, in the same form."""
    try:
        found = engine.decide(claims, node)
    except CoreError as error:
        return type(error), str(error)
    return UNDECIDED if isinstance(found, Undecided) else found


def disagreement(question, policies=("first-fit", "best-fit")):
    """Return where an engine and the exhaustive search differ, None if they agree.

    ``first-fit`` gives the very devices that trying everything in listed order finds, any other policy an
    answer whenever one exists. What either side leaves undecided is not compared.
    """
    claims, cluster = situation(question)
    engines = [(name, Engine.of(cluster, POLICIES[name])) for name in policies]
    for node in NODES:
        expected = plain(claims, cluster, node)
        for name, engine in engines:
            found = by(engine, claims, node)
            if UNDECIDED in (found, expected):
                continue
            is_same = found == expected
            if name != "first-fit" and isinstance(found, Allocation):
                is_same = isinstance(expected, Allocation)
            if not is_same:
                return f"{node.name}, {name}: {found} instead of {expected}"
            if not isinstance(found, tuple) and engine.fits(claims, node) is (found is None):
                return f"{node.name}, {name}: fits says {found is None}"
    return None


def answers(questions):
    """Yield what ``first-fit`` decides for each question, as hack/upstream-allocator writes an answer."""
    for question in questions:
        claims, cluster = situation(question)
        (node,) = [one for one in NODES if one.name == question["node"]["metadata"]["name"]]
        found = by(Engine.of(cluster, FIRST_FIT), claims, node)
        is_fit = isinstance(found, Allocation)
        yield {
            "results": [allocation_result(found, claim.ref) for claim in claims] if is_fit else [],
            "unschedulable": found is None,
            "error": found[1] if isinstance(found, tuple) else None,
            "timed_out": found == UNDECIDED,
        }
