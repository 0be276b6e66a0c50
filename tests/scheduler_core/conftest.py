"""What the core's tests share: the KEP's own YAML."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

KEP = Path(__file__).parent.parent / "data" / "kep-4815"


@pytest.fixture
def kep() -> Callable[[str], Any]:
    """Read one of the KEP's YAML blocks by name."""
    return lambda name: yaml.safe_load((KEP / f"{name}.yaml").read_text())


@pytest.fixture
def kep_text() -> Callable[[str], str]:
    """Return one of the KEP's YAML blocks as text, for those that are not plain YAML."""
    return lambda name: (KEP / f"{name}.yaml").read_text()
