"""Reads YAML with few types, for node files. Takes text; returns plain values.

The only types are strings, whole numbers, true, false and null. YAML 1.1 would read the PCI address
0000:07:00.0 as a number in base 60 and the version 12.6 as a fraction. Refused are keys given twice, and
documents nested deeper than any machine, because the parser is recursive.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, Final

import yaml

MAX_DEPTH: Final = 64
"""Enough for a dozen nested PCIe switches."""


class NotYaml(Exception):
    """A text that is not YAML. Shape: ``place`` in the text, empty if unknown."""

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{place}: {reason}" if place else reason)


def read_yaml(text: str) -> object:
    """Return the value of a YAML text. Raises: NotYaml."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506 (a safe loader with fewer types)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise NotYaml(place, error.problem or "cannot be read") from error
    except (yaml.YAMLError, ValueError) as error:
        raise NotYaml("", " ".join(str(error).split())) from error


class _Loader(yaml.SafeLoader):
    # An empty table, so that the types of the base class are not used.
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        """Build a word or text. Half of a surrogate pair can be escaped, and nothing can write it."""
        try:
            if isinstance(node.value, str):
                node.value.encode()
        except UnicodeEncodeError as error:
            problem = f"{node.value!r} has half of a surrogate pair: character {error.start + 1}"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None
        return super().construct_scalar(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="keys are single words", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=self.get_mark())
        if self._depth == MAX_DEPTH:
            problem = f"nested deeper than {MAX_DEPTH} levels"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.current_event.start_mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), list("-0123456789")
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])
