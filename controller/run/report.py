"""Reports what the controller does: metrics, and a decision log of JSON lines.

Takes decisions and outcomes; sets metrics and writes lines. Units: seconds.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TextIO

from controller.decide.decisions import Decision, Placed
from controller.decide.question import Question
from controller.metrics import Metrics
from controller.model.claims import ClaimSeen
from controller.plan.plans import Plan
from controller.run.coordinator import Coordinator
from controller.run.surprises import Surprises
from controller.run.values import Decided
from controller.run.writer import Outcome
from daemon.log_fields import fields
from scheduler_core.codec.allocations import place_result

_log: Final = logging.getLogger("controller")


class Times(NamedTuple):
    """How long a decision took by the clock, how long of that it ran, how long its first pod had waited."""

    took_s: float
    running_s: float
    waited_s: float


class Report:
    """Tells about one coordinator.

    Shape: ``lines`` is where decisions are written, None for nowhere; ``wall`` gives the time of day.
    """

    def __init__(self, metrics: Metrics, lines: TextIO | None, wall: Callable[[], float]) -> None:
        self._metrics = metrics
        self._lines = lines
        self._wall = wall
        self._doubles: frozenset[object] = frozenset()
        self._untainted: tuple[str, ...] = ()
        self._unreadable: frozenset[str] = frozenset()
        self._told_taken_back = 0

    def surprises(self, clock: Callable[[], float]) -> Surprises:
        """Return what counts unexpected errors into the same metrics. Units: ``clock`` in seconds."""
        return Surprises(self._metrics, clock)

    def decided(self, decided: Decided, times: Times) -> None:
        """Report decisions, each with its part of the time."""
        count = len(decided.decisions)
        part = Times(times.took_s / count, times.running_s / count, times.waited_s)
        for decision in decided.decisions:
            self._decided(decision, part)

    def _decided(self, decision: Decision, times: Times) -> None:
        result = type(decision).__name__
        solver = decision.solver if isinstance(decision, Placed) else ""
        self._metrics.count("decisions_total", result=result, solver=solver)
        self._metrics.add("decision_seconds_total", times.took_s, result=result)
        if isinstance(decision, Placed):
            self._metrics.add("waited_seconds_total", times.waited_s)
        rounded = {name: round(value, 6) for name, value in times._asdict().items()}
        self._log_line({**rounded, **_described(decision)})

    def claim_changed(self, old: ClaimSeen | None, new: ClaimSeen | None) -> None:
        """Report that the devices of a claim are free again: the end of what a decision began."""
        is_held = new is not None and old is not None and new.uid == old.uid and new.held is not None
        if old is not None and old.held is not None and not is_held:
            self._log_line({"result": "Freed", "claim": str(old.ref)})

    def _log_line(self, line: Mapping[str, Any]) -> None:
        if self._lines is not None:
            json.dump({"at": round(self._wall(), 3), **line}, self._lines)
            self._lines.write("\n")
            self._lines.flush()

    def written(self, plan: Plan, outcome: Outcome, took_s: float) -> None:
        """Report the end of a plan's writes."""
        kind = type(plan).__name__
        self._metrics.count("writes_total", kind=kind, result=str(outcome.failure or "done"))
        self._metrics.add("write_seconds_total", took_s, kind=kind)

    def heard(self, kind: str, problem: str) -> None:
        """Report an event of a watch, or what is wrong with it. Safe between threads."""
        self._metrics.set("watch_last_event_timestamp_seconds", self._wall(), kind=kind)
        if problem:
            self._metrics.count("watch_interruptions_total", kind=kind)

    def state(self, coordinator: Coordinator, *, is_leading: bool) -> None:
        """Report the state of a coordinator."""
        seen, metrics = coordinator.seen, self._metrics
        waiting = Counter(
            type(coordinator.refused[uid]).__name__ if uid in coordinator.refused else "Queued"
            for uid in coordinator.standing.since
            if uid in coordinator.standing.line or uid in coordinator.refused
        )
        waiting["Failed"] = len(coordinator.standing.aside)
        waiting["Incomplete"] = sum(bool(why) for why in coordinator.standing.notes.values())
        metrics.only("waiting_pods", "why", dict(waiting))
        metrics.set("pods_in_flight", coordinator.in_flight)
        metrics.set("owned_nodes", len(seen.owned))
        metrics.set("untainted_nodes", len(seen.owned.untainted()))
        metrics.set("held_back_nodes", len(coordinator.standing.held_back))
        metrics.set("unreadable_slices", len(seen.problems))
        metrics.set("doubly_held_devices", len(seen.doubles))
        metrics.add("deallocations_total", coordinator.counts.taken_back - self._told_taken_back)
        self._told_taken_back = coordinator.counts.taken_back
        metrics.set("leader", float(is_leading))
        self._tell_doubles(coordinator)
        self._tell_untainted(coordinator)
        self._tell_unreadable(coordinator)

    def _tell_doubles(self, coordinator: Coordinator) -> None:
        found = coordinator.seen.doubles
        for device, refs in found.items():
            if device not in self._doubles:
                names = ", ".join(map(str, refs))
                text = "device %s is held by claims %s: somebody else allocated it too"
                _log.error(text, device, names, extra=fields(device=device.device, node=device.pool))
        self._doubles = frozenset(found)

    def _tell_untainted(self, coordinator: Coordinator) -> None:
        found = coordinator.seen.owned.untainted()
        if found and found != self._untainted:
            remedy = "the agent there is older, or the API server drops device taints"
            _log.warning(
                "nodes %s are not served, since their devices lack the taint: %s", ", ".join(found), remedy
            )
        self._untainted = found

    def _tell_unreadable(self, coordinator: Coordinator) -> None:
        seen = coordinator.seen
        slices = {f"no device of its pool is allocated: {why}" for why in seen.problems.values()}
        withheld = "the GPUs of its node are withheld from pods that ask by amounts"
        nodes = {f"{withheld}: {why}" for why in seen.node_problems.values()}
        found = frozenset(slices | nodes)
        for text in sorted(found - self._unreadable):
            _log.warning("%s", text)
        self._unreadable = found


def _described(decision: Decision) -> Mapping[str, Any]:
    question = decision.question
    found: dict[str, Any] = {
        "pod": str(question.pod.ref),
        "uid": question.pod.uid,
        "result": type(decision).__name__,
        "claims": list(_asked(question)),
    }
    if isinstance(decision, Placed):
        found["node"], found["solver"] = decision.node, decision.solver
        given = decision.devices
        found["devices"] = {str(ref): list(map(place_result, one)) for ref, one in given.items()}
    if question.amounts is not None:
        found["amounts"] = dict(question.pod.annotations)
    return found


def _asked(question: Question) -> Iterator[Mapping[str, Any]]:
    for one in question.wanted:
        document = one.seen.document if one.seen is not None else one.spec
        spec = (document or {}).get("spec") or {}
        yield {"claim": str(one.asked.ref), "spec": spec}
