"""What was probably meant by a selector that fails on devices, since they have no attribute of that name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.advice.remedies import Change
from scheduler_core.advice.rewording import rewordings
from scheduler_core.advice.trials import Trials
from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.explain.funnel import funnels
from scheduler_core.model.claim import Claim
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node

_NODES: Final = 4  # nodes whose devices are looked at


def what_was_meant(claims: Sequence[Claim], engine: Engine, nodes: Sequence[Node]) -> str:
    """Return a question to go on after an error of a selector, empty where nothing is like what it reads.

    Shape: it begins with a semicolon; where the claims would fit with what was meant, it says where.
    """
    for node in nodes[:_NODES]:
        cluster = engine.state.seen_from(node)
        try:
            for one in rewordings(claims, cluster, node, Trials(engine).fits):
                if one.change is Change.CORRECTION:
                    return f"; did you mean {one.new}? With it the claims fit on {node.name}"
            meant = _meant(claims, cluster, node)
        except CoreError:  # of an expression that does not compile, nothing is known
            return ""
        if meant is not None:
            return f"; did you mean {meant}?"
    return ""


def _meant(claims: Sequence[Claim], cluster: Cluster, node: Node) -> str | None:
    """Return the name nearest to one that a failing expression reads and no device has."""
    failing = (stage for funnel in funnels(claims, cluster, node) for stage in funnel.stages if stage.fails)
    names = (values.nearest for stage in failing for values in stage.values if not values.found)
    return next((name for name in names if name is not None), None)
