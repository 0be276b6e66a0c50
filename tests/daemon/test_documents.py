"""Plain documents, whatever the text: every other outcome is one error with a place."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from daemon.document import MAX_BYTES, MAX_VALUES, NotReadable
from daemon.documents import _without_duplicates, decode, documents, json_document, read_bytes

TEN = ", ".join
ALIASES = "\n".join(
    ["a0: &a0 [x]", *(f"a{level}: &a{level} [{TEN([f'*a{level - 1}'] * 10)}]" for level in range(1, 12))]
)
MERGES = "\n".join(
    [
        "a0: &a0 {k: v}",
        *(f"a{level}: &a{level} {{<<: [{TEN([f'*a{level - 1}'] * 10)}]}}" for level in range(1, 12)),
    ]
)
HOSTILE = {
    "a number that is none": ("d: !!int abc", "x.yaml:1:4: is not YAML: invalid literal"),
    "a date that is none": ("d: !!timestamp 2024-99-99", "x.yaml:1:4: is not YAML"),
    "a word for a truth value": ("d: !!bool perhaps", "x.yaml:1:4: is not YAML"),
    "lists within lists": ("[" * 5000, "x.yaml:1: nested deeper than 64 levels"),
    "lists within lists, closed": ("[" * 300_000 + "]" * 300_000, "nested deeper than 64 levels"),
    "dashes within dashes": ("- " * 300_000, "nested deeper than 64 levels"),
    "aliases that unfold": (ALIASES, "repeated beyond 2000000 values"),
    "a value that contains itself": ("a: &a {b: *a}", "recursive"),
    "a merged key that is no string": ("{<<: {1: 2}}", "a key must be a string"),
    "a number for a key": (
        "a:\n  79: b",
        "x.yaml:2:3: is not YAML: a key must be a string: write '79', with the",
    ),
    "a list for a key": ("{!!str [a]: b}", "a key must be a string"),
    "a number with too many digits": ("d: " + "9" * 5000, "a number has more than 1024 characters"),
    "a number in base 60 without end": ("d: 1" + ":1" * 100_000, "a number has more than 1024 characters"),
    "infinity": ("d: .inf", "x.yaml:1: inf is no value of JSON"),
    "an object of a language": ("!!python/object:os.system x", "could not determine a constructor"),
    "an alias of nothing": ("a: *b", "undefined alias"),
    "a number that is merged": ("{<<: 1}", "only a mapping, or a list of mappings, can be merged"),
    "a large mapping that is merged into each of many": (
        "a: &a {" + ", ".join(f"k{index}: 0" for index in range(1000)) + "}\n"
        "b: [" + ", ".join(["{<<: *a}"] * 1000) + "]",
        "more than 100000 keys are merged",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_text_is_one_error_with_its_place(what: str) -> None:
    text, message = HOSTILE[what]

    with pytest.raises(NotReadable) as refusal:
        list(documents("x.yaml", text))

    assert message in str(refusal.value)
    assert refusal.value.place.startswith("x.yaml")


def test_what_looks_like_a_date_is_text() -> None:
    (document,) = documents("x.yaml", "d: 2024-99-99")

    assert document.content == {"d": "2024-99-99"}


def test_merging_overrides_and_never_piles_up() -> None:
    (simple,) = documents("x.yaml", "{<<: [{a: 1, b: 1}, {a: 2, c: 2}], b: 3}")
    (piled,) = documents("x.yaml", MERGES)

    assert simple.content == {"a": 1, "b": 3, "c": 2}
    assert isinstance(piled.content, dict)
    assert piled.content["a11"] == {"k": "v"}


def test_deep_json_is_told_like_deep_yaml() -> None:
    with pytest.raises(NotReadable, match="nested deeper than 64 levels"):
        list(documents("x.json", "[" * 300_000))


def test_documents_are_told_apart_by_their_line_and_empty_ones_are_left_out() -> None:
    found = list(documents("x.yaml", "a: 1\n---\n---\n- 2\n"))

    assert [(document.place, document.content) for document in found] == [
        ("x.yaml:1", {"a": 1}),
        ("x.yaml:4", [2]),
    ]


def test_bytes_have_a_bound_and_an_encoding() -> None:
    with pytest.raises(NotReadable, match="x: is larger than 64 MiB"):
        decode("x", bytes(MAX_BYTES + 1))
    with pytest.raises(NotReadable, match="x: is not UTF-8 text: byte 1"):
        decode("x", b"a\xff")


@pytest.mark.parametrize(
    "text", ['{"a": "\\ud800"}', '{"\\udfff": 1}', '[{"a": {"b": ["x\\ud800y"]}}]', '"\\udc00\\ud800"']
)
def test_half_of_a_surrogate_pair_is_one_error_with_its_place(text: str) -> None:
    with pytest.raises(NotReadable, match=r"x\.json: .* is half of a surrogate pair") as refusal:
        list(documents("x.json", text))

    str(refusal.value).encode()


def test_a_whole_surrogate_pair_is_one_character() -> None:
    (document,) = documents("x.json", '{"a": "\\ud83d\\ude00"}')

    assert document.content == {"a": "\N{GRINNING FACE}"}


def test_a_key_that_is_doubled_after_20000_others_is_found_by_looking_at_each_once() -> None:
    looks = 0

    class Key(str):
        __slots__ = ()

        def __hash__(self) -> int:
            nonlocal looks
            looks += 1
            return super().__hash__()

    pairs = [(Key(f"k{index}"), index) for index in range(20_000)]

    with pytest.raises(ValueError, match="'k19999' comes twice"):
        _without_duplicates([*pairs, (Key("k19999"), 0)])

    assert looks <= 3 * len(pairs)


def test_a_merge_of_a_mapping_into_itself_ends() -> None:
    (document,) = documents("x.yaml", "a: &a {<<: *a, b: 1}")

    assert document.content == {"a": {"b": 1}}


def test_a_pipe_that_nobody_writes_to_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")

    with pytest.raises(OSError, match="a pipe that nobody writes to"):
        read_bytes(tmp_path / "pipe.yaml")


def test_a_pipe_is_read_to_its_end_however_its_writer_takes_turns() -> None:
    reader, writer = os.pipe()
    first = threading.Event()

    def write() -> None:
        first.wait()
        with open(writer, "wb") as file:
            file.write(b"a: 1\n")
            file.flush()
            file.write(b"b: 2\n" * 100_000)

    thread = threading.Thread(target=write)
    thread.start()
    first.set()
    found = read_bytes(Path(f"/dev/fd/{reader}"))
    thread.join()
    os.close(reader)

    assert found == b"a: 1\n" + b"b: 2\n" * 100_000


def test_a_file_without_end_is_read_to_the_limit() -> None:
    assert len(read_bytes(Path("/dev/zero"))) == MAX_BYTES + 1


def test_json_has_as_many_values_as_its_text_says() -> None:
    text = f"[{'0,' * MAX_VALUES}0]"

    assert len(json_document("slices.json", text).content) == MAX_VALUES + 1
