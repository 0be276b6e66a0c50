"""The policies by which commands allocate, by the names that people give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.engine.policy.policies import FIRST_FIT as FIRST_FIT_POLICY
from scheduler_core.engine.policy.policies import Policy, best_fit
from tangram.face import Parser

BEST_FIT: Final = "best-fit"
FIRST_FIT: Final = "first-fit"
POLICIES: Final[Mapping[str, Policy]] = {BEST_FIT: best_fit(), FIRST_FIT: FIRST_FIT_POLICY}


def add_policy(parser: Parser, purpose: str = "") -> None:
    """Add the option that says how devices are chosen. Shape: ``purpose`` begins its help."""
    parser.add_argument(
        "--policy",
        choices=tuple(POLICIES),
        default=BEST_FIT,
        help=f"{purpose}best-fit (default) keeps the most future claims possible; first-fit takes the first "
        "devices in listed order, as kube-scheduler does",
    )
