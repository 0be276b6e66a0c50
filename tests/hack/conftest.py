"""The developers' programs are no package: they import each other from their own folder."""

import sys
from pathlib import Path

HACK = Path(__file__).parents[2] / "hack"
sys.path[:0] = [str(HACK), str(HACK / "cluster")]
