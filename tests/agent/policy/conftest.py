"""Policies as text, and the hardware that they are about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import discover
from agent.inventory.model import Inventory
from agent.policy.files import PolicyFile, parse
from agent.policy.resolution import Resolution, resolve

HEAD = "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules:\n"


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    """Two A100s."""
    return inventory_of("a100x2", tmp_path_factory)


@pytest.fixture(scope="session")
def nics(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    """Four A30s and two NICs, of which one has VFs."""
    return inventory_of("a30x4", tmp_path_factory)


@pytest.fixture(scope="session")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    """GPUs without MIG."""
    return inventory_of("l40s", tmp_path_factory)


def inventory_of(name: str, folders: pytest.TempPathFactory) -> Inventory:
    machine = SimulatedMachine.open(load_node(name), folders.mktemp(name) / "machine")
    return discover(simulated_hardware(machine).readers, "node-1")


@pytest.fixture
def policy() -> Callable[[str], PolicyFile]:
    """Return the policy with these rules."""
    return lambda rules: parse("policy.yaml", (HEAD + rules).encode())


@pytest.fixture
def resolved(policy: Callable[[str], PolicyFile], node: Inventory) -> Callable[..., Resolution]:
    """Return what these rules mean for the node."""
    return lambda rules, **labels: policy(rules).placed(lambda found: resolve(found, labels, node))


@pytest.fixture
def example() -> Path:
    """The policy of a fleet that the documents show."""
    return Path(__file__).parents[3] / "deploy/examples/policy/fleet.yaml"
