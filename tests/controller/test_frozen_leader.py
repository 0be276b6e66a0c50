"""A leader is frozen with writes in hand, another one takes over, the writes come late: no harm is done."""

from __future__ import annotations

import signal
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from controlled_server import Controlled, controlling, eventually
from controlled_server.cutting_proxy import Cut, cutting_proxy
from controller_server import kubeconfig_of
from real_api import RealApi
from scripted_api import write_kubeconfig

pytestmark = pytest.mark.cluster
_PODS = [f"p{number}" for number in range(8)]
_HOUR_S = 3600
_PASSED = 3


def allocated_at(controlled: Controlled) -> dict[str, datetime]:
    """Return when each claim was allocated, by the clock of who did it."""
    found = {
        name: (one.get("status") or {}).get("allocation")
        for name, one in controlled.all_of("ResourceClaim").items()
    }
    return {name: datetime.fromisoformat(one["allocationTimestamp"]) for name, one in found.items() if one}


@pytest.mark.timeout(180)
def test_allocations_that_a_frozen_leader_has_sent_come_too_late_where_clocks_are_an_hour_apart(
    api_server: RealApi, controlled: Controlled, tmp_path: Path
) -> None:
    for name in _PODS:
        controlled.ask(name)
    numbers, is_held, may_pass = count(), Event(), Event()

    def cut(method: str, path: str) -> Cut | None:
        is_allocation = method == "PUT" and "resourceclaims" in path and path.endswith("/status")
        if is_allocation and next(numbers) >= _PASSED:
            is_held.set()
            may_pass.wait(120)
        return None

    direct = kubeconfig_of(api_server, tmp_path / "direct")
    log = tmp_path / "first"
    with cutting_proxy(api_server) as proxy:
        proxy.cut = cut
        through = write_kubeconfig(tmp_path / "through", proxy.address, {}, {})
        with controlling(through, log, ahead_s=_HOUR_S) as first:
            eventually(lambda: "may write" in log.read_text(), "the first controller leads")
            with controlling(direct, tmp_path / "second"):
                assert is_held.wait(60)
                first.send_signal(signal.SIGSTOP)
                eventually(lambda: not controlled.gated(), "the second controller has served all pods")
                served = controlled.holders()
                may_pass.set()
                first.send_signal(signal.SIGCONT)
                eventually(lambda: "may not write any more" in log.read_text(), "the first one has noticed")
                late = "PUT resourceclaims 409"
                eventually(lambda: proxy.answered[late] > 0, "writes of the first one are refused")
                controlled.drop("Pod", _PODS[0])
                controlled.ask("more")
                eventually(lambda: not controlled.gated(), "the second controller goes on")
                at = allocated_at(controlled)
    assert sorted(served.values()) == [(name,) for name in _PODS]
    assert controlled.double_gpus() == {}
    assert {
        name: claims for name, claims in controlled.holders().items() if claims != ("more",)
    }.items() <= served.items()
    assert max(at.values()) - min(at.values()) > timedelta(seconds=_HOUR_S / 2), "both have allocated"
    assert "Traceback" not in log.read_text()
