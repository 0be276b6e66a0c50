"""Whatever is written in a file, a command answers or says in one message what is wrong with it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mistaken_input import CASES, CONFIGURED, DRIVER, FILES, QUESTION, mutated

SEEDS = st.integers(0, 2**48)
MUTATIONS = settings(
    max_examples=int(os.environ.get("TANGRAM_MUTATIONS", "100")),  # 500 and more now and then
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def check(answer: Any, *allowed: int) -> None:
    """An answer, or one message and nothing changed."""
    assert "Traceback" not in answer.err
    assert answer.status in (*allowed, 2), answer.err
    said = [line for line in answer.err.splitlines() if "is left out" not in line]
    assert len(said) == (answer.status == 2), answer.err
    for line in said:
        assert line.startswith(("tangram: ", '{"error": '))
        assert not any(word in line for word in UNCLEAR), line


UNCLEAR = ("object is not", "object has no", "KeyError", "NoneType", "unhashable", "not subscriptable")
"""What Python says to a programmer, and what nobody else can use."""


def test_without_a_mistake_the_claims_fit(tangram, tmp_path):
    path = tmp_path / "input.json"
    path.write_text(json.dumps(QUESTION))

    allocated = tangram("allocate", "-f", written(tmp_path, FILES))
    timed = tangram("bench", "--json", "--input", path)

    assert allocated.status == timed.status == 0
    assert timed.json["fits"] == ["n"]


@pytest.mark.parametrize("command", ["allocate", "explain"])
@MUTATIONS
@given(seed=SEEDS)
def test_files_with_mistakes_are_answered_or_told_in_one_message(tangram, tmp_path, command, seed):
    chance = Random(seed)
    documents = mutated(FILES, chance)
    path = written(tmp_path, documents if isinstance(documents, list) else [documents])

    answer = tangram(command, "-f", path, *chance.choice([[], ["--json"]]))

    check(answer, 0, 1)


@MUTATIONS
@given(seed=SEEDS)
def test_files_with_mistakes_are_judged_or_told_in_one_message(tangram, tmp_path, seed):
    chance = Random(seed)
    documents = mutated([*FILES, *CONFIGURED], chance)
    path = written(tmp_path, documents if isinstance(documents, list) else [documents])

    answer = tangram("validate", "-f", path, "--driver-name", DRIVER, *chance.choice([[], ["--json"]]))

    assert "Traceback" not in answer.err
    assert answer.status in (0, 2)
    assert (answer.out == "") == (len(answer.err.splitlines()) == 1), "findings, or why no file can be read"
    assert not any(word in answer.out + answer.err for word in UNCLEAR), answer.out + answer.err


@MUTATIONS
@given(seed=SEEDS)
def test_inputs_with_mistakes_are_answered_or_told_in_one_message(tangram, tmp_path, seed):
    path = tmp_path / "input.json"
    path.write_text(json.dumps(mutated(QUESTION, Random(seed))))

    answer = tangram("bench", "--json", "--limit", "5", "--input", path)

    check(answer, 0)


@MUTATIONS
@given(seed=SEEDS)
def test_cases_with_mistakes_are_judged_or_told_in_one_message(tangram, tmp_path, seed):
    chance = Random(seed)
    path = tmp_path / "case.json"
    path.write_text(json.dumps(mutated(chance.choice(CASES), chance)))

    answer = tangram("conformance", path)

    check(answer, 0, 1, 3)
    assert not any(word in answer.out for word in UNCLEAR), answer.out


@MUTATIONS
@given(seed=SEEDS)
def test_damaged_text_is_answered_or_told_in_one_message(tangram, tmp_path, seed):
    chance = Random(seed)
    path = written(tmp_path, FILES)
    text = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 5)):
        place = chance.randrange(len(text))
        text[place : place + chance.randint(0, 3)] = chance.choice(
            [b"", b"\x00", b"\xff", b"{", b"&a *a", b"\n- "]
        )
    path.write_bytes(bytes(text))

    answer = tangram("allocate", "-f", path)

    check(answer, 0, 1)


def written(folder: Path, documents: list[Any]) -> Path:
    """Write documents as a YAML stream of JSON texts."""
    path = folder / "objects.yaml"
    path.write_text("\n---\n".join(json.dumps(document) for document in documents))
    return path
