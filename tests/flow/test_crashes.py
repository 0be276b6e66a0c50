"""A plugin process that dies at any call to the hardware, and its successor that puts things right."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from plugin.kinds.mig_partition.kind import MigPartitionKind

SMALL = "gpu-0-mig-1g-5gb-2"
HALF = "gpu-1-mig-3g-20gb-4-7"
EXPECTED = [(device, f"tangram.dev/claim=u1-{device}") for device in (SMALL, HALF)]
MOMENTS = ("kill-before", "kill-after")
POINTS = MigPartitionKind.crash_points
PREPARING = tuple(call.replace("_", "-") for call in POINTS.setting_up)
UNDOING = tuple(call.replace("_", "-") for call in POINTS.taking_down)


def deaths(calls: tuple[str, ...], gpu: str) -> list[str]:
    return [f"{gpu}:{call}:{moment}" for call in calls for moment in MOMENTS]


# On gpu-1 the claim's first partition, on gpu-0, is complete when the process dies.
@pytest.mark.parametrize("death", deaths(PREPARING, "gpu-1") + deaths(PREPARING[1:2], "gpu-0"))
def test_killed_in_prepare(site: Any, kubelet_of: Callable[..., Any], death: str) -> None:
    claim = site.allocate("u1", SMALL, HALF)
    with site.process() as process:
        site.inject(death)
        with pytest.raises(grpc.RpcError):
            kubelet_of(site).prepare(claim)
        assert process.wait() == -signal.SIGKILL

    with site.process():
        after_start = site.leftovers()
        kubelet = kubelet_of(site)
        answer = kubelet.devices(claim)
        instances = [len(site.simulated.gpus.gpu_instances(card.uuid)) for card in site.simulated.node.cards]
        kubelet.undone(claim)

    assert after_start == []
    assert answer == EXPECTED
    assert instances == [1, 1]
    assert site.leftovers() == []


@pytest.mark.parametrize("death", deaths(UNDOING, "gpu-0") + deaths(UNDOING[1:2], "gpu-1"))
def test_killed_in_unprepare(site: Any, kubelet_of: Callable[..., Any], death: str) -> None:
    claim = site.allocate("u1", SMALL, HALF)
    with site.process() as process:
        kubelet_of(site).devices(claim)
        site.inject(death)
        with pytest.raises(grpc.RpcError):
            kubelet_of(site).unprepare(claim)
        assert process.wait() == -signal.SIGKILL

    with site.process():
        after_start = site.leftovers()
        kubelet_of(site).undone(claim)
        answer = kubelet_of(site).devices(claim)
        kubelet_of(site).undone(claim)

    assert after_start == []
    assert answer == EXPECTED
    assert site.leftovers() == []


def test_killed_while_it_makes_an_instance_again(site: Any, kubelet_of: Callable[..., Any]) -> None:
    claim = site.allocate("u1", SMALL, HALF)
    gpus = site.simulated.gpus
    with site.process() as process:
        kubelet_of(site).devices(claim)
        (kept,) = gpus.gpu_instances(site.simulated.node.cards[0].uuid)
        (lost,) = gpus.gpu_instances(site.simulated.node.cards[1].uuid)
        gpus.destroy_compute_instance(lost.parent, lost.gi_id, 0)
        gpus.destroy_gpu_instance(lost.parent, lost.gi_id)
        site.inject("gpu-1:create-gpu-instance:kill-after")
        with pytest.raises(grpc.RpcError):
            kubelet_of(site).prepare(claim)
        assert process.wait() == -signal.SIGKILL

    with site.process():
        answer = kubelet_of(site).devices(claim)
        after = gpus.gpu_instances(kept.parent), gpus.gpu_instances(lost.parent)
        kubelet_of(site).undone(claim)

    assert answer == EXPECTED
    assert after[0] == (kept,)
    assert len(after[1]) == 1
    assert site.leftovers() == []
