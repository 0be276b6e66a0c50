"""The fast engine: the answers of ``scheduler_core.allocate``, from tables that are kept between calls."""

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy import BEST_FIT, FIRST_FIT, best_fit

__all__ = ["BEST_FIT", "FIRST_FIT", "Engine", "best_fit"]
