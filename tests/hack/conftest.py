"""The developers' programs are no package: they import each other from their own folder."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HACK = ROOT / "hack"
sys.path[:0] = [str(HACK), str(HACK / "cluster")]


@pytest.fixture(scope="module")
def program():
    """Return a function from a program's name to its path: a built one, since building takes minutes."""
    tools = Path(os.environ.get("TANGRAM_TOOLS") or ROOT / ".tangram/tools")
    found = {"kubectl": tools / "kubernetes-1.37/kubectl", "helm": tools / "helm/helm"}
    for name, path in found.items():
        if not path.exists():
            pytest.skip(f"needs {name}: make cluster-tools builds one")
    return lambda name: str(found[name])
