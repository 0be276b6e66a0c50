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
           expression fails on, None for a compile error, and ``pool`` its pool; ``place`` is the object and
           field that contain the expression. Both are empty where they are not known.
    """

    def __init__(
        self, expression: str, reason: str, device: str | None = None, place: str = "", pool: str = ""
    ) -> None:
        self.expression = expression
        self.reason = reason
        self.device = device
        self.place = place
        self.pool = pool
        super().__init__(self._text())

    def at(self, place: str) -> SelectorError:
        """Return the same error with the place that contains the expression."""
        return type(self)(self.expression, self.reason, self.device, place, self.pool)

    def _text(self) -> str:
        failure = f"fails on {self._device}" if self.device else "does not compile"
        text = shown(self.expression)
        name = f"{self.place}: {text}:" if self.place else f"selector {text}"
        return f"{name} {failure}: {self.reason}"

    @property
    def _device(self) -> str:
        return f"device {self.device} of pool {self.pool}" if self.pool else f"device {self.device}"


class AmountError(SelectorError):
    """An amount in a claim that is not understood for a device: it cannot be rounded, or is there twice.

    It ends an attempt as a failing selector does: Kubernetes tries no other device.
    Shape: ``expression`` is the name of the capacity and the amount, as in ``memory=9Gi``.
    """

    def _text(self) -> str:
        name = f"{self.place}: " if self.place else "capacity request "
        return f"{name}{self.expression}: fails for {self._device}: {self.reason}"


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
