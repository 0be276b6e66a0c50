"""Label selectors as in Kubernetes: all requirements must be met; an empty selector selects everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One requirement. Shape: ``values`` only with In and NotIn, and then at least one."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def admits(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet the requirement. NotIn is met if the key is absent."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements that must all be met."""

    requirements: tuple[LabelRequirement, ...] = ()

    def admits(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet every requirement."""
        return all(one.admits(labels) for one in self.requirements)


def label_selector(fields: Fields, key: str) -> LabelSelector | None:
    """Return the selector under ``key``, None where there is none. Raises: the error of ``fields``."""
    if not fields.has(key):
        return None
    found = fields.child(key)
    found.only("matchLabels", "matchExpressions")
    return LabelSelector((*_labels(found), *_expressions(found)))


def _labels(fields: Fields) -> Iterator[LabelRequirement]:
    labels = fields.optional("matchLabels")
    for key in labels.values:
        yield LabelRequirement(key, "In", (labels.text(key),))


def _expressions(fields: Fields) -> Iterator[LabelRequirement]:
    for one in fields.children("matchExpressions"):
        one.only("key", "operator", "values")
        key, operator = one.text("key"), one.text("operator")
        if not key:
            raise one.refuse("key", "must not be empty")
        if operator not in _OPERATORS:
            raise one.refuse("operator", f"must be one of {', '.join(_OPERATORS)}", operator)
        values = one.texts("values")
        if (operator in ("In", "NotIn")) != bool(values):
            rule = "needs values" if operator in ("In", "NotIn") else "must be empty"
            raise one.refuse("values", f"{rule} with operator {operator}", list(values))
        yield LabelRequirement(key, operator, values)
