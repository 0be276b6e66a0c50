"""What is on this node: discover it, name it, describe it. No adapter is named here."""

from agent.inventory.describe import DEFAULT_DRIVER, as_mode_allows, describe
from agent.inventory.discover import discover
from agent.inventory.offered import offered

__all__ = ["DEFAULT_DRIVER", "as_mode_allows", "describe", "discover", "offered"]
