"""The page about the life of a claim says what the plugin's table says."""

from __future__ import annotations

import claim_life
import pytest

from plugin.claim.states import TABLE, Event, State


def test_the_page_has_the_table_of_the_code() -> None:
    page = claim_life.PAGE.read_text(encoding="utf-8")

    assert claim_life.with_life(page, TABLE) == page


def test_another_table_is_drawn_and_the_rest_of_the_page_stays(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {**TABLE, State.ABSENT: {Event.PREPARE: State.COMPLETED}}
    page = claim_life.PAGE.read_text(encoding="utf-8")

    drawn = claim_life.with_life(page, other)

    assert "absent --> completed: prepare" in drawn
    assert "| absent | completed | · | · | · |" in drawn
    assert drawn.partition(claim_life.END)[2] == page.partition(claim_life.END)[2]
    monkeypatch.setattr(claim_life, "TABLE", other)
    assert claim_life.main(["--check"]) == 1
    assert "make claim-life" in capsys.readouterr().err


def test_every_event_of_the_table_is_in_the_picture() -> None:
    picture = "\n".join(claim_life.picture(TABLE))

    for state, following in TABLE.items():
        for event, then in following.items():
            (line,) = (line for line in picture.splitlines() if f" {state} --> {then}:" in line)
            assert event in line.partition(": ")[2].split(", ")
