"""The table of keys as people read it."""

from pathlib import Path

import pytest

from scheduler_core.frontends.classes.keys import AS_PUBLISHED, KEYS, KIND, KINDS

TEXT = (Path(__file__).parents[4] / "docs" / "resource-classes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", [KIND, *AS_PUBLISHED, *(row.key for row in KEYS)])
def test_every_key_has_a_row_in_the_documentation(key):
    assert f"\n| `{key}` | " in TEXT


@pytest.mark.parametrize("row", KEYS, ids=lambda row: row.key)
def test_the_row_of_a_key_names_its_attribute_and_unit(row):
    (line,) = (line for line in TEXT.splitlines() if line.startswith(f"| `{row.key}` |"))

    assert f"`{row.attribute}`" in line
    assert line.endswith(f"| `{row.unit}` |" if row.unit else "| |")


@pytest.mark.parametrize("row", KINDS, ids=lambda row: row.kind)
def test_every_kind_has_a_row_with_its_type_and_what_must_be_beside(row):
    (line,) = (line for line in TEXT.splitlines() if line.startswith(f"| `{row.kind}` |"))

    assert f"`type` is `{row.type}`" in line
    assert row.required is None or f"`{row.required}` is there" in line
