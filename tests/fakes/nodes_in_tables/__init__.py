"""Nodes whose pools are compiled, and claims compiled for them: the parts of an engine without the engine."""

from collections.abc import Mapping, Sequence

from scheduler_core.base.effort import Effort
from scheduler_core.base.features import ALL, Features
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.compiled_claim import CompiledClaim
from scheduler_core.engine.compiled_claims import CompiledClaims
from scheduler_core.engine.solve.coverage import Covered
from scheduler_core.engine.solve.plan import NodePlan
from scheduler_core.engine.solve.planner import Planner
from scheduler_core.model.claim import Claim, DeviceClass
from scheduler_core.model.pool import Pool
from scheduler_core.state.node_class import NodeView
from scheduler_core.state.node_views import NodeViews
from scheduler_core.state.testing import ANY
from scheduler_core.tables.pool_compiler import PoolCompiler


def node_views_of(pools: Sequence[Pool], features: Features = ALL) -> NodeViews:
    """Return the nodes that own the pools."""
    node_views, compiler = NodeViews(lambda _: None, features), PoolCompiler(features)
    for pool in pools:
        node_views.put(compiler.compile_if_regular(pool) or pool)
    return node_views


def compiled_claims(
    classes: Mapping[str, DeviceClass] | None = None, features: Features = ALL, effort: Effort | None = None
) -> CompiledClaims:
    """Return a cache that has compiled no claim yet."""
    found = CompiledClaims(Planner(effort or Effort()), SelectorCache(), features, lambda: None)
    found.set_classes(classes or {"any": ANY})
    return found


def compiled(*claims: Claim) -> CompiledClaim:
    """Return some claims compiled."""
    return compiled_claims().of_new(claims)


def plan_on(node_view: NodeView, *claims: Claim) -> NodePlan | None:
    """Return the plan of some claims on a node, None where plans do not cover them there."""
    coverage = compiled(*claims).coverage(node_view)
    return coverage.plan if isinstance(coverage, Covered) else None
