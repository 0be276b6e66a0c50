"""PURE: the rules by which health is judged: the table's, changed per cause and per XID by the operator.

Takes the ``health`` section of a policy file as plain values; returns rules, or says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final

from agent.health.causes import TABLE, Cause, Severity

MOST_XID: Final = 2**32 - 1
_MOST_MINUTES: Final = 7 * 24 * 60
_CAUSES: Final = "causes"
_XIDS: Final = "xids"
_UNKNOWN: Final = "unknownXids"
SAYS: Final = (_CAUSES, _XIDS, _UNKNOWN)
"""The keys of a section."""
_SEVERITY: Final = "severity"
_QUIET: Final = "quietMinutes"
_SHOWN: Final = 200
_SEVERITIES: Final = f"must be one of {', '.join(Severity)}"


class BadHealthRules(ValueError):
    """A section that the operator must change.

    Shape: ``key`` where the value stands, ``health.xids.79``; ``value`` what stands there; ``rule`` what it
           breaks.
    """

    def __init__(self, key: str, value: object, rule: str) -> None:
        self.key = key
        self.value = value
        self.rule = rule
        shown = repr(value)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        super().__init__(f"{key}: {shown} {rule}")


@dataclass(frozen=True, slots=True)
class HealthRules:
    """What the operator wants otherwise than the table has it.

    The fields are part of the format on disk of what is in effect of a policy.
    Shape: ``xids`` by number; a severity for a number counts before one for its cause.
    Units: ``quiet_s`` seconds.
    """

    severities: Mapping[Cause, Severity] = field(default_factory=dict)
    quiet_s: Mapping[Cause, float] = field(default_factory=dict)
    xids: Mapping[int, Severity] = field(default_factory=dict)

    def severity(self, cause: Cause, xid: int | None = None) -> Severity:
        """Return how bad a cause is."""
        if xid is not None and xid in self.xids:
            return self.xids[xid]
        return self.severities.get(cause, TABLE[cause].severity)

    def quiet(self, cause: Cause) -> float | None:
        """Return the seconds without it after which a cause is over, None where they do not end it."""
        own = TABLE[cause].quiet_s
        return None if own is None else self.quiet_s.get(cause, own)


def health_rules(document: Mapping[str, Any]) -> HealthRules:
    """Return the rules of a ``health`` section. Raises: BadHealthRules."""
    section = _mapping("health", document, set(SAYS))
    severities: dict[Cause, Severity] = {}
    quiet_s: dict[Cause, float] = {}
    for name, given in _mapping(f"health.{_CAUSES}", section.get(_CAUSES, {}), set(Cause)).items():
        cause, key = Cause(name), f"health.{_CAUSES}.{name}"
        said = _mapping(key, given, {_SEVERITY, _QUIET})
        if _SEVERITY in said:
            severities[cause] = _severity(f"{key}.{_SEVERITY}", said[_SEVERITY])
        if _QUIET in said:
            quiet_s[cause] = _quiet(f"{key}.{_QUIET}", said[_QUIET], cause)
    if _UNKNOWN in section:
        key = f"health.{_UNKNOWN}"
        if Cause.XID_UNKNOWN in severities:
            raise BadHealthRules(key, section[_UNKNOWN], f"says the same as {_CAUSES}.{Cause.XID_UNKNOWN}")
        severities[Cause.XID_UNKNOWN] = _severity(key, section[_UNKNOWN])
    return HealthRules(severities, quiet_s, _xids(section))


def _xids(section: Mapping[str, Any]) -> dict[int, Severity]:
    given = section.get(_XIDS, {})
    if not isinstance(given, Mapping):
        raise BadHealthRules(f"health.{_XIDS}", given, "must be a mapping of XIDs to severities")
    found: dict[int, Severity] = {}
    for name, severity in given.items():
        key = f"health.{_XIDS}.{name}"
        number = _number(key, name)
        if number in found:
            raise BadHealthRules(key, name, "stands there twice")
        found[number] = _severity(key, severity)
    return found


def _number(key: str, name: object) -> int:
    is_number = isinstance(name, int) and not isinstance(name, bool)
    is_digits = (
        isinstance(name, str) and name.isascii() and name.isdigit() and len(name) <= len(f"{MOST_XID}")
    )
    number = int(str(name)) if is_number or is_digits else -1
    if not 0 < number <= MOST_XID:
        raise BadHealthRules(key, name, f"must be a number of an XID, 1 to {MOST_XID}")
    return number


def _mapping(key: str, value: object, known: set[str] | set[Cause]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadHealthRules(key, value, f"must be a mapping of {', '.join(sorted(known))}")
    for name in value:
        if name not in known:
            raise BadHealthRules(f"{key}.{name}", name, f"is unknown; known are {', '.join(sorted(known))}")
    return value


def _severity(key: str, value: object) -> Severity:
    if not isinstance(value, str) or value not in tuple(Severity):
        raise BadHealthRules(key, value, _SEVERITIES)
    return Severity(value)


def _quiet(key: str, value: object, cause: Cause) -> float:
    heals = TABLE[cause]
    if heals.quiet_s is None:
        raise BadHealthRules(key, value, f"means nothing: {cause} ends when {heals.heals}")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(float(str(value))) or not 0 < float(str(value)) <= _MOST_MINUTES:
        raise BadHealthRules(key, value, f"must be a number of minutes above 0, at most {_MOST_MINUTES}")
    return float(str(value)) * 60
