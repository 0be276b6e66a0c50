"""Cases that name their claims: the semantics of composite devices, one situation each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_core.base.errors import CoreError, SelectorError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.allocations import place_result, requirements
from scheduler_core.model.result import Allocation, Unallocatable
from tangram.conformance.allocations import lacking
from tangram.conformance.alternatives import worse_alternatives
from tangram.conformance.answering import Answered
from tangram.conformance.properties import failing
from tangram.conformance.runs import unequal
from tangram.conformance.situation import Situation


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A case of the semantics, answered.

    Shape: ``answered`` is None where the case has no claims; ``extra`` what it asks beside an allocation:
           ``allocatable``, ``steps``, ``feasibleNodes``; ``is_exact`` where the choice must be equal.
    """

    situation: Situation
    answered: Answered | None
    extra: Mapping[str, Any]
    is_exact: bool

    @property
    def answer(self) -> Any:
        """Return what the core says, under the keys of ``expect``."""
        return {**self._allocation(), **self.extra}

    def _allocation(self) -> dict[str, Any]:
        match self.answered:
            case None:
                return {}
            case Allocation() as found:
                return {
                    "allocation": {
                        ref.name: {"results": [place_result(one) for one in results]}
                        for ref, results in found.results.items()
                    },
                    "node": found.node,
                    "nodeSelector": requirements(found.nodes[self.situation.claims[0].ref]),
                }
            case Unallocatable() as refusal:
                return {"unschedulable": refusal.cause.value}
            case SelectorError() as error:
                return {"unschedulable": "SelectorError", "error": str(error)}
            case CoreError() as error:
                return {"error": str(error)}

    def differences(self, expect: Any) -> Iterator[str]:
        """Yield how the answer differs; devices of one request may come in any order."""
        answer = self.answer
        if "allocatable" in expect:
            yield from unequal("allocatable", sorted(expect["allocatable"]), answer["allocatable"])
        for number, step in enumerate(expect.get("steps", ())):
            found = answer["steps"][number]["allocatable"]
            yield from unequal(f"steps[{number}]", sorted(step["allocatable"]), found)
        exactly = ("node",) if self.is_exact else ()  # another policy weighs nodes too
        for key in ("feasibleNodes", "unschedulable", *exactly):
            if key in expect:
                yield from unequal(key, expect[key], answer.get(key, answer))
        if expect.get("allocation") is not None or "accept" in expect:
            yield from self._allocated(expect)
        if "nodeSelector" in expect and self._is_the_choice(expect):
            yield from unequal("nodeSelector", expect["nodeSelector"], answer.get("nodeSelector", answer))

    def _allocated(self, expect: Mapping[str, Any]) -> Iterator[str]:
        if not isinstance(self.answered, Allocation):
            yield from unequal("answer", expect.get("allocation", "an allocation"), self.answer)
            return
        wanted = expect.get("allocation")
        if wanted is not None and self.is_exact:
            yield from unequal("allocation", _ordered(wanted), _ordered(self.answer["allocation"]))
        elif wanted is not None:
            claims = [claim for claim in self.situation.claims if claim.ref.name in wanted]
            found = [[one.request for one in self.answered.results[claim.ref]] for claim in claims]
            named = [[one["request"] for one in wanted[claim.ref.name]["results"]] for claim in claims]
            yield from worse_alternatives(claims, named, found)
        if "accept" in expect or not self.is_exact:
            yield from failing(expect.get("accept", ()), self.answered, self.situation)

    def _is_the_choice(self, expect: Mapping[str, Any]) -> bool:
        """Whether the devices are the expected ones: others have another selector."""
        wanted = expect.get("allocation")
        return self.is_exact or (
            wanted is not None and _ordered(wanted) == _ordered(self.answer.get("allocation", {}))
        )

    def lacks(self, accept: Any) -> Iterator[str]:
        """Yield what the answer lacks."""
        yield from lacking(accept, self, self.answered, self.situation)


def _ordered(allocation: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sorted(one["results"], key=_order) for name, one in sorted(allocation.items())}


def _order(result: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(result.get(key, "") for key in ("request", "driver", "pool", "device"))
