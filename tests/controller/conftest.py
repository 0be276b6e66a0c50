"""What tests of the controller share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from claims_at_server import device_class
from claims_at_server.world import World
from controlled_server import Controlled
from controller_server import kubeconfig_of, real_server
from real_api import RealApi

from kube_api import KubeApi


@pytest.fixture
def world() -> World:
    """A cluster with two nodes of two GPUs."""
    found = World()
    for kind in ("gpu", "half"):
        found.server.put("DeviceClass", device_class(kind))
    found.add_nodes("node-a", "node-b")
    found.watch()
    found.pass_time(0)
    found.pass_time(3)
    return found


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealApi]:
    """A real API server, alone."""
    yield from real_server(tmp_path_factory.mktemp("real"))


@pytest.fixture
def controlled(api_server: RealApi, tmp_path: Path) -> Iterator[Controlled]:
    """Two nodes of two GPUs at a real API server; nobody leads."""
    api = KubeApi.connect(kubeconfig_of(api_server, tmp_path / "kubeconfig"), user_agent="test")
    found = Controlled(api)
    found.prepare()
    for name in ("node-a", "node-b"):
        found.add_node(name)
    yield found
    found.clear()
    api.close()
