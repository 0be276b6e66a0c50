"""Whatever claims come and go on a node whose plugin works: nothing is ever found there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from devices_of_kinds import ON_DEMAND, VF_ON_DEMAND
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plugin.base.errors import PluginError

DEVICES = (
    "gpu-0",
    "gpu-0-mig-1g-5gb-0",
    "gpu-0-mig-3g-20gb-4-7",
    "gpu-0-mig-7g-40gb-0-7",
    "gpu-1",
    "gpu-1-mig-2g-10gb-2-3",
)
CALLS = st.lists(
    st.tuples(st.sampled_from(["u1", "u2", "u3"]), st.sampled_from((None, *DEVICES))), min_size=1, max_size=6
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=CALLS)
def test_no_sequence_of_prepare_and_unprepare_leaves_a_finding(idle: Any, calls: list[Any]) -> None:
    with idle.served():
        for uid, device in calls:
            if device is None:
                idle.unprepare(uid)
                continue
            with suppress(PluginError):  # another claim has it
                idle.prepare(uid, device)
        assert idle.found() == []
        for uid in ("u1", "u2", "u3"):
            idle.unprepare(uid)
        assert idle.found() == []


def test_no_sequence_of_vfs_on_demand_leaves_a_finding(site_of: Callable[[str], Any]) -> None:
    site = site_of("a30x4")
    site.with_options(vfs=ON_DEMAND)
    with site.served():
        site.prepare("u1", VF_ON_DEMAND)
        assert site.found() == []
        site.unprepare("u1")
        assert site.found() == []
