"""What one process knows of the Lease, and what it does next. Pure; the time is an argument.

The rules on which safety rests:

- A holder counts its time from before it sent the renewal that the server confirmed; a candidate counts the
  holder's time from after it read the Lease. So the candidate is always later.
- A lost answer gives no time. The Lease is read again; if it names this process, it is renewed at once.
- Every write names the version that was read, so a write that comes late changes nothing.
- A Lease that nobody has held, or that this process may have created, says nothing about the holders of one
  that was deleted. Who takes it waits a whole lease before it writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.election.values import CLOSED, NOBODY, Lease, Times, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What one process knows.

    Shape: ``lease`` is None before the first read, after an answer that was lost or refused, and where the
           server has none, which ``is_absent`` says. ``seen_version`` is the version whose holder's time
           runs since ``seen_at_s``; both outlive a read that fails. ``is_first`` says that this process may
           be the first holder of this object.
    Units: seconds of the own clock. ``opens_at_s`` is None while this process has not taken the Lease.
    """

    identity: str
    times: Times
    lease: Lease | None = None
    is_absent: bool = False
    is_first: bool = False
    seen_version: str = ""
    seen_at_s: float = 0.0
    opens_at_s: float | None = None
    confirmed_at_s: float = 0.0
    next_at_s: float = 0.0

    @property
    def is_holder(self) -> bool:
        """Whether the Lease named this process when it was last read or written, and nobody else since."""
        return self.opens_at_s is not None

    @property
    def window(self) -> Window:
        """Return when this process may write, by what it knows now."""
        if self.opens_at_s is None:
            return CLOSED
        return Window(self.opens_at_s, self.confirmed_at_s + self.times.usable_s)


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing until a time. Units: seconds of the own clock."""

    until_s: float


@dataclass(frozen=True, slots=True)
class Read:
    """Read the Lease."""


@dataclass(frozen=True, slots=True)
class Create:
    """Create the Lease with this process as its holder."""


@dataclass(frozen=True, slots=True)
class Take:
    """Write this process into the Lease, which must still have the version that was read."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Renew:
    """Write the Lease of this process again, if it still has the version that is known."""

    lease: Lease


Step = Wait | Read | Create | Take | Renew


def next_step(state: State, now_s: float) -> Step:
    """Return what to do now."""
    if now_s < state.next_at_s:
        return Wait(state.next_at_s)
    if state.is_absent:
        return Create()
    if state.lease is None:
        return Read()
    if state.lease.holder == state.identity:
        return Renew(state.lease) if state.is_holder else Take(state.lease)
    if state.lease.holder == NOBODY or now_s >= _free_at_s(state, state.lease):
        return Take(state.lease)
    return Read()  # whether the holder has renewed


def found(state: State, lease: Lease | None, now_s: float) -> State:
    """Return the state after a read was answered, at ``now_s``. Shape: None where there is no Lease."""
    if lease is None:
        return replace(state, lease=None, is_absent=True, is_first=True, opens_at_s=None, next_at_s=now_s)
    known = replace(state, lease=lease, is_absent=False)
    if lease.version != state.seen_version:
        known = replace(known, seen_version=lease.version, seen_at_s=now_s)
    if lease.holder == state.identity:
        return replace(known, next_at_s=now_s)  # by a write whose answer was lost: it is confirmed now
    known = replace(known, opens_at_s=None)
    if lease.holder == NOBODY:
        return replace(known, is_first=known.is_first or not lease.lasts_s, next_at_s=now_s)
    looked_at_s = now_s + state.times.renew_every_s
    next_at_s = max(now_s, min(looked_at_s, _free_at_s(known, lease)))
    return replace(known, is_first=False, next_at_s=next_at_s)


def written(state: State, lease: Lease, sent_at_s: float, now_s: float) -> State:
    """Return the state after the server confirmed a write of this process.

    Units: ``sent_at_s`` is a time before the request left, ``now_s`` one after its answer.
    """
    opens_at_s = state.opens_at_s
    if opens_at_s is None:
        opens_at_s = now_s + state.times.lease_s if state.is_first else now_s
    return replace(
        state,
        lease=lease,
        is_absent=False,
        is_first=False,
        seen_version=lease.version,
        seen_at_s=now_s,
        opens_at_s=opens_at_s,
        confirmed_at_s=sent_at_s,
        next_at_s=sent_at_s + state.times.renew_every_s,
    )


def outdated(state: State, now_s: float) -> State:
    """Return the state after a write was refused: somebody else wrote, or our own answer was lost."""
    return replace(state, lease=None, is_absent=False, next_at_s=now_s)


def unanswered(state: State, now_s: float) -> State:
    """Return the state after a call of which nobody knows whether it had an effect."""
    pause_s = state.times.renew_every_s / 2
    return replace(state, lease=None, is_absent=False, next_at_s=now_s + pause_s)


def to_release(state: State, now_s: float) -> Lease | None:
    """Return the Lease that may be given back once the last write has ended, None where there is none.

    One whose window has not opened yet stays: the next process would take it without the first wait.
    """
    is_ours = state.lease is not None and state.lease.holder == state.identity
    return state.lease if is_ours and state.opens_at_s is not None and state.opens_at_s <= now_s else None


def _free_at_s(state: State, lease: Lease) -> float:
    """Return when the holder's time is over, by what this process saw itself."""
    return state.seen_at_s + max(lease.lasts_s, state.times.lease_s)
