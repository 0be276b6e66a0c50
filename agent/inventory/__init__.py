"""What is on this node: discover it, name it, describe it. No adapter is named here."""

from agent.inventory.describe import as_mode_allows, describe
from agent.inventory.discover import discover
from agent.inventory.offered import offered
from scheduler_core.model.names import DEFAULT_DRIVER

__all__ = ["DEFAULT_DRIVER", "as_mode_allows", "describe", "discover", "offered"]
