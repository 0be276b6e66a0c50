"""What a command says when the search reached its bound: neither devices nor a proof that there are none."""

from __future__ import annotations

from scheduler_core.base.errors import CoreError
from scheduler_core.model.result import Allocation, Answer, Unallocatable, Undecided
from tangram.face import UNDECIDED, Face
from tangram.refusals import undecided_value
from tangram.told import Told


def show_undecided(undecided: Undecided, face: Face, *, as_json: bool) -> int:
    """Show an undecided answer; return the exit status that says so."""
    return undecided_told(undecided).show(face, as_json=as_json)


def undecided_told(undecided: Undecided) -> Told:
    """Return what is said of an undecided answer."""
    text = f"{undecided}. Ask for fewer requests or alternatives at once, or on another node."
    return Told(UNDECIDED, undecided_value(undecided), (text,))


class SearchGaveUp(CoreError):
    """A question of a benchmark or a conformance case that the search did not decide within its bound."""

    def __init__(self, undecided: Undecided) -> None:
        self.undecided = undecided
        super().__init__(str(undecided))


def decided(found: Answer) -> Allocation | Unallocatable:
    """Return an answer that must not be undecided. Raises: SearchGaveUp."""
    if isinstance(found, Undecided):
        raise SearchGaveUp(found)
    return found


def decided_or_none(found: Allocation | Undecided | None) -> Allocation | None:
    """Return an answer without reasons that must not be undecided. Raises: SearchGaveUp."""
    if isinstance(found, Undecided):
        raise SearchGaveUp(found)
    return found
