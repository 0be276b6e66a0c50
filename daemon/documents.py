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

from daemon.opened import opened
from daemon.plain_yaml import Progress, plain_documents

MAX_BYTES: Final = 64 * 2**20
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 2_000_000  # what aliases unfold to counts too
MAX_MERGED: Final = 100_000
_NUMBER_LENGTH: Final = 1024  # longer ones cost time that grows with their square
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MERGE: Final = "tag:yaml.org,2002:merge"
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
    """Return a file's bytes, or enough of them to see that it is too large. Never waits for a writer to come.

    Raises: OSError, also for a pipe that nobody writes to.
    """
    with opened(path) as file:
        return file.read(MAX_BYTES + 1)


def decode(name: str, data: bytes) -> str:
    """Return the text of a file's bytes. Raises: NotReadable where it is too large or no UTF-8."""
    if len(data) > MAX_BYTES:
        raise NotReadable(name, f"is larger than {MAX_BYTES // 2**20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NotReadable(name, f"is not UTF-8 text: byte {error.start}") from error


def documents(name: str, text: str, progress: Progress | None = None) -> Iterator[Document]:
    """Return the documents of a text in order, without the empty ones.

    Shape: ``name`` is the file's name in messages; if it ends in ``.json``, the file is JSON. ``progress`` is
           told now and then how many characters of YAML have been read.
    Raises: NotReadable.
    """
    if not name.endswith(".json"):
        plain = plain_documents(_Loader(text), MAX_DEPTH, MAX_VALUES, progress)
        if plain is not None:  # within all bounds already
            yield from (Document(f"{name}:{line}", content) for line, content in plain)
            return
    try:
        for document in _json(name, text) if name.endswith(".json") else _yaml(name, text):
            refuse_unbounded(document)
            yield document
    except RecursionError:
        raise NotReadable(name, _TOO_DEEP) from None


def json_document(name: str, text: str) -> Document:
    """Return the one document of a JSON text, whatever its name ends in. Raises: NotReadable."""
    try:
        (document,) = _json(name, text)
        refuse_unbounded(document)
    except RecursionError:
        raise NotReadable(name, _TOO_DEEP) from None
    return document


def _json(name: str, text: str) -> Iterator[Document]:
    try:
        yield Document(name, json.loads(text, object_pairs_hook=_without_duplicates))
    except json.JSONDecodeError as error:
        raise NotReadable(f"{name}:{error.lineno}:{error.colno}", f"is not JSON: {error.msg}") from error
    except ValueError as error:
        raise NotReadable(name, f"is not JSON: {error}") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {_shown(key)} comes twice")
        found[key] = value
    return found


def _shown(value: object) -> str:
    return repr(value)[:_SHOWN]


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: no dates, no duplicate keys, no value that contains itself."""

    merged = 0  # pairs of mappings that were taken into others

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
        """Take in what is merged, refusing keys that are no strings or come twice.

        Merging piles up pairs, tenfold with each level that merges ten times, so they are counted before they
        are taken in. What is merged may be overridden: that is no duplicate.
        """
        own, merges = dict[str, tuple[yaml.Node, yaml.Node]](), list[yaml.Node]()
        for pair in node.value:
            key_node = pair[0]
            if key_node.tag == _MERGE:
                merges.append(pair[1])
                continue
            is_text = key_node.tag == "tag:yaml.org,2002:str" and isinstance(key_node, yaml.ScalarNode)
            if not is_text:
                raise yaml.constructor.ConstructorError(None, None, _no_text(key_node), key_node.start_mark)
            if key_node.value in own:
                problem = f"key {_shown(key_node.value)} comes twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            own[key_node.value] = pair
        if not merges:
            return
        node.value = list(own.values())  # before what is merged is looked at: it may be this mapping itself
        taken = dict[str, tuple[yaml.Node, yaml.Node]]()
        for source in reversed([one for merge in merges for one in _sources(merge)]):
            self.flatten_mapping(source)
            self.merged += len(source.value)
            if self.merged > MAX_MERGED:
                problem = f"more than {MAX_MERGED} keys are merged"
                raise yaml.constructor.ConstructorError(None, None, problem, source.start_mark)
            taken |= {pair[0].value: pair for pair in source.value}
        node.value = list((taken | own).values())


def _no_text(key: yaml.Node) -> str:
    """Return what is wrong with a key that is no string, and how a number or a word becomes one."""
    rule = "a key must be a string"
    return f"{rule}: write {_shown(key.value)}, with the quotes" if isinstance(key, yaml.ScalarNode) else rule


def _sources(merged: yaml.Node) -> list[yaml.MappingNode]:
    """Return the mappings that one merge key takes in, the one that counts most first."""
    found = list[yaml.MappingNode]()
    for one in merged.value if isinstance(merged, yaml.SequenceNode) else [merged]:
        if not isinstance(one, yaml.MappingNode):
            problem = "only a mapping, or a list of mappings, can be merged"
            raise yaml.constructor.ConstructorError(None, None, problem, one.start_mark)
        found.append(one)
    return found


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


def refuse_unbounded(document: Document) -> None:
    """Refuse what JSON cannot say, and unbounded work: deep nesting, aliases that unfold without end.

    Raises: NotReadable.
    """
    open_values, count = [(document.content, 0)], 0
    while open_values:
        value, depth = open_values.pop()
        count += 1
        if depth > MAX_DEPTH or count + len(open_values) > MAX_VALUES:
            limit = f"{MAX_DEPTH} levels" if depth > MAX_DEPTH else f"{MAX_VALUES} values"
            raise NotReadable(document.place, f"is nested or repeated beyond {limit}")
        if isinstance(value, Mapping):
            for key in value:
                _refuse_no_text(document, key)
            open_values += [(child, depth + 1) for child in value.values()]
        elif isinstance(value, list):
            open_values += [(child, depth + 1) for child in value]
        elif isinstance(value, str):
            _refuse_no_text(document, value)
        elif not _is_plain(value):
            reason = f"{_shown(value)} is no value of JSON: write it as a string"
            raise NotReadable(document.place, reason)


def _refuse_no_text(document: Document, text: str) -> None:
    """Refuse half of a surrogate pair, which JSON can escape and nothing can write."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        reason = f"{_shown(text)} is no Unicode text: character {error.start + 1} is half of a surrogate pair"
        raise NotReadable(document.place, reason) from None


def _is_plain(value: object) -> bool:
    return isfinite(value) if isinstance(value, float) else isinstance(value, int | NoneType)
