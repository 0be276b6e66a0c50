"""A property is tried with the same examples in each run, whatever a worker has loaded before."""

from __future__ import annotations

import pytest
from hypothesis.internal.conjecture import providers


def test_no_example_is_made_of_the_constants_of_loaded_modules(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--hypothesis-profile") == "explore":
        pytest.skip("explorers try everything")

    assert len(providers._get_local_constants()) == 0
