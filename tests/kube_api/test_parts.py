"""JSON text is cut into its parts whatever they contain, and however deeply they are nested."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kube_api.parts import elements, members

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=4), JSON, max_size=5)
INDENTS = st.sampled_from([None, 2])


@given(OBJECTS, INDENTS, st.booleans())
def test_the_members_of_an_object_are_its_members(
    wanted: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(wanted, indent=indent, ensure_ascii=ascii_only).encode()

    assert {key: json.loads(value) for key, value in members(text).items()} == wanted


@given(st.lists(JSON, max_size=5), INDENTS)
def test_the_elements_of_a_list_are_its_elements(wanted: list[Any], indent: int | None) -> None:
    text = json.dumps(wanted, indent=indent).encode()

    assert [json.loads(one) for one in elements(text)] == wanted


@given(OBJECTS, st.integers(0, 200))
def test_of_a_text_that_is_cut_the_members_that_are_whole_remain(wanted: dict[str, Any], end: int) -> None:
    text = json.dumps(wanted).encode()[:end]

    found = {key: json.loads(value) for key, value in members(text).items()}

    assert found.items() <= wanted.items()
    assert list(found) == list(wanted)[: len(found)]


@given(st.binary(max_size=60))
def test_text_that_is_no_json_is_cut_without_an_error(text: bytes) -> None:
    members(text)
    elements(text)


def test_nesting_has_no_limit() -> None:
    deep = b"[" * 1_000_000 + b"]" * 1_000_000

    assert members(b'{"deep": ' + deep + b', "name": "a"}') == {"deep": deep, "name": b'"a"'}
