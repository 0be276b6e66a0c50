"""Watches that end, expire, come late, double and repeat events: every pod still gets its devices, once."""

from __future__ import annotations

from pathlib import Path

import pytest
from controlled_server import Controlled, controlling, eventually
from controlled_server.cutting_proxy import cutting_proxy
from controlled_server.spoilt_watches import SpoiltWatches
from real_api import RealApi
from scripted_api import write_kubeconfig

pytestmark = pytest.mark.cluster
_ROUNDS = (("half", 8), ("gpu", 4), ("half", 8))
"""What the pods of each round ask for, and how many of them fill the two nodes."""


@pytest.mark.timeout(180)
def test_rounds_of_pods_that_fill_the_cluster_are_served_once_each(
    api_server: RealApi, controlled: Controlled, tmp_path: Path
) -> None:
    spoilt = SpoiltWatches(seed=22)
    with cutting_proxy(api_server) as proxy:
        proxy.spoil = spoilt
        kubeconfig = write_kubeconfig(tmp_path / "through", proxy.address, {}, {})
        with controlling(kubeconfig, tmp_path / "log"):
            before: list[str] = []
            for number, (kind, pods) in enumerate(_ROUNDS):
                names = [f"p{number}-{one}" for one in range(pods)]
                for name in names:
                    controlled.ask(name, kind)
                for name in before:  # the pods of this round fit when those before are gone
                    controlled.drop("Pod", name)
                eventually(lambda: not controlled.gated(), "all gates are gone")
                assert sorted(controlled.holders().values()) == sorted((name,) for name in names)
                assert controlled.double_gpus() == {}
                before = names
            for name in before:
                controlled.drop("Pod", name)
            eventually(lambda: not controlled.holders(), "all devices are given back")
    assert {"closed", "expired", "late", "doubled", "repeated"} <= spoilt.done.keys()
    assert "Traceback" not in (tmp_path / "log").read_text()
