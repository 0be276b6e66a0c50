"""One campaign: pods come and go, parts are killed; then everything goes, and the cluster must still work.

In go the launcher's cluster and what was chosen; out comes a report.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from launcher.client import ClusterControl

from chaos.api_side import ApiSide, connect
from chaos.killer import Killer
from chaos.node_side import NodeSide
from chaos.observer import Observer
from chaos.parts import NotBack, Parts
from chaos.pods import NEVER_RUNS
from chaos.report import Report
from chaos.stream import Arrival, Come, Go, Stream, one_of_each
from kube_api import NODES
from scheduler_core.model.ownership import CONTROLLER, OWNER

_STEP_S: Final = (0.1, 0.7)
_PAUSE_S: Final = 0.2
_FIRST_PODS: Final = 4  # run before the first kill, where they do so in time
_FIRST_S: Final = 60.0
# Where the API server was gone, the kubelet hears of deleted pods up to two minutes later.
_LIMIT_S: Final = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is wanted.

    Shape: ``most`` arrivals at once; ``has_controller`` as the cluster has one. It lasts for ``seconds``, and
           until each part was killed once.
    Units: seconds, as the killer has them.
    """

    seed: int
    seconds: float
    kinds: Sequence[str]
    parts: Sequence[str]
    most: int
    pause_s: tuple[float, float]
    calm_s: float
    has_controller: bool = True


class Campaign:
    """Runs once."""

    def __init__(
        self, choice: Choice, api: ApiSide, node: NodeSide, parts: Parts, say: Callable[[str], None]
    ) -> None:
        self.report = Report(choice.seed)
        self._choice, self._api, self._node, self._parts, self._say = choice, api, node, parts, say
        self._stream = Stream(choice.seed, choice.kinds, choice.most, has_controller=choice.has_controller)
        self._observer = Observer(api, node, self.report, say)
        self._halves: set[str] = set()

    def run(self) -> Report:
        """Let pods come and go while parts are killed, then let all go. Raises: ApiError; OSError."""
        choice, began = self._choice, time.monotonic()
        self._node.prepare()
        self._api.begin()
        killer = Killer(
            self._parts,
            choice.parts,
            seed=choice.seed,
            pause_s=choice.pause_s,
            calm_s=choice.calm_s,
            report=self.report,
            say=self._say,
        )
        first = time.monotonic() + _FIRST_S
        self._pods_come_and_go(lambda: len(self._observer.ran) < _FIRST_PODS and time.monotonic() < first)
        with killer.at_work():
            self._pods_come_and_go(lambda: killer.rounds < 1 or time.monotonic() < began + choice.seconds)
        self._say("no more kills; pods that wait get their turn, then all go")
        self._wait_for_parts()
        self._let_all_run()
        self.report.clear_s = self._until(self._is_clear, self._observer.what_is_left)
        self._one_of_each()
        self.report.problems += [f"the API server refused: {text}" for text in self._api.refused]
        self.report.again = self._api.failed
        self.report.seconds = time.monotonic() - began
        if self.report.is_well:
            self._api.end()
        return self.report

    def _pods_come_and_go(self, goes_on: Callable[[], bool]) -> None:
        chance = random.Random(self._choice.seed)
        while goes_on():
            match self._stream.next():
                case Come(arrival):
                    self._come(arrival)
                case Go() as go:
                    self._api.go(go)
                    self._halves |= {go.arrival.name} if go.is_half else set()
            self._look()
            time.sleep(chance.uniform(*_STEP_S))

    def _come(self, arrival: Arrival) -> None:
        self._observer.came(arrival)
        self._api.come(arrival)

    def _wait_for_parts(self) -> None:
        try:
            self._parts.wait(_LIMIT_S)
        except NotBack as error:
            self._problem(str(error))

    def _let_all_run(self) -> None:
        """Delete what has run, so that what waits comes to run too: nothing may be forgotten."""
        there = list(self._stream.there)

        def is_due(one: Arrival) -> bool:
            cannot_run = one.kind in NEVER_RUNS or one.name in self._halves
            return cannot_run or self._observer.ran | self._observer.over >= set(one.pods)

        def all_went() -> bool:
            self._look()
            for arrival in [one for one in there if is_due(one)]:
                self._api.go(Go(arrival))
                there.remove(arrival)
            return not there

        self.report.waited_s = self._until(
            all_went, lambda: [f"{one.name} did not run after the last kill" for one in there]
        )
        for arrival in there:
            self._api.go(Go(arrival))

    def _one_of_each(self) -> None:
        """Run one of each kind to see that all parts still work; then nothing may be left once more."""
        arrivals = list(one_of_each(self._choice.kinds, "after", has_controller=self._choice.has_controller))
        wanted = {pod for one in arrivals for pod in one.pods}
        for arrival in arrivals:
            self._come(arrival)

        def all_run() -> bool:
            self._look()
            return self._observer.ran >= wanted

        self.report.after_s = self._until(
            all_run,
            lambda: [f"{one} did not run in a cluster at rest" for one in wanted - self._observer.ran],
        )
        for arrival in arrivals:
            self._api.go(Go(arrival))
        self._until(self._is_clear, self._observer.what_is_left)

    def _look(self) -> bool:
        """Do what is to be done again, then look; return whether all is done."""
        is_done = self._api.work()
        self._observer.look()
        return is_done

    def _is_clear(self) -> bool:
        return self._look() and not self._observer.what_is_left()

    def _problem(self, text: str) -> None:
        self._say(f"PROBLEM: {text}")
        self.report.problem(text)

    def _until(self, ask: Callable[[], bool], why: Callable[[], list[str]]) -> float:
        """Wait until the answer is yes and return how long that took; else note why not."""
        began = time.monotonic()
        while not ask():
            if time.monotonic() - began > _LIMIT_S:
                for text in why():
                    self._problem(f"after {_LIMIT_S:.0f} s: {text}")
                break
            time.sleep(_PAUSE_S)
        return round(time.monotonic() - began, 1)


def has_controller(control: ClusterControl) -> bool:
    """Whether Tangram's controller allocates the devices of the first node. Raises: ApiError."""
    api = connect(control.folder / "kubeconfig")
    try:
        (node, *_) = sorted(control.state().nodes)
        return api.get(NODES, node).metadata.labels.get(OWNER) == CONTROLLER
    finally:
        api.close()


def run(control: ClusterControl, choice: Choice, say: Callable[[str], None]) -> Report:
    """Run one campaign in this cluster, on its first node. Raises: ApiError; OSError."""
    (node, *_) = sorted(control.state().nodes)
    api = ApiSide(
        connect(control.folder / "kubeconfig"),
        f"chaos-{choice.seed}",
        has_controller=choice.has_controller,
    )
    side = NodeSide(control.node_root(node), control.folder / node / "containerd")
    parts = Parts(control, node, api.leader, api.programs())
    try:
        return Campaign(choice, api, side, parts, say).run()
    finally:
        api.api.close()
        side.tracebacks(keep=control.folder / "logs" / "chaos")
