"""Looks at the cluster while the campaign runs, and notes what it sees in the report.

In go what containers write, claims, pods and logs; out come problems, and which pods have run or are over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from chaos.api_side import ApiSide
from chaos.books import Books
from chaos.forgotten import Container
from chaos.node_side import NodeSide
from chaos.plugin_log import prepared_s, was_unprepared
from chaos.report import Report
from chaos.stream import Arrival
from kube_api import PODS, ApiError

_LOOK_S: Final = 2.0
_TELL_S: Final = 10.0


class Observer:
    """Shape: ``ran`` are pods that have held their devices, ``over`` those that have ended, by name.

    What a container does that its runtime has forgotten is told apart from problems, and so is what comes of
    a claim that the kubelet ended before its container.
    """

    def __init__(self, api: ApiSide, node: NodeSide, report: Report, say: Callable[[str], None]) -> None:
        self._api, self._node, self._report, self._say = api, node, report, say
        self._books = Books.of(api.slices())
        self._kinds: dict[str, str] = {}
        self._looked = self._told = 0.0
        self._forgotten: dict[str, Container] = {}
        self.ran: set[str] = set()
        self.over: set[str] = set()

    def came(self, arrival: Arrival) -> None:
        """Note an arrival."""
        self._report.came[arrival.kind] += 1
        self._kinds |= dict.fromkeys(arrival.pods, arrival.kind)

    def look(self) -> None:
        """Read what containers have written; now and then look at everything else too."""
        for one in self._node.forgotten():  # some live for a second only, and are over when they are told of
            if one.pod not in self._forgotten:
                self._say(f"the runtime has forgotten process {one.pid} of pod {one.pod}")
            self._forgotten |= dict.fromkeys((one.pod, one.owner), one)
        for event in self._node.new_events():
            self._take(event)
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        self._report.most_held = max(self._report.most_held, len(self._node.locked()))
        for name in self._node.tracebacks():
            self._problem(f"there is a traceback in {name}")
        try:
            self._look_at_objects()
        except ApiError:
            return  # the next look sees it
        if now - self._told >= _TELL_S:
            self._told = now
            self._say(
                f"{self._report.came.total()} arrivals, {self._report.ran.total()} pods ran, "
                f"{self._report.most_held} parts held at most, {len(self._report.problems)} problems"
            )

    def what_is_left(self) -> list[str]:
        """Return what is left when everything was deleted, as sentences."""
        try:
            return [*self._node.left(), *self._api.left()]
        except (ApiError, OSError) as error:
            return [str(error)]

    def _look_at_objects(self) -> None:
        for text in self._books.mistakes(self._api.claims()):
            self._problem(text)
        for pod in self._api.documents(PODS):
            name, how = pod["metadata"]["name"], how_ended(pod)
            if how and name not in self.over:
                self.over.add(name)
                self._report.ended[how] += 1

    def _take(self, event: dict[str, Any]) -> None:
        pod = event["pod"]
        match event["kind"]:
            case "held":
                self.ran.add(pod)
                self._report.ran[self._kinds[pod]] += 1
            case "double":
                text = f"{event['unit']} is held by {event['with_']} and seen by {pod}"
                self._problem(text, pod, event["with_"], is_early=self._was_given_up(event))
            case _:
                is_early = was_unprepared(self._node.said_of(event["owner"]), event["at"])
                self._problem(f"pod {pod}: {event['why']}", pod, is_early=is_early)

    def _was_given_up(self, event: Mapping[str, Any]) -> bool:
        """Whether a device had been unprepared for the claim that holds it before another one got it."""
        given_s = prepared_s(self._node.said_of(event["owner"]), event["at"])
        return given_s is not None and was_unprepared(self._node.said_of(event["with_"]), given_s)

    def _problem(self, text: str, *pods: str, is_early: bool = False) -> None:
        """Note a problem, once.

        Shape: ``pods`` are those whose containers have it, or their owners; ``is_early`` whether it comes of
               a claim that the kubelet had unprepared before the container ended.
        """
        known = [self._forgotten[pod] for pod in pods if pod in self._forgotten]
        noted, what = self._report.problems, "PROBLEM"
        if known:
            text = f"{text}; the runtime has forgotten process {known[0].pid} of {known[0].pod}"
            noted, what = self._report.forgotten, "FORGOTTEN"
        elif is_early:
            noted, what = self._report.early, "EARLY"
        if text not in noted:
            noted.append(text)
            self._say(f"{what}: {text}")


def how_ended(pod: Mapping[str, Any]) -> str:
    """Return how a pod ended, empty while it has not, and where it was deleted."""
    status = pod.get("status", {})
    if status.get("phase") not in ("Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]:
        return ""
    states = [one["state"].get("terminated") or {} for one in status.get("containerStatuses", ())]
    codes = [f"{one.get('reason')} {one['exitCode']}" for one in states if one.get("exitCode")]
    return " ".join([status["phase"], status.get("reason", ""), *codes]).replace("  ", " ").strip()
