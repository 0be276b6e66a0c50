"""The health of the node as the agent knows it, in memory and in the file that outlives a restart.

Threads tell it what they heard; it folds that into the state, says when the judgement may be another one, and
writes the file: soon after something new, once a minute where only counts and times changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from threading import Condition, Event, Lock
from typing import Final

from agent.hardware.health.types import GpuEvent
from agent.health.file_format import Damaged
from agent.health.fold import after_boot, folded, looked
from agent.health.rules import HealthRules
from agent.health.state import Facts, HealthState, Told
from agent.health.state_file import StateFile
from agent.inventory.numbers.shared_file import NotKept

SETTLING_S: Final = 0.1
"""How long something new is not written yet: what comes in one moment is one write."""
_GAP_S: Final = 0.5  # between two writes
_COUNTS_S: Final = 60.0  # between writes of counts and times alone
_RETRY_S: Final = 5.0
_MOST_EARLY: Final = 256
_PATIENCE: Final = 2  # failures in a row: at first the plugin may not have made the folder yet
_NOT_KEPT: Final = "HealthNotKept"
_REBUILT: Final = "HealthFileDamaged"
_log = logging.getLogger("agent.health")

Tell = Callable[[str, str], None]
"""Tells people of the node that something is wrong: a reason in CamelCase and a text."""


@dataclass(frozen=True, slots=True)
class HealthClocks:
    """Units: ``monotonic`` seconds, ``wall`` seconds since 1970."""

    monotonic: Callable[[], float]
    wall: Callable[[], float]


class KeptHealth:
    """The state of one node. Safe between threads.

    Shape: ``changed`` is called, on the thread that told it, when something began, ended or got worse.
    """

    def __init__(
        self,
        file: StateFile,
        rules: HealthRules,
        clocks: HealthClocks,
        tell: Tell = lambda _reason, _text: None,
    ) -> None:
        self.rules = rules
        self.changed: Callable[[], None] = lambda: None
        self._file = file
        self._clocks = clocks
        self._tell = tell
        self._lock = Lock()
        self._writing = Lock()
        self._wake = Condition()
        self._state = HealthState()
        self._facts = Facts()
        self._has_looked = False
        self._early: tuple[GpuEvent, ...] = ()  # of GPUs that no look has found yet
        self._due = inf
        self._written_at = -inf
        self._failures = 0

    def follow(self, rules: HealthRules) -> None:
        """Judge by these rules from now on."""
        self.rules = rules

    @property
    def state(self) -> HealthState:
        """Return the state now."""
        return self._state  # never changed, only replaced

    @property
    def facts(self) -> Facts:
        """Return what the last look found."""
        return self._facts

    @property
    def has_looked(self) -> bool:
        """Whether it is known which GPUs the driver lists."""
        return self._has_looked

    def load(self, boot_id: str) -> None:
        """Take over what an earlier process knew. A damaged file is told and set aside."""
        found: HealthState | None = None
        try:
            found = self._file.read()
        except Damaged as damage:
            self._set_aside(damage)
        except NotKept as error:
            self._failed(error)
        self._state = after_boot(found or HealthState(boot_id), boot_id)
        if self._state is not found:
            self._due = self._clocks.monotonic()

    def hear(self, told: Told) -> None:
        """Take in what driver and kernel told; an event of a GPU that is not known yet waits for a look."""
        with self._lock:
            before = self._state
            early = (one for one in told.events if one.gpu is not None and one.gpu not in before.gpus)
            self._early = (*self._early, *early)[-_MOST_EARLY:]
            self._state = folded(before, told, self.rules, self._clocks.wall(), self._facts)
        self._note(before)

    def look(self, facts: Facts) -> None:
        """Take in what a look at the machine found, and the events that waited for it."""
        with self._lock:
            now_s = self._clocks.wall()
            before, self._facts, self._has_looked = self._state, facts, True
            early, self._early = self._early, ()
            found = looked(before, facts, self.rules, now_s)
            self._state = folded(found, Told(early), self.rules, now_s, facts) if early else found
        self._note(before)

    def keep_writing(
        self, ended: Event, wait: Callable[[Condition, float | None], object] = Condition.wait
    ) -> None:
        """Write the file whenever that is due, until ``ended``."""
        while not ended.is_set():
            self.write_due()
            with self._wake:
                left_s = self._due - self._clocks.monotonic()  # what was told since counts, too
                if left_s > 0:
                    wait(self._wake, min(left_s, _COUNTS_S))

    def write_due(self) -> float:
        """Write the file if that is due; return the seconds until it is, infinite where nothing waits."""
        with self._writing:
            now = self._clocks.monotonic()
            if now < self._due:
                return self._due - now
            self._due, self._written_at = inf, now
            try:
                self._file.replace(self._state)
            except NotKept as error:
                self._failed(error)
                self._due = now + (_RETRY_S if self._failures < _PATIENCE else _COUNTS_S)
            else:
                self._failures = 0
        return self._due - now

    def close(self) -> None:
        """Write what was not written yet."""
        if self._due < inf:
            self._due = -inf
            self.write_due()

    def _note(self, before: HealthState) -> None:
        after, now = self._state, self._clocks.monotonic()
        if after is before:
            return
        is_news = _gist(before) != _gist(after) or before.gpus != after.gpus
        least_s = _GAP_S if is_news else _COUNTS_S
        due = max(now + SETTLING_S, self._written_at + least_s)
        with self._wake:
            if due < self._due:
                self._due = due
                self._wake.notify()
        if _gist(before) != _gist(after):
            self.changed()

    def _set_aside(self, damage: Damaged) -> None:
        try:
            aside = self._file.set_aside()
        except NotKept as error:
            self._failed(error)
            return
        lost = "what only a reset heals and the driver does not say again is forgotten"
        text = (
            f"{self._file.path} was damaged ({damage}): it is made anew, and the old one is {aside}; {lost}"
        )
        _log.error("%s", text)
        self._tell(_REBUILT, text)

    def _failed(self, error: NotKept) -> None:
        act = "until the operator sees to it, a restart of the agent forgets what is wrong with devices"
        text = f"the health of devices is not kept: {error}; {act}"
        self._failures += 1
        if self._failures == _PATIENCE:
            _log.error("%s", text)
            self._tell(_NOT_KEPT, text)


def _gist(state: HealthState) -> dict[object, str]:
    """Return what a judgement depends on: not how often something came, nor when last."""
    return {key: trouble.detail for key, trouble in state.troubles.items()}
