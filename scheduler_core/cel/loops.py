"""The loop macros, recognised in what they expand to, and ``cel.bind``.

Every macro folds a range into an accumulator. Running that literally would copy a growing list at each
step; each shape has its own loop here instead. Source: CEL macros; cel-go ``ext/comprehensions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from scheduler_core.cel.cost import LIST
from scheduler_core.cel.errors import CompileError, EvaluationError, no_such_overload
from scheduler_core.cel.library.equality import has_key
from scheduler_core.cel.steps import UNKNOWN, Build, Code, Scope, Slots, Step, charge, charged
from scheduler_core.cel.tree import Call, Fold, ListOf, Literal, Name, Node, is_bind
from scheduler_core.cel.values import Domains, type_name
from scheduler_core.cel.view import DeviceView

_ERROR: Final = 5  # what an error takes Python longer than an answer
_UNKNOWN_MACRO: Final = "a loop of an unknown macro"
Rounds = Callable[[DeviceView, Slots], Iterator[bool]]
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
    inner, slot = scope.bind_lazily(node.accumulator, charged(build(node.initial, scope), scope))
    result = build(node.result, inner)
    read = result.run

    def run(view: DeviceView, slots: Slots) -> Any:
        slots[slot] = UNKNOWN
        return read(view, slots)

    return Step(run, cost=result.cost)


def _variables(node: Fold, scope: Scope) -> tuple[Scope, tuple[int, ...]]:
    """Return the scope inside a loop, and the slots of its variables."""
    inner, first = scope.bind(node.first)
    if not node.second:
        return inner, (first,)
    inner, second = inner.bind(node.second)
    return inner, (first, second)


def _rounds(read: Code, variables: tuple[int, ...], cost: int) -> Rounds:
    """Return what puts the elements of a range into their slots, one after the other, for ``cost`` each.

    Shape: yields whether there is another element behind this one.
    """
    first = variables[0]

    def one(view: DeviceView, slots: Slots) -> Iterator[bool]:
        values = _iterable(read(view, slots))
        size = len(values)
        for position, item in enumerate(values, 1):
            if cost:
                charge(slots, cost)
            slots[first] = item
            yield position < size

    def two(view: DeviceView, slots: Slots) -> Iterator[bool]:
        values = _iterable(read(view, slots))
        size = len(values)
        pairs = enumerate(values) if isinstance(values, list) else values.items()
        for position, (key, value) in enumerate(pairs, 1):
            if cost:
                charge(slots, cost)
            slots[first], slots[first + 1] = key, value
            yield position < size

    return one if len(variables) == 1 else two


def _iterable(value: Any) -> list[Any] | dict[Any, Any]:
    if type(value) is list or type(value) is dict or type(value) is Domains:
        return value
    raise EvaluationError(f"got '{type_name(value)}', expected iterable type")


def _quantifier(node: Fold, test: Node, decides: bool, scope: Scope, build: Build) -> Step:
    """``all`` and ``exists``: an error counts only where no element decides."""
    inner, variables = _variables(node, scope)
    range_, verdict = build(node.range, scope), build(test, inner)
    condition_cost = scope.price(3 if decides else 2)
    rounds = _rounds(range_.run, variables, condition_cost + scope.price(1 + verdict.cost))
    judge, undecided, penalty = verdict.run, not decides, scope.surcharge(_ERROR)

    def run(view: DeviceView, slots: Slots) -> bool:
        problem: EvaluationError | None = None
        for has_next in rounds(view, slots):
            try:
                answer: object = judge(view, slots)
            except EvaluationError as error:
                problem = error
                charge(slots, penalty)
                continue
            if answer is decides:
                if has_next:
                    charge(slots, condition_cost)
                return bool(decides)
            if answer is not undecided:
                problem = no_such_overload("_||_" if decides else "_&&_", answer)
        if problem is not None:
            raise problem
        return undecided

    return Step(run, cost=range_.cost + 1)


def _collector(node: Fold, step: Call, wanted: Node | None, scope: Scope, build: Build) -> Step:
    """``exists_one``, ``map``, ``filter`` and the transforming macros: what they do with an element."""
    inner, variables = _variables(node, scope)
    range_ = build(node.range, scope)
    choice = None if wanted is None else build(wanted, inner)
    start: Callable[[], Any] = list
    finish: Callable[[Any], Any] = _itself
    match step:
        case Call(function="_+_", arguments=(Name(), ListOf(elements=(element,)))):
            collect = _append(build(element, inner), scope)
        case Call(function="_+_", arguments=(Name(), Literal(value=1) as one)):
            collect, finish = _append(build(one, inner), scope), _is_single
        case Call(function="cel.@mapInsert", arguments=(Name(), *parts)):
            collect, start = _insert([build(part, inner) for part in parts], scope), dict
        case _:
            raise CompileError(_UNKNOWN_MACRO)
    rounds = _rounds(range_.run, variables, 0 if choice is None else scope.price(choice.cost))
    code = _collecting(rounds, None if choice is None else choice.run, collect, start, finish)
    return Step(code, cost=range_.cost + (1 if finish is _itself else 2))


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


def _append(element: Step, scope: Scope) -> Collect:
    read = element.run
    cost = scope.price(2 if element.is_literal else element.cost + LIST + 2)

    def collect(result: Any, view: DeviceView, slots: Slots) -> None:
        if cost:
            charge(slots, cost)
        result.append(read(view, slots))

    return collect


def _insert(parts: list[Step], scope: Scope) -> Collect:
    """Insert a key with its value, or all entries of a map."""
    reads, cost = [part.run for part in parts], scope.price(sum(part.cost for part in parts) + 2)

    def collect(result: Any, view: DeviceView, slots: Slots) -> None:
        if cost:
            charge(slots, cost)
        values = [read(view, slots) for read in reads]
        for key, value in values[0].items() if len(values) == 1 else (values,):
            if has_key(result, key):
                raise EvaluationError(f"insert failed: key {key} already exists")
            result[key] = value

    return collect


def _itself(result: Any) -> Any:
    return result


def _is_single(result: list[Any]) -> bool:
    return len(result) == 1
