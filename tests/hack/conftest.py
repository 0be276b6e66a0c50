"""The developers' programs are no package: they import each other from their own folder."""

import os
import sys
from pathlib import Path

import needs
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
            needs.fail_or_skip(needs.CLUSTER_PROGRAMS, f"there is no {name}")
    return lambda name: str(found[name])


@pytest.fixture
def machine(tmp_path):
    """A simulated machine where the campaign of chaos looks for it."""
    from chaos.documents import MACHINE  # noqa: PLC0415 - found by the path that is set above

    from agent.hardware.simulated import SimulatedMachine, load_node  # noqa: PLC0415

    return SimulatedMachine.open(load_node("dgx-a100"), tmp_path / MACHINE.lstrip("/"))


@pytest.fixture
def side(machine, tmp_path):
    """The campaign's side of a node, with its folder of locks."""
    from chaos.node_side import NodeSide  # noqa: PLC0415

    found = NodeSide(tmp_path, tmp_path / "containerd")
    found.prepare()
    return found
