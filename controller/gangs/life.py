"""The life of a group: what it waits for, by what its members have and by how long it waits.

Functions from value to value. Nothing but a point in time is remembered, so a new leader goes on where the
last one stopped, with its own clock (docs/decisions/0058-gangs.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller.gangs.values import Gang


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The members of a group that exist, by UID; failed pods are none of them.

    Shape: each is in one of three: ``waiting`` for devices; ``holding`` devices without being bound to a
           node; ``bound``, whether it runs or has ended well. A member without claims holds as soon as it has
           a place, that is when its gate is gone. ``partly`` are those that have a part of their devices and
           wait for the rest.
    """

    waiting: frozenset[str] = frozenset()
    holding: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    partly: frozenset[str] = frozenset()

    @property
    def in_vain(self) -> frozenset[str]:
        """Return the members that have devices without being bound."""
        return self.holding | self.partly

    @property
    def all(self) -> frozenset[str]:
        """Return all members."""
        return self.waiting | self.holding | self.bound


class Why(StrEnum):
    """Why members give their devices back."""

    TOO_FEW = "members have gone, and fewer than the minimum are left"
    UNFIT = "the other members do not fit any more"


@dataclass(frozen=True, slots=True)
class Gathering:
    """Fewer members exist than the minimum, and none of them holds devices. Units: seconds of the clock."""

    have: int
    minimum: int
    since_s: float


@dataclass(frozen=True, slots=True)
class Complete:
    """Enough members exist: at least ``missing`` of those that wait are to get devices together."""

    missing: int
    since_s: float


@dataclass(frozen=True, slots=True)
class Placed:
    """The minimum has devices, and is not bound yet."""

    since_s: float


@dataclass(frozen=True, slots=True)
class Started:
    """The minimum is bound. Members that come later are served one by one."""


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Members that hold devices without being bound give them back."""

    why: Why
    since_s: float


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The group waited too long: those that hold give back, and it is not asked about ``until_s``.

    It is asked about before, where its members change. Shape: ``members`` are those at the time-out.
    """

    members: frozenset[str]
    until_s: float


Life = Gathering | Complete | Placed | Started | GiveBack | TimedOut


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be asked: at least ``minimum`` of ``members`` get devices together."""

    members: frozenset[str]
    minimum: int


def lived(life: Life | None, gang: Gang, members: Members, now_s: float) -> Life:
    """Return the life after a look at the members. Shape: ``life`` None at the first look."""
    if len(members.bound) >= gang.minimum:
        return Started()
    if isinstance(life, TimedOut):
        if life.members == members.all and now_s < life.until_s:
            return life
        life = None
    since_s = now_s if life is None or isinstance(life, Started) else life.since_s
    if gang.timeout_s is not None and now_s - since_s >= gang.timeout_s:
        return TimedOut(members.all, now_s + gang.timeout_s)
    have = len(members.all)
    if have < gang.minimum:
        if members.in_vain:
            return GiveBack(Why.TOO_FEW, since_s)
        return Gathering(have, gang.minimum, since_s)
    missing = gang.minimum - len(members.bound) - len(members.holding)
    return Complete(missing, since_s) if missing > 0 else Placed(since_s)


def unfit(life: Life, members: Members) -> Life:
    """Return the life after the answer that the members who wait do not fit.

    Those that have devices give back, since they have them in vain: then the whole group is asked about.
    """
    if isinstance(life, Complete) and members.in_vain:
        return GiveBack(Why.UNFIT, life.since_s)
    return life


def question(life: Life, members: Members) -> Question | None:
    """Return what is to be asked now, None where nothing is."""
    match life:
        case Complete(missing=missing):
            return Question(members.waiting, missing)
        case Placed() | Started() if members.waiting:
            return Question(members.waiting, 0)
        case _:
            return None


def giving_back(life: Life, members: Members) -> frozenset[str]:
    """Return the members that give their devices back now. Bound members never do: a pod may use them."""
    return members.in_vain if isinstance(life, GiveBack | TimedOut) else frozenset()


def next_look_s(life: Life, gang: Gang) -> float | None:
    """Return when the group must be looked at again although nothing has changed, None for never.

    Units: seconds of the clock.
    """
    match life:
        case TimedOut(until_s=until_s):
            return until_s
        case Gathering() | Complete() | Placed() | GiveBack() if gang.timeout_s is not None:
            return life.since_s + gang.timeout_s
        case _:
            return None
