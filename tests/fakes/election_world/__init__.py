"""A world with one Lease and several processes, whose messages, clocks and freezes a random source decides.

Each process runs the rules of ``controller.election.state`` and writes whenever its window is open. Time is
simulated, so a world of minutes takes milliseconds.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from controller.election import state as rules
from controller.election.state import Create, Read, Renew, State, Take, Wait
from controller.election.values import NOBODY, Lease, Times

CALL_S = 5.0
LATEST_S = 30.0
"""A request may be carried out so long after it was sent, when its sender has given up."""


@dataclass(frozen=True)
class Write:
    """One write of a process. Units: real seconds; it has its effect at the end."""

    process: str
    begins: float
    ends: float


@dataclass
class World:
    """The server, the time and what was written. Shape: ``trouble`` from 0, none, to 1."""

    random: Random
    trouble: float
    lease: Lease | None = None
    now: float = 0.0
    writes: list[Write] = field(default_factory=list)
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _versions: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def at(self, when: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(when, self.now), next(self._numbers), act))

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] < until:
            self.now, _, act = heapq.heappop(self._events)
            act()
        self.now = until

    def happens(self, share: float) -> bool:
        return self.random.random() < share * self.trouble

    def store(self, holder: str, lasts_s: float, version: str | None) -> Lease | None:
        """Carry out a write. Shape: ``version`` None to create; returns None where it is refused."""
        if (self.lease.version if self.lease else None) != version:
            return None
        self.lease = Lease(holder, lasts_s, str(next(self._versions)))
        return self.lease

    def meddle(self) -> None:
        """Do what an operator may do to the object at any time."""
        if self.happens(0.5):
            self.lease = None
        elif self.lease is not None:
            self.lease = replace(self.lease, version=str(next(self._versions)))


@dataclass
class Process:
    """One process: its clock has an offset and a rate of its own; it stands still now and then."""

    world: World
    name: str
    times: Times
    offset: float = 0.0
    rate: float = 1.0
    freezes: Sequence[tuple[float, float]] = ()
    state: State = field(init=False)
    is_ended: bool = False

    def __post_init__(self) -> None:
        self.state = State(identity=self.name, times=self.times, next_at_s=self.local())
        self.soon(self.step)
        self.soon(self.write)

    def local(self) -> float:
        return self.offset + self.rate * self.world.now

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Do something at a time, or when this process runs again."""
        awake = max((end for start, end in self.freezes if start <= when < end), default=when)
        self.world.at(awake, act)

    def soon(self, act: Callable[[], None]) -> None:
        self.at(self.world.now + self.world.random.random() * 0.1, act)

    def step(self) -> None:
        if self.is_ended:
            return
        match rules.next_step(self.state, self.local()):
            case Wait(until_s=until):
                self.at(max(self.world.now, (until - self.offset) / self.rate) + 0.001, self.step)
            case Read() | Create() | Take() | Renew() as call:
                sent_at = self.local()
                self.soon(lambda: self.send(call, sent_at))

    def send(self, call: Read | Create | Take | Renew, sent_at: float) -> None:
        """Let a request travel: it, or its answer, may be lost or late."""
        world, gives_up = self.world, self.world.now + CALL_S
        answered = [False]

        def hear(result: Lease | None) -> None:
            if not answered[0]:
                answered[0] = True
                self.hear(call, result, sent_at)

        def give_up() -> None:
            if not answered[0]:
                answered[0] = True
                self.state = rules.unanswered(self.state, self.local())
                self.soon(self.step)

        def arrive() -> None:
            result = self.carry_out(call)
            if not world.happens(0.2):
                back = world.random.random() * (CALL_S if world.happens(0.2) else 0.2)
                self.at(world.now + back, lambda: hear(result))

        if not world.happens(0.2):
            way = world.random.random() * (LATEST_S if world.happens(0.2) else 0.2)
            world.at(world.now + way, arrive)
        self.at(gives_up, give_up)

    def carry_out(self, call: Read | Create | Take | Renew) -> Lease | None:
        match call:
            case Read():
                return self.world.lease
            case Create():
                return self.world.store(self.name, self.times.lease_s, None)
            case Take(lease=known) | Renew(lease=known):
                return self.world.store(self.name, self.times.lease_s, known.version)

    def hear(self, call: Read | Create | Take | Renew, result: Lease | None, sent_at: float) -> None:
        now = self.local()
        if isinstance(call, Read):
            self.state = rules.found(self.state, result, now)
        elif result is None:
            self.state = rules.outdated(self.state, now)
        else:
            self.state = rules.written(self.state, result, sent_at, now)
        self.soon(self.step)

    def write(self) -> None:
        """Write if the window is open; the effect comes within the longest time of a write."""
        world = self.world
        if self.is_ended:
            return
        if self.state.window.is_open(self.local()):
            lasts = self.times.longest_write_s * world.random.random() / self.rate
            world.writes.append(Write(self.name, world.now, world.now + lasts))
        self.at(world.now + world.random.random(), self.write)

    def end(self) -> None:
        """Stop; give the Lease back once the last write has had its effect."""
        self.is_ended = True
        last = max((one.ends for one in self.world.writes if one.process == self.name), default=0.0)
        self.at(last, self.release)

    def release(self) -> None:
        lease = rules.to_release(self.state, self.local())
        if lease is not None and not self.world.happens(0.3):
            self.world.store(NOBODY, self.times.lease_s, lease.version)


def overlaps(writes: Sequence[Write]) -> list[tuple[Write, Write]]:
    """Return the pairs of writes of different processes that were under way at once."""
    ordered = sorted(writes, key=lambda one: one.begins)
    found, latest = list[tuple[Write, Write]](), dict[str, Write]()
    for write in ordered:
        found += [
            (other, write)
            for name, other in latest.items()
            if name != write.process and other.ends > write.begins
        ]
        if write.process not in latest or latest[write.process].ends < write.ends:
            latest[write.process] = write
    return found
