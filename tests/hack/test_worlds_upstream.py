"""kube-scheduler's allocator and ours: they differ in the classes of docs/semantics.md only."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import needs
import pytest
from peer_sides import upstream
from random_claims import upstream_program
from random_worlds.answers import ANSWERS
from random_worlds.classes import UNCLASSIFIED, Sides, classified, decision
from random_worlds.decided import answers
from random_worlds.files import FOLDER, question
from worlds import worlds


@pytest.fixture(scope="module")
def theirs():
    program = upstream_program()
    if program is None:
        needs.fail_or_skip(needs.UPSTREAM)
    return upstream(program, 10)


@pytest.mark.parametrize(("name", "node"), ANSWERS)
def test_upstream_answers_the_minimal_files_as_written_down(theirs, name, node):
    asked = question(name, node)

    (answer,) = theirs([asked])

    found = decision(answer, asked)
    if isinstance(found, list):
        found = [[device for _, _, _, device, _ in devices] for devices, _ in found]
    assert found == ANSWERS[name, node][1]


def test_every_minimal_file_is_asked():
    assert {name for name, _ in ANSWERS} == {one.stem for one in FOLDER.glob("*.yaml")}


def test_every_difference_in_random_worlds_has_a_class(theirs):
    asked = list(islice(worlds(seed=37), 400))

    found = dict(classified(asked, Sides(theirs=theirs, ours=answers)))

    assert len(found) == len(asked)
    assert [name for name, label in found.items() if label == UNCLASSIFIED] == []
    assert Counter(found.values())["same"] > 300
