"""What is built from the parser's events is what all of YAML gives, or it is left to all of YAML."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from daemon import documents as reader
from daemon.document import MAX_DEPTH, MAX_VALUES, NotReadable
from daemon.documents import documents
from daemon.yaml_text import full
from daemon.yaml_text.events import plain_documents

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["0x1f", "1_000", "012", "1:30", "yes", "null", "~", "<<", "=", "2024-01-01", "1e3", ".inf"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab<", max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)
PIECES = st.sampled_from(
    [
        "a",
        "b",
        ": ",
        "- ",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "&x ",
        "*x",
        "<<",
        "!!int ",
        "1",
        "'q'",
        "---\n",
        "# c\n",
        ".inf",
    ]
)


def read(text: str) -> Any:
    """Return the documents with their places, or the error."""
    try:
        return [(one.place, repr(one.content)) for one in documents("x.yaml", text)]
    except NotReadable as error:
        return str(error)


def built(text: str) -> Any:
    return plain_documents(full._Loader(text), MAX_DEPTH, MAX_VALUES, None)


def both(text: str) -> tuple[Any, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "documents_of_lines", lambda *_: None)
        fast = read(text)
        patch.setattr(full, "plain_documents", lambda *_: None)
        slow = read(text)
    return fast, slow


@given(values=st.lists(VALUES, min_size=1, max_size=3), flow=st.sampled_from([None, True, False]))
def test_whatever_is_written_is_read_as_all_of_yaml_reads_it(values: list[Any], flow: bool | None) -> None:
    fast, slow = both(yaml.safe_dump_all(values, default_flow_style=flow, allow_unicode=True))

    assert fast == slow


@given(pieces=st.lists(PIECES, max_size=16))
def test_any_text_has_the_same_documents_or_the_same_error(pieces: list[str]) -> None:
    fast, slow = both("".join(pieces))

    assert fast == slow


def test_objects_of_an_api_server_are_built_without_all_of_yaml() -> None:
    items = "items:\n- metadata: {name: a, labels: {}}\n  spec: {count: 2}\n"

    assert built(f"kind: List\n{items}---\n---\nb: [x]\n") == [
        (1, {"kind": "List", "items": [{"metadata": {"name": "a", "labels": {}}, "spec": {"count": 2}}]}),
        (7, {"b": ["x"]}),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1",
        "a: *x",
        "a: !!int 1",
        "{a: 1, <<: {b: 2}}",
        "{a: 1, a: 2}",
        "{1: 2}",
        "{[a]: 2}",
        "a: .inf",
        'a: "\\ud800"',
        "[" * (MAX_DEPTH + 1),
        "a: [",
        "1_0e_: 9" * 2,
    ],
)
def test_unusual_yaml_is_left_to_the_full_parser(text: str) -> None:
    assert built(text) is None


def test_more_values_than_the_limit_are_left_to_all_of_yaml() -> None:
    assert plain_documents(full._Loader("[a, b, c]"), MAX_DEPTH, 3, None) is None


def test_progress_is_told_in_characters_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.yaml_text.events._EVENTS", 10)
    told: list[int] = []

    list(documents("x.yaml", "- a\n" * 99 + "- [a]\n", told.append))

    assert told == sorted(told)
    assert len(told) == 10
    assert 0 <= told[0] < told[-1] <= 400
