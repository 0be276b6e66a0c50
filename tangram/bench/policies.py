"""The policies by the names that people use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.engine import FIRST_FIT
from scheduler_core.engine.policy import Policy

POLICIES: Final[Mapping[str, Policy]] = {"first-fit": FIRST_FIT}
