"""The loop macros, recognised by their expansion, and ``cel.bind``.

Every macro folds a range into an accumulator. Running that literally would copy a growing list at each
step; each macro has its own loop here instead. Each round counts the weight of what it runs.
Source: CEL macros; cel-go ``ext/comprehensions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from scheduler_core.cel.errors import CompileError, EvaluationError, no_such_overload, shown
from scheduler_core.cel.evaluate.steps import UNKNOWN, Build, Code, Scope, Slots, Step, work_of
from scheduler_core.cel.evaluate.weights import ERROR, list_weight
from scheduler_core.cel.library.equality import MISSING, find
from scheduler_core.cel.tree import Call, Fold, ListOf, Literal, Name, Node, is_bind
from scheduler_core.cel.values import KEYS, Domains, key_value, map_key, type_name
from scheduler_core.cel.view import DeviceView
from scheduler_core.cel.work import ELEMENT, ENTRY, Work

_ROUND: Final = 3
_UNKNOWN_MACRO: Final = "a loop of an unknown macro"
Rounds = Callable[[DeviceView, Slots], Iterator[None]]
Collect = Callable[[Any, DeviceView, Slots], None]


def fold(node: Fold, scope: Scope, build: Build) -> Step:
    """Compile a loop macro."""
    if is_bind(node):
        return _bind(node, scope, build)
    match node.step:
        case Call(function="_&&_" | "_||_" as symbol, arguments=(Name(), predicate)):
            return _quantifier(node, predicate, symbol == "_||_", scope, build)
        case Call(function="_?_:_", arguments=(filter_, Call() as step, Name())):
            return _collector(node, step, filter_, scope, build)
        case Call() as step:
            return _collector(node, step, None, scope, build)
        case _:
            raise CompileError(_UNKNOWN_MACRO)


def _bind(node: Fold, scope: Scope, build: Build) -> Step:
    """``cel.bind(name, value, result)``: the value is computed when it is first used, if ever."""
    initial = build(node.initial, scope)
    inner, slot = scope.bind_lazily(node.accumulator, initial.run)
    result = build(node.result, inner)
    read = result.run

    def run(view: DeviceView, slots: Slots) -> Any:
        slots[slot] = UNKNOWN
        return read(view, slots)

    return Step(run, initial.weight + result.weight + 1)


def _variables(node: Fold, scope: Scope) -> tuple[Scope, tuple[int, ...]]:
    """Return the scope inside a loop, and the slots of its variables."""
    inner, first = scope.bind(node.first)
    if not node.second:
        return inner, (first,)
    inner, second = inner.bind(node.second)
    return inner, (first, second)


def _rounds(read: Code, variables: tuple[int, ...], weight: int) -> Rounds:
    """Return what puts the elements of a range into their slots, one after the other.

    Each round counts ``weight`` units of work before it begins.
    """
    first = variables[0]

    def one(view: DeviceView, slots: Slots) -> Iterator[None]:
        spend = work_of(slots).spend
        for item in elements(read(view, slots)):
            spend(weight)
            slots[first] = item
            yield

    def two(view: DeviceView, slots: Slots) -> Iterator[None]:
        spend = work_of(slots).spend
        for key, value in pairs(read(view, slots)):
            spend(weight)
            slots[first], slots[first + 1] = key, value
            yield

    return one if len(variables) == 1 else two


def elements(value: Any) -> Iterable[Any]:
    """Return the elements of a list, or the keys of a map. Raises: EvaluationError for any other value."""
    if type(value) is list:
        return value
    return (key for key, _ in pairs(value))


def pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the indexes or keys of a list or map, each with its value.

    Raises: EvaluationError for any other value.
    """
    if type(value) is list:
        return enumerate(value)
    if type(value) is dict or type(value) is Domains:
        return ((key_value(held), part) for held, part in value.items())
    raise EvaluationError(f"got '{type_name(value)}', expected iterable type")


