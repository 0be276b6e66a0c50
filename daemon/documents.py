"""Reads YAML or JSON into plain values: only what JSON can express, within limits of size and depth.

Takes a name and bytes; returns documents, each with its place. Any text, however broken or hostile, gives
documents or a ``NotReadable``, no other error. Never interprets a document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Any, Final

import yaml

MAX_BYTES: Final = 64 * 2**20
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 2_000_000  # what aliases unfold to counts too
_NUMBER_LENGTH: Final = 1024  # longer ones cost time that grows with their square
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_SHOWN: Final = 200
_TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"


class NotReadable(Exception):
    """A text that is not made of plain documents.

    Shape: ``place`` is ``file``, ``file:line`` or ``file:line:column``.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{place}: {reason}")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a text. Shape: ``place`` is ``file`` or ``file:line``, for messages."""

    place: str
    content: object


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, or enough of them to see that it is too large. Raises: OSError."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def decode(name: str, data: bytes) -> str:
    """Return the text of a file's bytes. Raises: NotReadable where it is too large or no UTF-8."""
    if len(data) > MAX_BYTES:
        raise NotReadable(name, f"is larger than {MAX_BYTES // 2**20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NotReadable(name, f"is not UTF-8 text: byte {error.start}") from error


def documents(name: str, text: str) -> Iterator[Document]:
    """Return the documents of a text in order, without the empty ones.

    Shape: ``name`` is the file's name in messages; if it ends in ``.json``, the file is JSON.
    Raises: NotReadable.
    """
    try:
        for document in _json(name, text) if name.endswith(".json") else _yaml(name, text):
            _refuse_unbounded(document)
            yield document
    except RecursionError:
        raise NotReadable(name, _TOO_DEEP) from None


def _json(name: str, text: str) -> Iterator[Document]:
    try:
        yield Document(name, json.loads(text, object_pairs_hook=_without_duplicates))
    except json.JSONDecodeError as error:
        raise NotReadable(f"{name}:{error.lineno}:{error.colno}", f"is not JSON: {error.msg}") from error
    except ValueError as error:
        raise NotReadable(name, f"is not JSON: {error}") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen = dict(pairs)
    if len(seen) < len(pairs):
        twice = next(key for index, (key, _) in enumerate(pairs) if key in dict(pairs[:index]))
        raise ValueError(f"key {twice!r} comes twice")
    return seen


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: no dates, no duplicate keys, no value that contains itself."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Build any value; one that does not fit its tag is an error with a place."""
        if node.tag in _NUMBERS and len(node.value) > _NUMBER_LENGTH:
            problem = f"a number has more than {_NUMBER_LENGTH} characters"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError) as error:
            raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Take in what is merged, refusing keys that are no strings or come twice."""
        keys = set[str]()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue  # what is merged may be overridden: that is no duplicate
            is_text = key_node.tag == "tag:yaml.org,2002:str" and isinstance(key_node, yaml.ScalarNode)
            if not is_text or key_node.value in keys:
                problem = f"key {key_node.value!r} comes twice" if is_text else "a key must be a string"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            keys.add(key_node.value)
        super().flatten_mapping(node)
        # Merging piles up pairs, tenfold with each level that merges ten times; only the last of equal
        # keys counts, as in a dictionary.
        node.value = list({key_node.value: (key_node, value) for key_node, value in node.value}.values())


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _yaml(name: str, text: str) -> Iterator[Document]:
    try:
        _refuse_deep(name, text)
        yield from _constructed(name, _Loader(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise NotReadable(place, f"is not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise NotReadable(name, f"is not YAML: {' '.join(str(error).split())}") from error


def _refuse_deep(name: str, text: str) -> None:
    """Refuse deep nesting before nodes are made: the C library's composer recurses until it crashes."""
    depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH + 1:
                place = f"{name}:{event.start_mark.line + 1}" if event.start_mark else name
                raise NotReadable(place, _TOO_DEEP)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _constructed(name: str, loader: _Loader) -> Iterator[Document]:
    try:
        while loader.check_node() and (node := loader.get_node()) is not None:
            loader.deep_construct = True  # makes a value that contains itself an error
            content = loader.construct_document(node)
            if content is not None:
                yield Document(f"{name}:{node.start_mark.line + 1}", content)
    finally:
        loader.dispose()


def _refuse_unbounded(document: Document) -> None:
    """Refuse what JSON cannot say, and unbounded work: deep nesting, aliases that unfold without end."""
    open_values, count = [(document.content, 0)], 0
    while open_values:
        value, depth = open_values.pop()
        count += 1
        if depth > MAX_DEPTH or count + len(open_values) > MAX_VALUES:
            limit = f"{MAX_DEPTH} levels" if depth > MAX_DEPTH else f"{MAX_VALUES} values"
            raise NotReadable(document.place, f"is nested or repeated beyond {limit}")
        if isinstance(value, Mapping):
            open_values += [(child, depth + 1) for child in value.values()]
        elif isinstance(value, list):
            open_values += [(child, depth + 1) for child in value]
        elif not _is_plain(value):
            reason = f"{repr(value)[:_SHOWN]} is no value of JSON: write it as a string"
            raise NotReadable(document.place, reason)


def _is_plain(value: object) -> bool:
    return isfinite(value) if isinstance(value, float) else isinstance(value, str | int | NoneType)
