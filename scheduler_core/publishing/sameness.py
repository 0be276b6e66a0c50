"""Compares what was sent to an API server with what it stored. Pure.

Servers write quantities in one canonical form, add the time to taints, and silently drop fields of features
that are switched off. The first two do not count as a difference. The last matters: a partition whose
counter consumption was dropped seems free, whatever is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.timestamp import seconds_of

_AMOUNTS: Final = ("value", "quantity")
_BODIES: Final = ("basic", "composite")  # where a device of the composite dialect says all but its name
_CLOCK_STEP_S: Final = 1.0  # servers keep whole seconds


def same(wanted: object, stored: object, key: str = "") -> bool:
    """Whether ``stored`` means the same as ``wanted``. Shape: ``key`` is the field that holds both."""
    if isinstance(wanted, Mapping) and isinstance(stored, Mapping):
        return _same_fields(wanted, stored)
    if isinstance(wanted, list | tuple) and isinstance(stored, list | tuple):
        return len(wanted) == len(stored) and all(
            same(one, other) for one, other in zip(wanted, stored, strict=True)
        )
    if wanted == stored:
        return isinstance(wanted, bool) is isinstance(stored, bool)
    if not isinstance(wanted, str) or not isinstance(stored, str):
        return False
    if key == "timeAdded":
        return _same_time(wanted, stored)
    return key in _AMOUNTS and _same_amount(wanted, stored)


def _same_fields(wanted: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    extra = set(stored) - set(wanted)
    if len(stored) - len(extra) != len(wanted) or extra - {"timeAdded"}:
        return False
    return all(same(value, stored[key], key) for key, value in wanted.items())


def _same_amount(wanted: str, stored: str) -> bool:
    try:
        return Quantity.parse(wanted) == Quantity.parse(stored)
    except ValueError:
        return False


def _same_time(wanted: str, stored: str) -> bool:
    ours, theirs = seconds_of(wanted), seconds_of(stored)
    return ours is not None and theirs is not None and abs(ours - theirs) <= _CLOCK_STEP_S


def dropped(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the fields of a slice's spec that were sent and not stored.

    Shape: fields of the spec, of its devices and of what a composite device consists of; a field of a draw as
           ``consumesCounters.FIELD``.
    """
    return frozenset(_dropped(sent["spec"], stored.get("spec") or {}))


def _dropped(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[str]:
    yield from _missing(sent, stored)
    kept = {device.get("name"): device for device in stored.get("devices") or ()}
    for device in sent.get("devices") or ():
        if (other := kept.get(device["name"])) is None:
            continue  # the server stores other devices: no feature gate does that
        yield from _missing(device, other)
        for body in _BODIES:
            yield from _missing(device.get(body) or {}, other.get(body) or {})
        for draw, still in zip(
            device.get("consumesCounters") or (), other.get("consumesCounters") or (), strict=False
        ):
            for field in _missing(draw, still):
                yield f"consumesCounters.{field}"


def _missing(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[str]:
    for field, value in sent.items():
        if value and not stored.get(field):
            yield field
