"""The picture in the documents is of the dashboard that ships."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import dashboard_picture
import pytest


def test_the_picture_is_of_the_dashboard() -> None:
    dashboard = json.loads(dashboard_picture.DASHBOARD.read_text(encoding="utf-8"))

    drawn = dashboard_picture.picture(dashboard)

    assert dashboard_picture.PICTURE.read_text(encoding="utf-8") == drawn
    texts = [one.text for one in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    for panel in dashboard["panels"]:
        assert any(text and panel["title"] in text for text in texts), panel["title"]


def test_a_picture_of_another_dashboard_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard_picture, "picture", lambda _: "<svg/>")

    assert dashboard_picture.main(["--check"]) == 1
    assert "make dashboard-picture" in capsys.readouterr().err
