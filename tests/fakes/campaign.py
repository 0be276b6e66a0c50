"""How long a campaign is that tries machines which answer anything."""

import os

TREES = int(os.environ.get("TANGRAM_TREES", "60"))
"""How many machines each property tries; make explore-trees sets it."""
