"""A node that works, and a cluster that works: faults are planted into them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from node_site import NodeSite
from short_folders import short_folder


@pytest.fixture
def site_of() -> Iterator[Callable[[str], NodeSite]]:
    """Make the site of a shipped machine, with paths short enough for sockets."""
    with short_folder() as name:
        yield lambda node: NodeSite(Path(name), node)


@pytest.fixture
def idle(site_of: Callable[[str], NodeSite]) -> NodeSite:
    """Two A100s on which no plugin has run."""
    return site_of("a100x2")


@pytest.fixture
def site(idle: NodeSite) -> Iterator[NodeSite]:
    """Two A100s with a plugin that serves, and a claim for half a GPU, ``u1``."""
    with idle.served():
        idle.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
        yield idle
