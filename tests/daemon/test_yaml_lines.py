"""What is built line by line is what a parser of YAML gives, or it is left to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from daemon.document import MAX_DEPTH, NotReadable
from daemon.documents import documents
from daemon.yaml_text import full
from daemon.yaml_text.lines import documents_of_lines
from daemon.yaml_text.unusual import Unusual
from daemon.yaml_text.words import word

PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
WORDS = st.sampled_from(
    [
        "yes",
        "Off",
        "NULL",
        "~",
        "<<",
        "=",
        "---",
        "...",
        "0x1f",
        "1_000",
        "012",
        "1:30",
        "40Gi",
        "1e3",
        "1.5e+3",
        ".inf",
        "-.inf",
        "-5",
        "+5",
        "0o7",
        "0b1",
        "2024-01-01",
        "1g.5gb",
        "0000:3b:00.0",
        "a#b",
        "'",
        '"',
        "'a'",
        '"a"',
        '"a',
        '"',
        "'a''b'",
        "{}",
        "[]",
        "[a]",
        "&x",
        "*x",
        "!t",
        "|",
        ">-",
        "a:",
    ]
) | st.sampled_from(["a: b", "a #b", "- a"])
SCALARS = WORDS | PRINTABLE | st.sampled_from(["a", "b", "1", "true", ""])
KEYS = st.sampled_from(["a", "b", "c", "k8s.io/x", "'q'", '"q"', "1", "yes", "<<", "a b", "é", ""])
INDENTS = st.sampled_from(["", "", "  ", "  ", "    ", "      ", " "])
LINES = st.one_of(
    st.builds("{}{}{}: {}".format, INDENTS, st.sampled_from(["", "", "- ", "- - "]), KEYS, SCALARS),
    st.builds("{}{}{}:".format, INDENTS, st.sampled_from(["", "", "- "]), KEYS),
    st.builds("{}- {}".format, INDENTS, SCALARS),
    st.sampled_from(["---", "", "# c", "  # c", "...", "%YAML 1.1", "-", "  ", "\t", "a: b\r"]),
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | PRINTABLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PRINTABLE, inner, max_size=3),
    max_leaves=12,
)


def of_lines(text: str) -> list[tuple[int, str]] | None:
    built = documents_of_lines(text, MAX_DEPTH)
    return None if built is None else [(one.line, repr(one.content)) for one in built]


def of_a_parser(text: str) -> list[tuple[int, str]]:
    return [(int(one.place.partition(":")[2]), repr(one.content)) for one in full.documents("x", text)]


def judged(reader: Callable[[str], Any], text: str) -> str:
    try:
        return repr(reader(text))
    except Unusual:
        return "unusual"


def agree(text: str) -> bool:
    found = of_lines(text)
    return found is None or found == of_a_parser(text)


@given(lines=st.lists(LINES, max_size=8))
def test_any_lines_mean_what_they_mean_to_a_parser_or_are_left_to_it(lines: list[str]) -> None:
    assert agree("\n".join(lines))


@given(values=st.lists(PLAIN, min_size=1, max_size=3), flow=st.sampled_from([None, False]))
def test_whatever_is_written_is_read_as_it_was_or_left_to_a_parser(
    values: list[Any], flow: bool | None
) -> None:
    assert agree(yaml.safe_dump_all(values, default_flow_style=flow))


@given(text=st.text(st.characters(max_codepoint=0x2030), max_size=6))
def test_a_line_with_any_letters_means_what_it_means_to_a_parser_or_is_left_to_it(text: str) -> None:
    for line in (f"a: {text}", f"- {text}", f"{text}: a", text):
        assert agree(line)


@given(text=st.from_regex("[-+.0-9A-Fa-fxXobeE_:]{1,7}", fullmatch=True) | WORDS | PRINTABLE.filter(bool))
def test_a_word_has_the_value_that_a_parser_gives_it(text: str) -> None:
    assert judged(word, text) == judged(full.plain_scalar, text)


def test_a_list_of_an_api_server_is_read_without_a_parser() -> None:
    text = (
        "# c\nkind: List\nitems:\n- metadata:\n    name: a\n    labels: {}\n"
        "  spec:\n    ports: []\n    count: 2\n- b: 'x: y'\n\n---\n---\n- \"1\"\n- 40Gi\n"
    )

    assert [(one.line, one.content) for one in documents_of_lines(text, MAX_DEPTH) or ()] == [
        (
            2,
            {
                "kind": "List",
                "items": [
                    {"metadata": {"name": "a", "labels": {}}, "spec": {"ports": [], "count": 2}},
                    {"b": "x: y"},
                ],
            },
        ),
        (14, ["1", "40Gi"]),
    ]


def test_the_same_line_twice_gives_two_collections() -> None:
    (built,) = documents_of_lines("a:\n  c: {}\nb:\n  c: {}\n", MAX_DEPTH) or ()

    assert built.content["a"]["c"] is not built.content["b"]["c"]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1",
        "a: *x",
        "a: !!int 1",
        "a: [b]",
        "a: |\n  b",
        'a: "\\ud800"',
        "a: 'b''c'",
        "a: 1 # c",
        "a: 1\na: 2",
        "- a: 1\n  a: 2",
        "1: 2",
        "yes: 2",
        "<<: {}",
        "a: <<",
        "a: .inf",
        "a: b\n  c: d",
        "a: b\n  - c",
        "a:\n  - b\n - c",
        "a:\n    b: 1\n  c: 2",
        "- a\nb: 1",
        "a: b: c",
        "a: b:",
        "a: é",
        "a: \x01",
        "a:\tb",
        "a: b\r\n",
        "a",
        "a: " + "9" * 2000,
        "".join(f"{' ' * depth}a:\n" for depth in range(MAX_DEPTH + 1)),
    ],
)
def test_anything_unusual_is_left_to_a_parser(text: str) -> None:
    assert documents_of_lines(text, MAX_DEPTH) is None


def test_more_values_than_the_limit_are_refused_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.documents.MAX_VALUES", 6)

    assert [one.content for one in documents("x.yaml", "- a\n- b\n- c\n- d\n- e\n")] == [list("abcde")]
    with pytest.raises(NotReadable, match=r"^x\.yaml:2: is nested or repeated beyond 6 values$"):
        list(documents("x.yaml", "\n- a\n- b\n- c\n- d\n- e\n- f\n"))


def test_progress_is_told_in_characters_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.yaml_text.lines._PIECE", 40)
    told: list[int] = []

    (document,) = documents("x.yaml", "- a\n" * 100, told.append)

    assert document.content == ["a"] * 100
    assert told == [44 * one for one in range(1, 10)]
