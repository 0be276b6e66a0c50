"""The thread that keeps the number of VFs looks at once, when a claim ended, and again after a failure."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from threading import Event
from typing import Any, cast

import pytest

from plugin.claim.vfs.keeper import VfKeeper
from plugin.claim.vfs.keeping import VfKeeping

LONG_S = 20.0  # more than any test takes


class Keeper:
    """Looks as often as it is asked; ``outcomes`` are what the first looks come to."""

    def __init__(self, *outcomes: Callable[[], bool]) -> None:
        self.outcomes = list(outcomes)
        self.looks = 0
        self.has_looked = Event()

    def keep(self, warn: Any) -> bool:
        self.looks += 1
        self.has_looked.set()
        return self.outcomes.pop(0)() if self.outcomes else True

    def awaited(self) -> None:
        assert self.has_looked.wait(LONG_S)
        self.has_looked.clear()


def keeping_of(keeper: Keeper) -> VfKeeping:
    return VfKeeping(cast(VfKeeper, keeper), is_needed=True)


def broken() -> bool:
    raise RuntimeError("a mistake of ours")


def test_it_looks_at_once_and_when_it_is_told_to() -> None:
    keeper = Keeper()
    with closing(keeping_of(keeper)) as keeping:
        keeping.begin(lambda *_: None)
        keeper.awaited()
        keeping.look_again()
        keeper.awaited()

    assert keeper.looks >= 2


@pytest.mark.parametrize("failure", [lambda: False, broken], ids=["refused", "mistake"])
def test_after_a_failure_it_looks_again_by_itself(failure: Callable[[], bool]) -> None:
    keeper = Keeper(failure)
    with closing(keeping_of(keeper)) as keeping:
        keeping.begin(lambda *_: None)
        keeper.awaited()
        keeper.awaited()


def test_where_there_can_be_no_rules_it_never_looks() -> None:
    keeper = Keeper()
    with closing(VfKeeping(cast(VfKeeper, keeper), is_needed=False)) as keeping:
        keeping.begin(lambda *_: None)
        keeping.look_again()

    assert keeper.looks == 0


def test_the_end_of_a_claim_makes_it_look(vf_bench: Any) -> None:
    keeper = Keeper()
    vf_bench.prepare("u1", "nic-0000-19-00-1-vf-0")
    vf_bench.driver.vf_keeping = keeping_of(keeper)
    with closing(vf_bench.driver.vf_keeping) as keeping:
        keeping.begin(lambda *_: None)
        keeper.awaited()

        vf_bench.unprepare("u1")
        keeper.awaited()
