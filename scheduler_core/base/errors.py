"""What can go wrong in the core, by who has to act.

A bad slice is the driver author's to mend, a bad claim the user's, a bad class the administrator's.
"Does not fit" is none of these: it is the value ``Unallocatable``. Every message names the object,
the field, the value found and the rule with its limit.
"""

from __future__ import annotations


class CoreError(Exception):
    """The base of everything the core raises."""


class InvalidInput(CoreError):
    """An object that breaks a rule of its API.

    Shape: ``subject`` such as ``ResourceSlice node-1-slice``; ``field`` a dotted path with indexes,
           empty where the object as a whole is meant; ``value`` what was found, as text;
           ``rule`` the sentence that it breaks, with the limit.
    """

    def __init__(self, subject: str, field: str, value: object, rule: str) -> None:
        self.subject = subject
        self.field = field
        self.value = value
        self.rule = rule
        super().__init__(message(subject, field, value, rule))


class InvalidSlice(InvalidInput):
    """A ResourceSlice that its driver must mend."""


class InvalidClaim(InvalidInput):
    """A ResourceClaim that its user must mend."""


class InvalidClass(InvalidInput):
    """A DeviceClass that the administrator must mend."""


class SelectorError(CoreError):
    """A CEL expression that does not compile, or fails on a device.

    Shape: ``expression`` the text; ``reason`` what the checker or the evaluator said; ``device`` the
           device it failed on, None for a compile error; ``place`` the object and field that hold the
           expression, empty where that is not known.
    """

    def __init__(self, expression: str, reason: str, device: str | None = None, place: str = "") -> None:
        self.expression = expression
        self.reason = reason
        self.device = device
        self.place = place
        failure = f"fails on device {device}" if device else "does not compile"
        name = f"{place}: {shown(expression)}:" if place else f"selector {shown(expression)}"
        super().__init__(f"{name} {failure}: {reason}")


class CannotProject(CoreError):
    """A pool that ``resource.k8s.io/v1`` cannot express exactly. ``reasons`` has one per obstacle."""

    def __init__(self, pool: str, reasons: tuple[str, ...]) -> None:
        self.pool = pool
        self.reasons = reasons
        super().__init__(f"pool {pool} cannot be projected to resource.k8s.io/v1: " + "; ".join(reasons))


def message(subject: str, field: str, value: object, rule: str) -> str:
    """Return the one-line message of an invalid input: object, field, value, rule."""
    place = f"{subject}: {field}" if field else subject
    return f"{place}: {rule}" if value is None else f"{place}: {shown(value)}: {rule}"


def shown(value: object, limit: int = 80) -> str:
    """Return ``value`` as it may stand in a message: quoted, in one line, cut at ``limit``."""
    text = repr(value) if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
