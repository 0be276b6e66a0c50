"""Connections to a real API server are cut around each write of a placement: all pods are served, once."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from controlled_server import Controlled, controlling, eventually
from controlled_server.cutting_proxy import Cut, cutting_proxy
from real_api import RealApi
from scripted_api import write_kubeconfig

pytestmark = pytest.mark.cluster
PODS = [f"p{number}" for number in range(8)]


@pytest.mark.parametrize("where", list(Cut), ids=lambda where: str(where.name))
@pytest.mark.timeout(150)
def test_every_pod_has_its_devices_once_though_connections_were_cut(
    api_server: RealApi, controlled: Controlled, tmp_path: Path, where: Cut
) -> None:
    for name in PODS:
        controlled.ask(name)
    numbers = count()

    def cut(method: str, path: str) -> Cut | None:
        is_write = method in ("PUT", "PATCH") and ("resourceclaims" in path or "pods" in path)
        return where if is_write and next(numbers) % 3 == 0 else None

    with cutting_proxy(api_server) as proxy:
        proxy.cut = cut
        kubeconfig = write_kubeconfig(tmp_path / "through", proxy.address, {}, {})
        with controlling(kubeconfig, tmp_path / "log"):
            eventually(lambda: not controlled.gated(), "all gates are gone", within_s=120)
            held = controlled.holders()
    assert sorted(held.values()) == [(name,) for name in PODS]
    assert controlled.double_gpus() == {}
    assert next(numbers) > 2 * len(PODS)
