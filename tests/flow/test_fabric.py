"""A plugin process that dies at a call to the fabric manager, and its successor that puts things right."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from shared_nvswitch import NAME, SMALL

MOMENTS = ("kill-before", "kill-after")
EACH_DEVICE = pytest.mark.parametrize(("device", "partition"), [("gpus-0-1", 5), ("gpu-0", 11)])


@pytest.fixture
def site(folder: Path, site_of: Callable[..., Any]) -> Any:
    file = folder / f"{NAME}.yaml"
    file.write_text(SMALL)
    return site_of(str(file))


def active(site: Any) -> list[int]:
    return [one.id for one in site.simulated.fabric.partitions() if one.is_active]


@EACH_DEVICE
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_it_activates(
    site: Any, kubelet_of: Callable[..., Any], device: str, partition: int, moment: str
) -> None:
    claim = site.allocate("u1", device)
    with site.process() as process:
        site.inject(f"machine:activate-partition:{moment}")
        with pytest.raises(grpc.RpcError):
            kubelet_of(site).prepare(claim)
        assert process.wait() == -signal.SIGKILL
    assert active(site) == ([partition] if moment == "kill-after" else [])

    with site.process():
        after_start = [*active(site), *site.leftovers()]
        answer = kubelet_of(site).devices(claim)
        prepared = active(site)
        kubelet_of(site).undone(claim)

    assert after_start == []
    assert answer == [(device, f"tangram.dev/claim=u1-{device}")]
    assert prepared == [partition]
    assert [*active(site), *site.leftovers()] == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_it_deactivates(site: Any, kubelet_of: Callable[..., Any], moment: str) -> None:
    claim = site.allocate("u1", "gpus-0-1")
    with site.process() as process:
        kubelet_of(site).devices(claim)
        site.inject(f"machine:deactivate-partition:{moment}")
        with pytest.raises(grpc.RpcError):
            kubelet_of(site).unprepare(claim)
        assert process.wait() == -signal.SIGKILL

    with site.process():
        after_start = [*active(site), *site.leftovers()]
        kubelet_of(site).undone(claim)

    assert after_start == []


def test_a_running_pod_keeps_its_partition_over_a_restart(site: Any, kubelet_of: Callable[..., Any]) -> None:
    claim = site.allocate("u1", "gpus-0-1")
    with site.process():
        first = kubelet_of(site).devices(claim)

    with site.process():
        kept = active(site)
        again = kubelet_of(site).devices(claim)
        kubelet_of(site).undone(claim)

    assert kept == [5]
    assert again == first
    assert active(site) == []
