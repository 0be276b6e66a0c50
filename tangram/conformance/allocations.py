"""Cases of allocation, with the three forms in which case files write the expected answer.

``Named``: by claim name; also the reason where nothing fits, what is allocatable, and a sequence of steps.
``Listed``: one AllocationResult per claim, as in Kubernetes' own tests. ``Feasible``: whether the claims fit,
and the first devices. A policy other than first-fit may give any valid answer, and must give one exactly when
one exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scheduler_core.base.errors import AmountError, CoreError, InvalidClaim, InvalidSlice, SelectorError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.allocations import allocation_result, place_result
from scheduler_core.model.result import Allocation, Cause, Unallocatable
from tangram.conformance.alternatives import worse_alternatives
from tangram.conformance.answering import Answered
from tangram.conformance.properties import failing
from tangram.conformance.runs import unequal
from tangram.conformance.situation import Situation

Result = Mapping[str, Any]

_MISTAKES: Final = (
    ("claim limit", Cause.TOO_MANY_DEVICES, InvalidClaim),
    ("invalid resource pool", Cause.POOL_INVALID, InvalidSlice),
    ("being updated", Cause.POOL_INCOMPLETE, InvalidSlice),
    ("CEL", None, SelectorError),
    ("cannot be represented", None, AmountError),
    ("disabled", None, InvalidClaim),
    ("device class", None, InvalidClaim),
)
"""Words of upstream's errors, and what stands for that class of mistake here."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A case of Kubernetes' own table, answered. ``is_exact`` where the choice of devices must be equal."""

    situation: Situation
    answered: Answered
    is_exact: bool

    @property
    def answer(self) -> Any:
        """Return ``results``, ``unschedulable`` with the cause, or ``error``."""
        match self.answered:
            case Allocation() as found:
                return {"results": [allocation_result(found, claim.ref) for claim in self.situation.claims]}
            case Unallocatable() as refusal:
                return {"unschedulable": True, "cause": refusal.cause.value}
            case CoreError() as error:
                return {"error": str(error)}

    def differences(self, expect: Any) -> Iterator[str]:
        """Yield how the answer differs; devices of one claim may come in any order."""
        match expect, self.answered:
            case {"results": wanted}, Allocation() as found:
                if self.is_exact:
                    yield from unequal("results", _sorted(wanted), _sorted(self.answer["results"]))
                else:
                    given = [one["devices"]["results"] for one in wanted]
                    yield from _another(given, found, self.situation)
            case {"unschedulable": True}, Unallocatable():
                return
            case {"error": text}, CoreError() | Unallocatable() as found:
                if not _is_mistake(text, found):
                    yield from unequal("error", text, self.answer)
            case _:
                yield from unequal("answer", expect, self.answer)

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield what the answer lacks."""
        yield from lacking(accept, self, self.answered, self.situation)


@dataclass(frozen=True, slots=True)
class Feasible:
    """A random instance, answered."""

    situation: Situation
    answered: Answered
    is_exact: bool

    @property
    def answer(self) -> Any:
        """Return ``feasible`` and, where it is, the devices of each claim."""
        match self.answered:
            case Allocation() as found:
                given = [found.results[claim.ref] for claim in self.situation.claims]
                return {"feasible": True, "firstFit": [list(map(place_result, one)) for one in given]}
            case Unallocatable():
                return {"feasible": False}
            case CoreError() as error:
                return {"error": str(error)}

    def differences(self, expect: Any) -> Iterator[str]:
        """Yield how the answer differs; devices of one claim may come in any order."""
        yield from unequal("feasible", expect["feasible"], self.answer.get("feasible", self.answer))
        if not isinstance(self.answered, Allocation) or not expect["feasible"]:
            return
        if self.is_exact:
            wanted = [sorted(results, key=_order) for results in expect["firstFit"]]
            found = [sorted(results, key=_order) for results in self.answer["firstFit"]]
            yield from unequal("firstFit", wanted, found)
        else:
            yield from _another(expect["firstFit"], self.answered, self.situation)

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield what the answer lacks."""
        yield from lacking(accept, self, self.answered, self.situation)


def _another(wanted: Sequence[Sequence[Result]], answer: Allocation, situation: Situation) -> Iterator[str]:
    """Yield what is wrong with an answer that may give other devices, but no later alternatives."""
    found = [answer.results[claim.ref] for claim in situation.claims]
    yield from worse_alternatives(
        situation.claims,
        [[one["request"] for one in results] for results in wanted],
        [[one.request for one in results] for results in found],
    )
    yield from failing((), answer, situation)


def lacking(accept: Any, run: Any, answered: Answered | None, situation: Situation) -> Iterator[str]:
    """Yield what an answer lacks of ``accept``: properties, or one of several answers."""
    properties = accept.get("property", ()) if isinstance(accept, Mapping) else accept
    others = accept.get("any_of", ()) if isinstance(accept, Mapping) else ()
    if any(not list(run.differences(other)) for other in others):
        return
    if others and not properties:
        yield f"the answer is none of the {len(others)} that are accepted"
    elif isinstance(answered, Allocation):
        yield from failing(properties, answered, situation)
    else:
        yield f"properties are asked of an allocation; the answer is {run.answer}"


def _is_mistake(text: str, found: CoreError | Unallocatable) -> bool:
    """Whether our error is of the class that upstream's text names."""
    for words, cause, error in _MISTAKES:
        if words in text:
            if isinstance(found, Unallocatable):
                return any(reason.cause is cause for reason in found.reasons)
            return isinstance(found, error)
    return isinstance(found, CoreError)


def _sorted(results: Sequence[Result]) -> list[Result]:
    return [
        {**one, "devices": {**one["devices"], "results": sorted(one["devices"]["results"], key=_order)}}
        for one in results
    ]


def _order(result: Result) -> tuple[str, ...]:
    return tuple(str(result.get(key, "")) for key in ("request", "driver", "pool", "device"))
