"""Reads any YAML, with a parser: as Kubernetes reads it, and within limits of size and depth.

Loaded only where a text needs it. Texts in which nothing is unusual are built from the parser's events, the
others as trees of nodes, which takes three times as long and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any, Final

import yaml

from daemon.document import MAX_DEPTH, MAX_VALUES, TOO_DEEP, Document, NotReadable, Progress, shown
from daemon.yaml_text.events import plain_documents
from daemon.yaml_text.unusual import Unusual

MAX_MERGED: Final = 100_000
_NUMBER_LENGTH: Final = 1024  # longer ones cost time that grows with their square
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MERGE: Final = "tag:yaml.org,2002:merge"


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
                problem = f"key {shown(key_node.value)} comes twice"
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
    return f"{rule}: write {shown(key.value)}, with the quotes" if isinstance(key, yaml.ScalarNode) else rule


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


def plain(name: str, text: str, progress: Progress | None) -> Iterator[Document] | None:
    """Return the documents of a text, None where one has something unusual or is not within the bounds."""
    found = plain_documents(_Loader(text), MAX_DEPTH, MAX_VALUES, progress)
    return None if found is None else (Document(f"{name}:{line}", content) for line, content in found)


def plain_scalar(text: str) -> Any:
    """Return the value of a scalar without quotes.

    Raises: Unusual for ``<<``, an infinite number, and what YAML refuses.
    """
    loader: Any = _Loader("")  # its methods of C have no types
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))
    if tag == _MERGE:
        raise Unusual
    try:
        value = loader.construct_object(yaml.ScalarNode(tag, text, None, None), deep=True)
    except yaml.YAMLError:
        raise Unusual from None
    if isinstance(value, float) and not isfinite(value):
        raise Unusual
    return value


def documents(name: str, text: str) -> Iterator[Document]:
    """Return the documents of a text in order, without the empty ones.

    Raises: NotReadable, RecursionError.
    """
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
                raise NotReadable(place, TOO_DEEP)
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
