"""``docs/doctor.md`` has every finding of the table, as the command says it."""

import pytest
from doctor_page import BEGIN, END, PAGE, with_findings

from tangram.doctor.kinds import CLUSTER_KINDS, NODE_KINDS

KINDS = (*NODE_KINDS, *CLUSTER_KINDS)


def test_the_page_says_what_the_table_says():
    page = PAGE.read_text(encoding="utf-8")

    assert with_findings(page) == page


def test_a_page_that_says_something_else_is_written_anew():
    page = f"# Title\n\n{BEGIN}outdated text\n{END}\nmore\n"

    found = with_findings(page)

    assert found.startswith(f"# Title\n\n{BEGIN}## On a node\n")
    assert found.endswith(f"{END}\nmore\n")
    assert "outdated text" not in found


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="the page has no"):
        with_findings("# Title\n")


def test_no_two_kinds_have_one_name_and_names_can_be_pasted():
    names = [one.name for one in KINDS]

    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalpha() and name.islower() for name in names)


def test_sentences_of_the_table_have_no_end_of_their_own():
    assert not [
        one.name for one in KINDS for text in (one.title, one.why, one.todo, one.fix) if text.endswith(".")
    ]
