"""A quick dataclass behaves as one of the standard library: each question is asked of both."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from scheduler_core.base import quick_dataclass

Decorator = Callable[..., Any]
T = TypeVar("T")
SETTINGS = [
    {"frozen": frozen, "slots": slots, "eq": eq, "kw_only": kw_only}
    for frozen in (True, False)
    for slots in (True, False)
    for eq in (True, False)
    for kw_only in (True, False)
]


@quick_dataclass.dataclass(frozen=True, slots=True)
class Known:
    """A class that pickle finds."""

    first: int
    second: str = "x"


def both() -> Iterator[Decorator]:
    """Yield the decorator of the standard library, and ours."""
    yield dataclasses.dataclass
    yield quick_dataclass.dataclass


def told(ask: Callable[[], Any]) -> Any:
    """Return an answer, or what was raised."""
    try:
        return repr(ask())
    except (TypeError, AttributeError) as error:
        return type(error), str(error)


def alike(ask: Callable[[Decorator], Any]) -> bool:
    first, second = (told(lambda made=made: ask(made)) for made in both())
    assert first == second
    return True


def of_all_kinds(decorator: Decorator, **settings: bool) -> Any:
    @decorator(**settings)
    class Made(Generic[T]):
        """Fields of all kinds."""

        needed: T
        given: str = "x"
        made: list[int] = field(default_factory=list)
        unseen: int = field(default=7, repr=False, compare=False)
        own: dict[str, int] = field(init=False, default_factory=dict)
        fixed: int = field(init=False, default=3)
        shared: ClassVar[int] = 5

    return Made


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "a value": lambda made: made(needed=1),
    "another value": lambda made: made(needed=made(needed=1), given="y", made=[1], unseen=8),
    "a value by position": lambda made: made(1, "y", [2], 9),
    "too few": lambda made: made(),
    "too many": lambda made: made(1, 2, 3, 4, 5, 6),
    "an unknown name": lambda made: made(needed=1, other=2),
    "its own list": lambda made: made(needed=1).made is made(needed=1).made,
    "equal": lambda made: (made(needed=1) == made(needed=1), made(needed=1) == made(needed=2)),
    "uncompared": lambda made: made(needed=1) == made(needed=1, unseen=9),
    "another class": lambda made: made(needed=1) == (1, "x"),
    "hash": lambda made: hash(made(needed=1, made=(), unseen=2)) != 0,
    "equal hashes": lambda made: len({replaced(made, unseen=1), replaced(made, unseen=2)}),
    "set": lambda made: setattr(made(needed=1), "needed", 2),
    "set another": lambda made: setattr(made(needed=1), "other", 2),
    "delete": lambda made: delattr(made(needed=1), "needed"),
    "replaced": lambda made: replace(made(needed=1), given="z"),
    "as a dictionary": lambda made: dataclasses.asdict(made(needed=1)),
    "fields": lambda made: [(one.name, one.kw_only, one.init) for one in dataclasses.fields(made)],
    "positions in a match": lambda made: made.__match_args__,
    "slots": lambda made: made.__dict__.get("__slots__"),
    "copied": lambda made: copy.deepcopy(made(needed=[1])),
    "of a class": lambda made: made[int](needed=1),
    "itself": lambda made: holding_itself(made(needed=1)),
}


BROKEN_THERE = {"set another", "of a class"}
"""What a frozen class with slots answers in Python 3.11 with a TypeError that is a mistake of its own."""


def holding_itself(one: Any) -> str:
    one.made.append(one)
    return repr(one)


def replaced(made: Any, **changes: Any) -> Any:
    one = made(needed=1, **changes)
    object.__setattr__(one, "made", ())
    object.__setattr__(one, "own", ())
    return one


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("question", QUESTIONS)
def test_it_answers_as_the_standard_library_does(question: str, settings: dict[str, bool]) -> None:
    if question in BROKEN_THERE and settings["frozen"] and settings["slots"]:
        with pytest.raises(FrozenInstanceError):
            of_all_kinds(quick_dataclass.dataclass, **settings)(needed=1).other = 2
        return

    assert alike(lambda decorator: QUESTIONS[question](of_all_kinds(decorator, **settings)))


def with_own_methods(decorator: Decorator) -> Any:
    @decorator(frozen=True)
    class Made:
        first: int

        def __post_init__(self) -> None:
            object.__setattr__(self, "first", self.first + 1)

        def __repr__(self) -> str:
            return f"<{self.first}>"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Made) and self.first % 2 == other.first % 2

        def __hash__(self) -> int:
            return self.first % 2

    return Made


def test_methods_of_the_class_itself_stay() -> None:
    assert alike(lambda decorator: with_own_methods(decorator)(1))
    assert alike(lambda decorator: with_own_methods(decorator)(1) == with_own_methods(decorator)(3))
    assert alike(lambda decorator: (made := with_own_methods(decorator))(1) == made(3))
    assert alike(lambda decorator: hash(with_own_methods(decorator)(4)))


def derived(decorator: Decorator) -> Any:
    @decorator(frozen=True)
    class Base:
        first: int

    @decorator(frozen=True)
    class Derived(Base):
        second: int = 2

    return Base, Derived


@pytest.mark.parametrize("order", [1, -1])
def test_a_derived_class_has_the_fields_of_both_whichever_is_used_first(order: int) -> None:
    assert alike(lambda decorator: [made(1) for made in derived(decorator)[::order]])
    assert alike(lambda decorator: len({made(1) for made in derived(decorator)[::order]}))


def ordered(decorator: Decorator) -> Any:
    @decorator(frozen=True, order=True)
    class Made:
        first: int

    return Made


def test_what_is_rare_is_left_to_the_standard_library() -> None:
    assert alike(lambda decorator: sorted([ordered(decorator)(2), ordered(decorator)(1)][:1]))
    assert alike(lambda decorator: (made := ordered(decorator))(1) < made(2))


def with_own_init(decorator: Decorator) -> Any:
    @decorator
    class Made:
        first: int

        def __init__(self) -> None:
            self.first = 9

    return Made()


def given_at_the_beginning(decorator: Decorator) -> Any:
    @decorator
    class Made:
        first: int
        added: dataclasses.InitVar[int] = 3

        def __post_init__(self, added: int) -> None:
            self.first += added

    return Made(1), Made(1, 5)


def without_hash(decorator: Decorator) -> Any:
    @decorator(frozen=True)
    class Made:
        first: int
        __hash__ = None  # type: ignore[assignment]

    return hash(Made(1))


def with_own_state(decorator: Decorator) -> Any:
    @decorator(frozen=True, slots=True)
    class Made:
        first: int

        def __getstate__(self) -> int:
            return self.first

        def __setstate__(self, state: int) -> None:
            object.__setattr__(self, "first", -state)

    return copy.copy(Made(1))


def derived_from_another(decorator: Decorator) -> Any:
    @decorator(frozen=True)
    class Made(ordered(dataclasses.dataclass)):  # type: ignore[misc]
        second: int = 2

    return Made(1), Made(1) == Made(1), len({Made(1), Made(1)})


@pytest.mark.parametrize(
    "ask", [with_own_init, given_at_the_beginning, without_hash, with_own_state, derived_from_another]
)
def test_a_rare_class_is_left_to_the_standard_library(ask: Callable[[Decorator], Any]) -> None:
    assert alike(ask)


def test_a_method_is_compiled_once() -> None:
    made = of_all_kinds(quick_dataclass.dataclass, frozen=True)
    before = made.__init__
    made(1)
    compiled = made.__init__
    made(2)

    assert before is not compiled is made.__init__


def test_a_frozen_value_with_slots_is_pickled_and_copied_and_stays_frozen() -> None:
    value = pickle.loads(pickle.dumps(Known(1)))

    assert value == Known(1) == copy.copy(value)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'first'"):
        value.first = 2
