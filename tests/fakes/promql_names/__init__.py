"""The metrics and labels that a PromQL expression names, as a parser of PromQL finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import promql_parser as promql

_VARIABLE_OF_A_TIME: Final = re.compile(r"\[\$__rate_interval\]")


@dataclass(frozen=True)
class Named:
    """One metric with the labels that its selector names."""

    metric: str
    labels: frozenset[str]


def parsed(expression: str) -> list[Any]:
    """Return all parts of an expression. Raises: ValueError where Prometheus would refuse it.

    Shape: Grafana's variable for a range may stand where a time does, as a dashboard has it.
    """
    found: list[Any] = []
    promql.walk(promql.parse(_VARIABLE_OF_A_TIME.sub("[5m]", expression)), found.append)
    return found


def metrics_of(expression: str) -> Iterator[Named]:
    """Yield every metric that an expression selects."""
    for part in parsed(expression):
        if isinstance(part, promql.VectorSelector):
            matchers = part.matchers.matchers
            yield Named(str(part.name), frozenset(one.name for one in matchers if one.name != "__name__"))


def grouping_of(expression: str) -> frozenset[str]:
    """Return the labels by which an expression groups or joins."""
    labels: set[str] = set()
    for part in parsed(expression):
        if isinstance(part, promql.AggregateExpr) and part.modifier is not None:
            labels.update(part.modifier.labels)
        if isinstance(part, promql.BinaryExpr) and part.modifier is not None:
            matching = part.modifier.matching
            labels.update(matching.labels if matching is not None else ())
            labels.update(part.modifier.group_labels or ())
    return frozenset(labels)
