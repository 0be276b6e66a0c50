"""A real API server with a namespace, and the Lease in it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from controller_server import kubeconfig_of, real_server
from real_api import RealApi

from controller.lease_api import ApiLease

Open = Callable[[], ApiLease]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealApi]:
    yield from real_server(tmp_path_factory.mktemp("real"))


@pytest.fixture
def kubeconfig(server: RealApi, tmp_path: Path) -> Path:
    return kubeconfig_of(server, tmp_path / "kubeconfig")


@pytest.fixture
def lease_name() -> str:
    return f"lease-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def open_lease(kubeconfig: Path, lease_name: str) -> Iterator[Open]:
    """Make one more client of one Lease that does not exist yet."""
    made = list[ApiLease]()

    def make() -> ApiLease:
        made.append(ApiLease.connect(kubeconfig, None, "default", lease_name, 5.0))
        return made[-1]

    yield make
    for one in made:
        one.close()
