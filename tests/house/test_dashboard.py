"""The Grafana dashboard is one that Grafana reads: its parts are those of the schema that Grafana publishes.

The schema comes as the classes of Grafana's foundation SDK. A class reads the fields that it has and drops
all others, so what is lost on the way through it is what Grafana does not know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

FILE = Path(__file__).parents[2] / "deploy/manifests/monitoring/grafana/tangram.json"
DASHBOARD: dict[str, Any] = json.loads(FILE.read_text())
TITLES = [panel["title"] for panel in DASHBOARD["panels"]]


def known_to_grafana(dashboard: dict[str, Any]) -> Dashboard:
    register_default_plugins()
    return Dashboard.from_json(deepcopy(dashboard))


def lost(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield the places whose value the classes dropped or changed. What they add are their defaults."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from lost(value, after.get(key), f"{path}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from lost(one, other, f"{path}/{number}")
    elif before != after:
        yield path


def unknown_to_grafana(dashboard: dict[str, Any]) -> list[str]:
    return list(lost(dashboard, json.loads(JSONEncoder().encode(known_to_grafana(dashboard)))))


def wrong_words(part: object, path: str = "") -> Iterator[str]:
    """Yield the places whose value is none of the words that Grafana knows there."""
    if isinstance(part, list):
        for number, one in enumerate(part):
            yield from wrong_words(one, f"{path}/{number}")
    if not type(part).__module__.startswith("grafana_foundation_sdk.models"):
        return
    for name, hint in get_type_hints(type(part)).items():
        value = getattr(part, name, None)
        kinds = [one for one in (hint, *get_args(hint)) if isinstance(one, type) and issubclass(one, Enum)]
        if kinds and value is not None and not any(value in [word.value for word in one] for one in kinds):
            yield f"{path}/{name}"
        yield from wrong_words(value, f"{path}/{name}")


def test_grafana_knows_every_field_of_the_dashboard() -> None:
    assert unknown_to_grafana(DASHBOARD) == []


def test_every_word_of_the_dashboard_is_one_that_grafana_knows() -> None:
    assert list(wrong_words(known_to_grafana(DASHBOARD))) == []


@pytest.mark.parametrize("number", range(len(TITLES)), ids=TITLES)
def test_grafana_knows_the_type_the_options_and_the_queries_of_a_panel(number: int) -> None:
    panel = known_to_grafana(DASHBOARD).panels[number]
    if not isinstance(panel, Panel):
        assert DASHBOARD["panels"][number]["type"] == "row"
        return

    assert type(panel.options).__module__ == f"grafana_foundation_sdk.models.{panel.type_val}"
    assert {type(one).__module__ for one in panel.targets or ()} == {
        "grafana_foundation_sdk.models.prometheus"
    }


def changed(where: tuple[str | int, ...], field: str, value: object) -> dict[str, Any]:
    """Return the dashboard with another value at one place."""
    dashboard = deepcopy(DASHBOARD)
    part: Any = dashboard
    for key in where:
        part = part[key]
    part[field] = value
    return dashboard


@pytest.mark.parametrize(
    ("where", "field"),
    [
        ((), "pannels"),
        (("panels", 1), "colour"),
        (("panels", 1, "options"), "colourMode"),
        (("panels", 1, "targets", 0), "expression"),
        (("templating", "list", 1), "values"),
    ],
)
def test_a_field_that_grafana_does_not_know_would_be_found(where: tuple[str | int, ...], field: str) -> None:
    wrong = changed(where, field, "x")

    assert unknown_to_grafana(wrong) == ["/".join(("", *map(str, where), field))]


@pytest.mark.parametrize(
    ("where", "field"),
    [
        (("panels", 1, "options"), "colorMode"),
        (("panels", 8, "options", "legend"), "displayMode"),
        (("panels", 1, "targets", 0), "format"),
    ],
)
def test_a_word_that_grafana_does_not_know_would_be_found(where: tuple[str | int, ...], field: str) -> None:
    assert len(list(wrong_words(known_to_grafana(changed(where, field, "colourful"))))) == 1
