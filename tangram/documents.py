"""User files to plain documents, each with the place it came from.

In come paths of YAML or JSON files, several documents each, ``-`` for standard input; out come mappings
that hold nothing but strings, numbers, booleans, lists and mappings with string keys, as an API server
would read them. Never interprets a document.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Any, Final

import yaml

from tangram.errors import BadInput

MAX_BYTES: Final = 64 * 2**20
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 2_000_000  # what aliases unfold to counts too


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file. Shape: ``place`` is ``file`` or ``file:line``, for messages."""

    place: str
    content: Mapping[str, Any]


def read_documents(path: str) -> tuple[Document, ...]:
    """Return the documents of a file in order; a ``List`` stands for its items.

    Raises: BadInput with file and line for what cannot be read.
    """
    return parse_documents(path, _text(path))


def parse_documents(name: str, text: str) -> tuple[Document, ...]:
    """Return the documents of a text; ``name`` stands for the file in messages. Raises: BadInput."""
    found = _json(name, text) if name.endswith(".json") else _yaml(name, text)
    try:
        return tuple(item for document in found for item in _items(document))
    except RecursionError:
        raise BadInput(f"{name}: nested deeper than {MAX_DEPTH} levels") from None


def _text(path: str) -> str:
    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1) if path == "-" else _bytes(Path(path))
        text = data.decode()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text: byte {error.start}") from error
    if len(data) > MAX_BYTES:
        raise BadInput(f"{path}: is larger than {MAX_BYTES // 2**20} MiB")
    return text


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _json(path: str, text: str) -> Iterator[Document]:
    try:
        content = json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from error
    except ValueError as error:
        raise BadInput(f"{path}: is not JSON: {error}") from error
    yield _document(path, content)


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
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, TypeError, ArithmeticError) as error:
            raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build a mapping, refusing keys that are no strings or come twice."""
        keys = set[str]()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue  # what is merged may be overridden: that is no duplicate
            is_text = key_node.tag == "tag:yaml.org,2002:str"
            if not is_text or key_node.value in keys:
                problem = f"key {key_node.value!r} comes twice" if is_text else "a key must be a string"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            keys.add(key_node.value)
        return super().construct_mapping(node, deep=deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _yaml(path: str, text: str) -> Iterator[Document]:
    loader = _Loader(text)
    try:
        while loader.check_node() and (node := loader.get_node()) is not None:
            loader.deep_construct = True  # makes a value that contains itself an error
            content = loader.construct_document(node)
            if content is not None:
                yield _document(f"{path}:{node.start_mark.line + 1}", content)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
        raise BadInput(f"{place}: is not YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError:
        raise BadInput(f"{path}: nested deeper than {MAX_DEPTH} levels") from None
    finally:
        loader.dispose()


def _document(place: str, content: object) -> Document:
    if not isinstance(content, Mapping):
        raise BadInput(f"{place}: must be an object with kind and metadata, found {type(content).__name__}")
    _check(place, content)
    return Document(place, content)


def _check(place: str, content: object) -> None:
    """Refuse what JSON cannot say, and unbounded work: deep nesting, aliases that unfold without end."""
    open_values, count = [(content, 0)], 0
    while open_values:
        value, depth = open_values.pop()
        count += 1
        if depth > MAX_DEPTH or count > MAX_VALUES:
            limit = f"{MAX_DEPTH} levels" if depth > MAX_DEPTH else f"{MAX_VALUES} values"
            raise BadInput(f"{place}: is nested or repeated beyond {limit}")
        if isinstance(value, Mapping):
            open_values += [(child, depth + 1) for child in value.values()]
        elif isinstance(value, list):
            open_values += [(child, depth + 1) for child in value]
        elif not isinstance(value, str | int | NoneType) and not (
            isinstance(value, float) and isfinite(value)
        ):
            raise BadInput(f"{place}: {value!r} is no value of JSON: write it as a string")


def _items(document: Document) -> Iterator[Document]:
    items = document.content.get("items")
    if not str(document.content.get("kind", "")).endswith("List") or not isinstance(items, list):
        yield document
        return
    for index, item in enumerate(items):
        yield _document(f"{document.place} items[{index}]", item)
