"""The controller's decision log (``tangram controller --decisions``) as a trace.

A pod arrives when its first decision says that it began to wait, and asks for all its claims at once. It
stays from the time at which it was placed until the last of its claims was freed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from scheduler_core.base.errors import CoreError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.claims import decode_claim
from scheduler_core.model.claim import Claim
from tangram.errors import BadInput
from tangram.planning.traces.cells import seconds
from tangram.planning.traces.trace import Trace, TraceBuilder

_Specs = list[Mapping[str, Any]]


@dataclass(slots=True)
class _Pod:
    """What the log says of a pod. Units: seconds since 1970."""

    came: float
    specs: _Specs
    placed: float | None = None
    freed: float | None = None
    claims: set[str] = field(default_factory=set)


def read_decisions(place: str, lines: Iterable[tuple[int, Mapping[str, Any]]]) -> Trace:
    """Return the trace of a decision log. Raises: BadInput."""
    pods: dict[str, _Pod] = {}
    holders: dict[str, _Pod] = {}
    others = 0
    for number, line in lines:
        try:
            if line["result"] == "Freed":
                _freed(holders, str(line["claim"]), seconds(place, number, "at", line["at"]))
            elif "amounts" in line:
                others += 1
            else:
                at = seconds(place, number, "at", line["at"])
                waited = seconds(place, number, "waited_s", line.get("waited_s", 0.0))
                _decided(pods, holders, line, at, waited)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{place}: line {number}: is no line of a decision log: {error!r}") from error
    builder = TraceBuilder(place)
    endless = sum(_added(builder, place, pod) for pod in pods.values() if pod.specs)
    return builder.trace(_notes(endless, others))


def _decided(
    pods: dict[str, _Pod], holders: dict[str, _Pod], line: Mapping[str, Any], at: float, waited: float
) -> None:
    claims: _Specs = [{"claim": one["claim"], "spec": one["spec"]} for one in line["claims"]]
    pod = pods.setdefault(str(line["uid"]), _Pod(at - waited, claims))
    if line["result"] == "Placed":
        pod.placed, pod.freed = at, None
        pod.claims = {str(one["claim"]) for one in claims}
        holders |= dict.fromkeys(pod.claims, pod)


def _freed(holders: dict[str, _Pod], claim: str, at: float) -> None:
    pod = holders.pop(claim, None)
    if pod is not None:
        pod.claims.discard(claim)
        if not pod.claims:
            pod.freed = at


def _added(builder: TraceBuilder, place: str, pod: _Pod) -> bool:
    """Add a pod, and return whether its end is not known."""
    key = json.dumps([one["spec"] for one in pod.specs], sort_keys=True)
    claims = () if builder.knows(key) else [_claim(place, one) for one in pod.specs]
    ends = pod.placed is not None and pod.freed is not None and pod.freed > pod.placed
    stays = (pod.freed or 0.0) - (pod.placed or 0.0) if ends else None
    builder.arrive(pod.came, stays, builder.ask(key, claims))
    return not ends


def _claim(place: str, one: Mapping[str, Any]) -> Claim:
    namespace, _, name = str(one["claim"]).rpartition("/")
    document = {"metadata": {"namespace": namespace or "default", "name": name}, "spec": one["spec"]}
    try:
        return decode_claim(document)
    except CoreError as error:
        raise BadInput(f"{place}: {error}") from error


def _notes(endless: int, others: int) -> Iterable[str]:
    if endless:
        yield f"{endless} pods of the log have no end: they stay once they have devices"
    if others:
        yield f"{others} decisions about pods that ask by annotations or resource classes are left out"