def _quantifier(node: Fold, test: Node, decides: bool, scope: Scope, build: Build) -> Step:
    """``all`` and ``exists``: an error counts only where no element decides."""
    inner, variables = _variables(node, scope)
    scope.plan.counts = True
    range_, verdict = build(node.range, scope), build(test, inner)
    rounds = _rounds(range_.run, variables, verdict.weight + _ROUND)
    judge, undecided = verdict.run, not decides

    def run(view: DeviceView, slots: Slots) -> bool:
        problem: EvaluationError | None = None
        for _ in rounds(view, slots):
            try:
                answer: object = judge(view, slots)
            except EvaluationError as error:
                problem = error
                work_of(slots).spend(ERROR)
                continue
            if answer is decides:
                return decides
            if answer is not undecided:
                problem = no_such_overload("_||_" if decides else "_&&_", answer)
        if problem is not None:
            raise problem
        return undecided

    return Step(run, range_.weight + _ROUND)


def _collector(node: Fold, step: Call, wanted: Node | None, scope: Scope, build: Build) -> Step:
    """``exists_one``, ``map``, ``filter`` and the transforming macros: what they do with an element."""
    inner, variables = _variables(node, scope)
    scope.plan.counts = True
    range_ = build(node.range, scope)
    choice = None if wanted is None else build(wanted, inner)
    start: Callable[[], Any] = list
    finish: Callable[[Any], Any] = _itself
    match step:
        case Call(function="_+_", arguments=(Name(), ListOf(elements=(element,)))):
            added = build(element, inner)
            collect, weight = _append(added), added.weight + ELEMENT
        case Call(function="_+_", arguments=(Name(), Literal(value=1) as one)):
            collect, weight, finish = _append(build(one, inner)), ELEMENT, _is_single
        case Call(function="cel.@mapInsert", arguments=(Name(), *parts)):
            built = [build(part, inner) for part in parts]
            collect, start = _insert(built), dict
            weight = sum(part.weight for part in built)
        case _:
            raise CompileError(_UNKNOWN_MACRO)
    weight += _ROUND + (0 if choice is None else choice.weight)
    rounds = _rounds(range_.run, variables, weight)
    code = _collecting(rounds, None if choice is None else choice.run, collect, start, finish)
    return Step(code, range_.weight + list_weight(0))


def _collecting(
    rounds: Rounds,
    choose: Code | None,
    collect: Collect,
    start: Callable[[], Any],
    finish: Callable[[Any], Any],
) -> Code:
    def run(view: DeviceView, slots: Slots) -> Any:
        result = start()
        for _ in rounds(view, slots):
            if choose is not None:
                choice = choose(view, slots)
                if choice is False:
                    continue
                if choice is not True:
                    raise no_such_overload("_?_:_", choice)
            collect(result, view, slots)
        return finish(result)

    return run


def _append(element: Step) -> Collect:
    read = element.run

    def collect(result: Any, view: DeviceView, slots: Slots) -> None:
        result.append(read(view, slots))

    return collect


def _insert(parts: list[Step]) -> Collect:
    """Insert a key with its value, or all entries of a map."""
    reads = [part.run for part in parts]

    def collect(result: Any, view: DeviceView, slots: Slots) -> None:
        inserted(work_of(slots), result, *[read(view, slots) for read in reads])

    return collect


def inserted(work: Work, result: dict[Any, Any], *values: Any) -> dict[Any, Any]:
    """Put a key with its value, or all entries of a map, into a map that nobody else sees.

    Raises: EvaluationError for a key that is there already.
    """
    for key, value in _entries(values):
        work.spend(ENTRY)
        if find(work, result, key) is not MISSING:
            raise EvaluationError(f"insert failed: key {shown(key)} already exists")
        result[map_key(key)] = value
    return result


def _entries(values: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    match values:
        case [dict() as entries]:
            return ((key_value(held), value) for held, value in entries.items())
        case [key, value] if type(key) in KEYS:
            return ((key, value),)
        case _:
            raise no_such_overload("cel.@mapInsert", *values)


def _itself(result: Any) -> Any:
    return result


def _is_single(result: list[Any]) -> bool:
    return len(result) == 1
