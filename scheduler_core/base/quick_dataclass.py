"""``dataclass`` as in the standard library, but quick to make: a command makes two hundred at its start.

The standard library writes every method of a class as text and compiles it at once. Here fields, slots and
rules come from there, and each method is written and compiled when it is called for the first time; most
never are. What is rare (``order``, ``init``, ``InitVar``, an ``__init__`` of its own, a frozen class of the
standard library as base) is left to the standard library, whose frozen classes cannot have these as bases.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  # type checkers know that one
else:

    def dataclass(cls=None, /, **settings):
        """Make a class a dataclass, with the settings of ``dataclasses.dataclass``."""
        return _made(cls, settings) if cls is not None else lambda given: _made(given, settings)


Method = Callable[..., Any]
_RARE: Final = frozenset(("order", "unsafe_hash", "init", "weakref_slot"))
_RARE_OWN: Final = frozenset(("__init__", "__setattr__", "__delattr__", "__getstate__", "__setstate__"))
_KEPT: Final = frozenset(("slots", "kw_only", "match_args"))


def _made(given: Any, settings: dict[str, bool]) -> Any:
    if not _RARE.isdisjoint(settings) or _is_rare(given):
        return dataclasses.dataclass(given, **settings)
    kept = {name: settings[name] for name in settings.keys() & _KEPT}
    own = given.__dict__
    cls = dataclasses.dataclass(given, init=False, repr=False, eq=False, **kept)
    is_frozen = settings.get("frozen", False)
    cls.__init__ = _later(cls, "__init__", _frozen_init if is_frozen else _init)
    if settings.get("repr", True) and "__repr__" not in own:
        cls.__repr__ = _later(cls, "__repr__", _repr)
    if settings.get("eq", True):
        if "__eq__" not in own:
            cls.__eq__ = _later(cls, "__eq__", _eq)
        if own.get("__hash__") is None:
            cls.__hash__ = _later(cls, "__hash__", _hash) if is_frozen else None
    if is_frozen:
        _freeze(cls)
    return cls


def _is_rare(given: Any) -> bool:
    own = given.__dict__
    has_no_hash = "__hash__" in own and own["__hash__"] is None and "__eq__" not in own
    return (
        has_no_hash
        or not _RARE_OWN.isdisjoint(own)
        or any("InitVar" in str(one) for one in own.get("__annotations__", {}).values())
        or any(_is_frozen_there(base) for base in given.__mro__[1:])
    )


def _is_frozen_there(base: Any) -> bool:
    return "__dataclass_params__" in base.__dict__ and bool(base.__dataclass_params__.frozen)


def _later(cls: Any, name: str, written: Callable[[Any], Method]) -> Method:
    """Return a method that puts the one that is meant into its place, and calls that."""

    def method(self: Any, *values: Any, **named: Any) -> Any:
        meant = written(cls)
        meant.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, meant)
        return meant(self, *values, **named)

    return method


def _compiled(name: str, parameters: str, body: list[str], known: dict[str, Any]) -> Method:
    text = "\n ".join([f"def {name}({parameters}):", *(body or ["pass"])])
    exec(text, known)  # noqa: S102  # the names of our own fields
    method: Method = known[name]
    return method


def _init(cls: Any, assigned: str = "self.{} = {}") -> Method:
    """Return the ``__init__`` that the standard library makes."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    usual, named, body = ["self"], ["*"], list[str]()
    for one in fields(cls):
        known |= {f"_default_{one.name}": one.default, f"_make_{one.name}": one.default_factory}
        if one.init:
            is_needed = one.default is MISSING and one.default_factory is MISSING
            parameter = one.name if is_needed else f"{one.name}=_default_{one.name}"
            (named if one.kw_only else usual).append(parameter)
        if one.init or one.default is not MISSING or one.default_factory is not MISSING:
            body.append(assigned.format(one.name, _value(one)))
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return _compiled("__init__", ", ".join(usual + (named if named[1:] else [])), body, known)


def _value(one: Field[Any]) -> str:
    """Return what ``__init__`` assigns to a field."""
    made = f"_make_{one.name}()"
    if not one.init:
        return f"_default_{one.name}" if one.default_factory is MISSING else made
    return one.name if one.default_factory is MISSING else f"{made} if {one.name} is _missing else {one.name}"


def _frozen_init(cls: Any) -> Method:
    return _init(cls, "_set(self, {0!r}, {1})")


def _repr(cls: Any) -> Method:
    names = [one.name for one in fields(cls) if one.repr]

    def __repr__(self: Any) -> str:  # noqa: N807
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({values})"

    return recursive_repr()(__repr__)


def _eq(cls: Any) -> Method:
    names = [one.name for one in fields(cls) if one.compare]
    body = [
        "if other.__class__ is self.__class__:",
        f" return {_tuple('self', names)} == {_tuple('other', names)}",
        "return NotImplemented",
    ]
    return _compiled("__eq__", "self, other", body, {})


def _hash(cls: Any) -> Method:
    names = [one.name for one in fields(cls) if (one.compare if one.hash is None else one.hash)]
    return _compiled("__hash__", "self", [f"return hash({_tuple('self', names)})"], {})


def _tuple(owner: str, names: list[str]) -> str:
    return f"({''.join(f'{owner}.{name},' for name in names)})"


def _freeze(cls: Any) -> None:
    """Refuse changes. What copies and unpickles a value sets its slots past that."""
    names = cls.__dataclass_fields__

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__
    if "__slots__" in cls.__dict__:
        cls.__getstate__, cls.__setstate__ = _state, _set_state


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
