"""The errors of the core: one class per person who has to act.

The driver's author corrects a bad slice, the user a bad claim, the administrator a bad class. "Does not
fit" is no error: it is the value ``Unallocatable``. Every message names the object, the field, the value
found and the rule with its limit.
"""

from __future__ import annotations


class CoreError(Exception):
    """The base class of all errors of the core."""


class InvalidInput(CoreError):
    """An object that breaks a rule of its API.

    Shape: ``subject`` is the object, such as ``ResourceSlice node-1-slice``; ``field`` is a dotted path with
           indexes, empty for the object as a whole; ``value`` is what was found, as text; ``rule`` is the
           rule that it breaks, with the limit.
    """

    def __init__(self, subject: str, field: str, value: object, rule: str) -> None:
        self.subject = subject
        self.field = field
        self.value = value
        self.rule = rule
        super().__init__(message(subject, field, value, rule))


class InvalidSlice(InvalidInput):
    """A ResourceSlice that the author of its driver must correct."""


class InvalidClaim(InvalidInput):
    """A ResourceClaim that its user must correct."""


class InvalidClass(InvalidInput):
    """A DeviceClass that the administrator must correct."""


class SelectorError(CoreError):
    """A CEL expression that does not compile, or fails on a device.

    Shape: ``reason`` is the message of the compiler or the evaluator; ``device`` is the device that the
           expression fails on, None for a compile error; ``place`` is the object and field that contain the
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
    """A pool that ``resource.k8s.io/v1`` cannot express exactly. Shape: ``reasons`` has every reason."""

    def __init__(self, pool: str, reasons: tuple[str, ...]) -> None:
        self.pool = pool
        self.reasons = reasons
        super().__init__(f"pool {pool} cannot be projected to resource.k8s.io/v1: " + "; ".join(reasons))


def message(subject: str, field: str, value: object, rule: str) -> str:
    """Return the one-line message of an invalid input: object, field, value, rule."""
    place = f"{subject}: {field}" if field else subject
    return f"{place}: {rule}" if value is None else f"{place}: {shown(value)}: {rule}"


def shown(value: object, limit: int = 80) -> str:
    """Return ``value`` for use in a message: quoted, in one line, cut at ``limit`` characters."""
    text = repr(value) if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
