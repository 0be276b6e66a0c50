"""Counts the free devices of each value of a constraint's attribute.

Takes demands and the cluster. Returns, per constraint, the number of devices under it and the number of free
devices of each value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from scheduler_core.model.claim import Claim, Constraint
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import AttributeValue, DeviceId, QualifiedName
from scheduler_core.model.nodes import Node
from scheduler_core.model.refusal import ConstraintValues, Demand
from scheduler_core.model.sentences import constraint_text
from scheduler_core.rules.constraints import applies


def constraint_values(
    claims: Sequence[Claim], cluster: Cluster, node: Node, demands: Sequence[Demand]
) -> tuple[ConstraintValues, ...]:
    """Return the counts for every constraint. Shape: in the order of the claims."""
    attributes = {
        pool.id_of(device): device.attributes
        for pool in cluster.pools_seen_from(node)
        for device in pool.devices
    }
    return tuple(
        _counts(claim, constraint, [one for one in demands if one.claim == claim.ref], attributes)
        for claim in claims
        for constraint in claim.constraints
    )


def _counts(
    claim: Claim,
    constraint: Constraint,
    demands: Sequence[Demand],
    attributes: Mapping[DeviceId, Mapping[QualifiedName, AttributeValue]],
) -> ConstraintValues:
    concerned = [one for one in demands if applies(constraint, one.request)]
    free = dict.fromkeys(one.device for demand in concerned for one in demand.matched if one.obstacle is None)
    values = [attributes[device].get(constraint.attribute) for device in free]
    found = Counter(text for value in values if value is not None for text in _texts(value))
    return ConstraintValues(
        claim=claim.ref,
        constraint=constraint_text(constraint),
        requests=tuple(dict.fromkeys(one.request.partition("/")[0] for one in concerned)),
        needed=sum(_least(concerned)),
        free=dict(sorted(found.items())),
        without=sum(value is None for value in values),
    )


def _least(demands: Iterable[Demand]) -> Iterator[int]:
    """Yield the least number of devices of each request: that of its smallest alternative."""
    least: dict[str, int] = {}
    for one in demands:
        name = one.request.partition("/")[0]
        least[name] = min(one.needed, least.get(name, one.needed))
    yield from least.values()


def _texts(value: AttributeValue) -> Iterator[str]:
    for one in value if isinstance(value, tuple) else (value,):
        yield str(one).lower() if isinstance(one, bool) else str(one)
