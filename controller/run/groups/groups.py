"""What is to be done about each group, after something about it has changed or its time has come.

Takes changes of pods and PodGroups; returns looks: which members are served alone, which are asked about
together, what is given back, and why the others wait. Pure; for one thread; times are arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from controller.decide.question import Question
from controller.gangs import life as lives
from controller.gangs.life import Life, Members
from controller.gangs.seen import PodGroupSeen
from controller.gangs.values import Gang, GroupKey
from controller.model.pods import Pod
from controller.plan.plans import Release
from controller.queue.waiting_line import Entry
from controller.run.groups.giving_back import GivingBack
from controller.run.groups.line_place import Against, entry_of, id_of
from controller.run.groups.roster import Member, Roster, Standing, counted
from controller.run.set_aside import SetAside


@dataclass(frozen=True, slots=True)
class Asked:
    """A group in the line. Shape: at least ``minimum`` of the ``questions`` are to be served."""

    key: GroupKey
    questions: tuple[Question, ...]
    minimum: int


@dataclass(frozen=True, slots=True)
class Look:
    """What a look at a group says.

    Shape: ``id`` of the group in the line; ``alone`` are pods that are served one by one; ``entry`` where
           the others are asked about together; ``waits`` says, by UID, why members get nothing now, empty
           for those that are asked about or hold.
    """

    id: str
    alone: tuple[Pod, ...] = ()
    entry: Entry | None = None
    waits: Mapping[str, str] = field(default_factory=dict)
    releases: tuple[Release, ...] = ()


class Groups:
    """The groups of a cluster. Shape: ``asked`` are the groups in the line, by their id there."""

    def __init__(self, roster: Roster, giving: GivingBack) -> None:
        self.asked: dict[str, Asked] = {}
        self.giving = giving
        self._roster = roster
        self._lives: dict[GroupKey, Life] = {}
        self._touched: dict[GroupKey, None] = {}
        self._due: dict[GroupKey, float] = {}

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Take in a pod that is new, has changed or is gone."""
        if old is not None:
            self._roster.remove(old)
            self.touch(old)
        if new is not None:
            self._roster.put(new)
            self.touch(new)

    def group_changed(self, old: PodGroupSeen | None, new: PodGroupSeen | None) -> None:
        """Take in a PodGroup that is new, has changed or is gone."""
        for one, now in ((old, None), (new, new)):
            if one is not None:
                self._roster.set_group(one.key, now)
                self._touched[one.key] = None

    def touch(self, pod: Pod) -> bool:
        """Look again at the group of a pod, soon; return whether the pod has one."""
        if pod.group is not None:
            self._touched[pod.group.key] = None
        return pod.group is not None

    def touch_all(self) -> None:
        """Look again, soon, at all groups that have not started."""
        self._touched |= {
            key: None for key, life in self._lives.items() if not isinstance(life, lives.Started)
        }

    def looks(
        self, now: float, busy: Set[str], aside: SetAside, against: Mapping[str, Against]
    ) -> Iterator[Look]:
        """Yield what to do about the groups that were touched or are due.

        Shape: groups with a member in ``busy`` are left for later; those with a waiting member in ``aside``
               are not asked about; ``against`` as ``decided_together``.
        """
        due = [key for key, at in self._due.items() if at <= now]
        for key in [*self._touched, *due]:
            pods = self._roster.pods(key)
            if any(pod.uid in busy for pod in pods) or self.giving.left(key):
                continue
            self._touched.pop(key, None)
            yield self._look(key, now, aside, against) if pods else self._gone(key)

    def refused(self, asked: Asked) -> tuple[Release, ...]:
        """Take in that a group does not get devices; return what its members give back."""
        key, members = asked.key, self._roster.members(asked.key)
        now = counted(members)
        life = self._lives[key] = lives.unfit(self._lives[key], now)
        return self._give_back(key, life, members, now)

    def _look(self, key: GroupKey, now: float, aside: SetAside, against: Mapping[str, Against]) -> Look:
        gang, members = self._roster.gang(key), self._roster.members(key)
        self.asked.pop(id_of(key), None)
        self._due.pop(key, None)
        unbound = tuple(one for one in members if one.standing is not Standing.BOUND)
        if gang is None:
            self._lives.pop(key, None)
            return Look(id_of(key), tuple(one.pod for one in unbound))
        if isinstance(gang, str):
            return Look(id_of(key), waits={one.pod.uid: gang for one in unbound})
        found = counted(members)
        life = self._lives[key] = lives.lived(self._lives.get(key), gang, found, now)
        due = lives.next_look_s(life, gang)
        if due is not None:
            self._due[key] = due
        if isinstance(life, lives.Placed | lives.Started):
            return Look(id_of(key), tuple(one.pod for one in unbound))
        releases = self._give_back(key, life, members, found)
        is_aside = any(one.pod.uid in aside for one in members if one.standing is Standing.WAITING)
        entry = None if is_aside else self._asked(key, life, members, found, against)
        text = _why(key, life, gang)
        waits = {one.pod.uid: one.why if one.standing is Standing.UNREADY else text for one in unbound}
        return Look(id_of(key), (), entry, waits, releases)

    def _asked(
        self,
        key: GroupKey,
        life: Life,
        members: tuple[Member, ...],
        found: Members,
        against: Mapping[str, Against],
    ) -> Entry | None:
        asked = lives.question(life, found)
        if asked is None:
            return None
        questions = tuple(one.question for one in members if one.question is not None)
        self.asked[id_of(key)] = Asked(key, questions, asked.minimum)
        return entry_of(key, questions, asked.minimum, against)

    def _give_back(
        self, key: GroupKey, life: Life, members: tuple[Member, ...], found: Members
    ) -> tuple[Release, ...]:
        givers = lives.giving_back(life, found)
        return self.giving.begin(key, [one.pod for one in members if one.pod.uid in givers])

    def _gone(self, key: GroupKey) -> Look:
        self.asked.pop(id_of(key), None)
        for known in (self._lives, self._due):
            known.pop(key, None)
        self.giving.forget(key)
        return Look(id_of(key))


def _why(key: GroupKey, life: Life, gang: Gang) -> str:
    """Return why members wait, empty where they are asked about."""
    match life:
        case lives.Gathering(have=have, minimum=minimum):
            return f"group {key} has {have} of the {minimum} members that it needs"
        case lives.GiveBack(why=why):
            return f"group {key} gives its devices back: {why}"
        case lives.TimedOut():
            return f"group {key} was not started within {gang.timeout_s:g} s, and waits as long again"
        case _:
            return ""
