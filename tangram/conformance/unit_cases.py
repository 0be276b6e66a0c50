"""Cases of single rules of the pod front end: validity of amounts, counts, fills, orders, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.pods.amounts import CARDS, Ask, card_ask, checked, filled, gpu_ask, normalized
from scheduler_core.frontends.pods.hints import GPU, RDMA, Hint, hints_of
from scheduler_core.frontends.pods.pod_request import amounts_of
from scheduler_core.frontends.pods.scoring import Fill, Scoring, device_score, node_score, order
from tangram.conformance.pod_cases import amounts
from tangram.conformance.runs import unequal


@dataclass(frozen=True, slots=True)
class UnitRun:
    """A rule, applied. Shape: ``answer`` in the form of ``expect``."""

    answer: Mapping[str, Any]

    def differences(self, expect: Any) -> Iterator[str]:
        """Yield how the answer differs; quantities compare by amount."""
        for key, wanted in expect.items():
            if key != "reason":
                yield from unequal(key, _even(wanted), _even(self.answer.get(key)))

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield what the answer lacks of what the case accepts."""
        if not any(not list(self.differences(other)) for other in accept.get("any_of", ())):
            yield f"the answer is none of those that are accepted: {self.answer}"


def applied(kind: str, given: Mapping[str, Any]) -> UnitRun:
    """Return the answer of a rule. Raises: ValueError for an unknown rule."""
    if kind not in _RULES:
        raise ValueError(f"no rule is called {kind}; known: {', '.join(_RULES)}")
    return UnitRun(_RULES[kind](given))


def _validate(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        _checked(given)
    except InvalidPod as error:
        return {"valid": False, "reason": str(error)}
    return {"valid": True}


def _checked(given: Mapping[str, Any]) -> Mapping[str, int]:
    return checked("case", amounts_of("case", given["requests"]))


def _normalize(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"normalized": normalized(_checked(given))}


def _gpu_count(given: Mapping[str, Any]) -> dict[str, Any]:
    ask = gpu_ask(_checked(given))
    assert ask is not None
    return {"per_device": ask.per_device, "count": ask.count, "shared": ask.is_shared}


def _count_per_strategy(given: Mapping[str, Any]) -> dict[str, Any]:
    hint = hints_of("case", {RDMA: given["hint"]})[RDMA] if given.get("hint") else Hint()
    requested = amounts_of("case", given["requests"])
    ask: Ask = card_ask(RDMA, requested[CARDS[RDMA]], hint)
    matching = [
        one for one in given["nics"] if hint.selector is None or hint.selector.admits(one.get("labels") or {})
    ]
    if not matching:
        return {"unschedulable": True}
    count = len(matching) if ask.count is None else ask.count
    return {"per_device": ask.per_device, "count": count}


def _fill(given: Mapping[str, Any]) -> dict[str, Any]:
    answer = []
    for one in given["allocated"][GPU]:
        total = amounts(given["device_total"].get(str(one["minor"])))
        try:
            answer.append({**one, "resources": filled(amounts(one["resources"]), total)})
        except ValueError as error:
            return {"error": True, "reason": str(error)}
    return {"allocated": {GPU: answer}}


def _order(given: Mapping[str, Any]) -> dict[str, Any]:
    node_devices = [
        NodeDevice(kind=RDMA, number=one["minor"], score=one.get("score", 0), pcie=one.get("pcie"))
        for one in given["devices"]
    ]
    return {
        "order": order(node_devices, given.get("preferred_pcie") or (), given.get("preferred_minors") or ())
    }


def _scoring(given: Mapping[str, Any]) -> Scoring:
    return Scoring(Fill(given["strategy"]), given["weights"])


def _score_device(given: Mapping[str, Any]) -> dict[str, Any]:
    request, total, free = (amounts(given[key]) for key in ("request", "total", "free"))
    return {"score": device_score(_scoring(given), request, total, free)}


def _score_node(given: Mapping[str, Any]) -> dict[str, Any]:
    requests = {kind: amounts(one) for kind, one in given["requests"].items()}
    total, free = (
        {kind: [amounts(one) for one in by_minor.values()] for kind, by_minor in given[key].items()}
        for key in ("total", "free")
    )
    return {"score": node_score(_scoring(given), requests, total, free)}


def _even(value: Any) -> Any:
    """Return a value with every quantity as a number."""
    match value:
        case dict():
            is_amounts = any("/" in str(key) for key in value)
            return amounts(value) if is_amounts else {key: _even(one) for key, one in value.items()}
        case list():
            return [_even(one) for one in value]
        case _:
            return value


_RULES: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "validate_request": _validate,
    "normalize_request": _normalize,
    "gpu_count": _gpu_count,
    "count_per_strategy": _count_per_strategy,
    "fill_gpu_memory": _fill,
    "order_devices": _order,
    "score_device": _score_device,
    "score_node": _score_node,
}
