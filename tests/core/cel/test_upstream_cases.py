"""Expressions whose answers were read off the Go implementation of Kubernetes: see data/README.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"


def _cases() -> Iterator[Any]:
    for case in json.loads((DATA / "cel.json").read_text()):
        yield pytest.param(case, case["device"], id=f"cel.json:{case['name']}")
    library = json.loads((DATA / "cel-library.json").read_text())
    for case in library["cases"]:
        yield pytest.param(case, library["device"], id=f"cel-library.json:{case['name']}")


@pytest.mark.parametrize(("case", "device"), list(_cases()))
def test_an_expression_means_what_it_means_upstream(case, device, read_device, outcome):
    view = read_device(device)

    answer = outcome(case["expression"], view)

    ((kind, value),) = case["expect"].items()
    assert answer == (value if kind == "match" else kind), case["expression"]
