"""What we know of a shelf, whatever order its news arrives in."""

from __future__ import annotations

import pytest

from agent.publishing.known import Known
from agent.publishing.ports import Gone, Interrupted, Listed, Stored


def one(name="a", version=1, uid="u"):
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}}


@pytest.fixture
def known():
    fresh = Known()
    fresh.hear(Listed((one(version=3),)))
    return fresh


def test_the_first_list_is_news_even_when_it_is_empty():
    known = Known()
    assert not known.is_listed

    assert known.hear(Listed(()))

    assert known.is_listed


def test_our_own_write_is_no_news_when_the_watch_tells_of_it(known):
    known.wrote(one(version=5))

    assert not known.hear(Stored(one(version=5)))


def test_an_older_version_that_comes_late_changes_nothing(known):
    known.wrote(one(version=5))

    assert not known.hear(Stored(one(version=4)))

    assert known.documents() == (one(version=5),)


def test_what_somebody_else_wrote_is_news(known):
    assert known.hear(Stored(one(version=4)))


def test_what_we_deleted_stays_deleted_however_late_its_life_is_told(known):
    known.deleted("a", "u")

    assert not known.hear(Stored(one(version=9)))
    assert not known.hear(Gone(one(version=10)))

    assert known.documents() == ()


def test_the_end_of_an_object_does_not_end_the_one_that_took_its_name(known):
    known.wrote(one(version=8, uid="new"))

    assert not known.hear(Gone(one(version=9)))

    assert known.documents() == (one(version=8, uid="new"),)


def test_a_new_list_replaces_what_was_known(known):
    assert known.hear(Listed((one("b"),)))

    assert known.documents() == (one("b"),)


def test_a_broken_watch_tells_nothing_of_the_objects(known):
    assert not known.hear(Interrupted("gone", 1.0))

    assert known.documents() == (one(version=3),)
