"""The page about metrics says what the programs' tables say."""

from __future__ import annotations

import metrics_page
import pytest

from daemon.metrics.definition import Definition


def test_the_page_has_every_metric_of_the_code() -> None:
    page = metrics_page.PAGE.read_text(encoding="utf-8")

    assert metrics_page.with_tables(page) == page


def test_a_metric_that_the_page_lacks_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Definition("counter", "Turns.", ("of", "by"))
    monkeypatch.setattr(metrics_page, "PROGRAMS", {"agent": ("tangram_agent_", {"turns_total": one})})

    drawn = metrics_page.with_tables(metrics_page.PAGE.read_text(encoding="utf-8"))

    assert "| `tangram_agent_turns_total` | counter | `of`, `by` | Turns. |\n" in drawn
    assert metrics_page.main(["--check"]) == 1
    assert "make metrics-page" in capsys.readouterr().err
