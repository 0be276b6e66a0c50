"""Reads untrusted dictionaries. A reader knows its path, and every error names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.quantity import Quantity

_KINDS: Final[dict[type, str]] = {str: "a string", int: "an integer", bool: "true or false"}


class Fields:
    """One object of a document, with its path.

    Shape: ``subject`` is the API object, ``path`` the path in it (``spec.devices[2]``), ``error`` the class
           of errors.
    """

    __slots__ = ("error", "path", "subject", "values")

    def __init__(self, values: object, subject: str, path: str, error: type[InvalidInput]) -> None:
        self.subject = subject
        self.path = path
        self.error = error
        self.values: Mapping[str, Any]
        # Nearly all are dictionaries, and the first test is much faster than the second.
        if type(values) is dict or isinstance(values, Mapping):
            self.values = values
        else:
            raise error(subject, path, values, "must be an object")

    def refuse(self, key: str, rule: str, value: object = None) -> InvalidInput:
        """Return the error for ``key``, which the caller raises."""
        return self.error(self.subject, self.at(key), value, rule)

    def at(self, key: str) -> str:
        """Return the path of ``key``."""
        return f"{self.path}.{key}" if self.path and key else (self.path or key)

    def has(self, key: str) -> bool:
        """Whether ``key`` is present and not null."""
        return self.values.get(key) is not None

    def only(self, *known: str) -> None:
        """Refuse unknown fields: without one the object could mean something else."""
        for key in self.values:
            if key not in known:
                raise self.refuse(
                    str(key), f"unknown field{_meant(str(key), known)}; known here: {', '.join(known)}"
                )

    def text(
        self, key: str, default: str | None = None, *, rule: Callable[[str], str | None] | None = None
    ) -> str:
        """Return a string. ``rule`` returns the rule that the string breaks, or None."""
        value = self._typed(key, str, default)
        problem = rule(value) if rule else None
        if problem is not None:
            raise self.refuse(key, problem, value)
        return str(value)

    def integer(self, key: str, default: int | None = None, *, least: int, most: int = 2**63 - 1) -> int:
        """Return an integer within the bounds."""
        value = self._typed(key, int, default)
        if not least <= value <= most:
            bound = f"at least {least}" if value < least else f"at most {most}"
            raise self.refuse(key, f"must be {bound}", value)
        return int(value)

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return a boolean."""
        return bool(self._typed(key, bool, default))

    def child(self, key: str) -> Fields:
        """Return an object field. A missing field is refused."""
        if not self.has(key):
            raise self.refuse(key, "is required")
        return Fields(self.values[key], self.subject, self.at(key), self.error)

    def optional(self, key: str) -> Fields:
        """Return an object field, empty where it is missing."""
        return Fields(self.values.get(key) or {}, self.subject, self.at(key), self.error)

    def children(self, key: str, most: int | None = None) -> Iterator[Fields]:
        """Yield the objects of a list field; none where it is missing."""
        for index, value in enumerate(self.items(key, most)):
            yield Fields(value, self.subject, f"{self.at(key)}[{index}]", self.error)

    def items(self, key: str, most: int | None = None) -> Sequence[Any]:
        """Return a list field, empty where it is missing, of at most ``most`` entries."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self.refuse(key, "must be a list", value)
        if most is not None and len(value) > most:
            raise self.refuse(key, f"has {len(value)} entries; at most {most} are allowed")
        return value

    def texts(self, key: str, most: int | None = None) -> tuple[str, ...]:
        """Return a list of strings."""
        values = self.items(key, most)
        for index, value in enumerate(values):
            if not isinstance(value, str):
                raise self.refuse(f"{key}[{index}]", "must be a string", value)
        return tuple(values)

    def quantity(self, key: str) -> Quantity:
        """Return a quantity. Numbers may be unquoted, as people write YAML and API servers read it."""
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return Quantity.of(value)
        if isinstance(value, float):  # the API server parses the number's shortest text, too
            value = repr(value)
        if not isinstance(value, str):
            raise self.refuse(key, "must be a quantity such as '4864Mi' or '1'", value)
        try:
            return Quantity.parse(value)
        except ValueError as error:
            raise self.refuse(key, str(error)) from None

    def _typed(self, key: str, kind: type, default: object) -> Any:
        value = self.values.get(key)
        if value is None:
            if default is None:
                raise self.refuse(key, "is required")
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.refuse(key, f"must be {_KINDS[kind]}", value)
        return value


def subject_of(obj: object, kind: str) -> str:
    """Return the name of an API object for messages: its kind and name."""
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    return f"{kind} {namespace + '/' if isinstance(namespace, str) else ''}{name or '(no name)'}"


def _meant(key: str, known: Sequence[str]) -> str:
    """Return a question about the known field that is most alike, empty where none is."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    alike = get_close_matches(key, known, 1)
    return f" (did you mean {alike[0]}?)" if alike else ""
