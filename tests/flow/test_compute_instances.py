"""Claims of several pods in one GPU instance, over the sockets, with a plugin that dies at any call."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import grpc
import pytest

from agent.inventory.model import SplitGpus
from plugin.kinds.mig_partition.compute_kind import ComputeInstanceKind

ONE, TWO, THREE = (f"gpu-0-mig-1c-3g-20gb-4-7-ci-{start}" for start in range(3))
MOMENTS = ("kill-before", "kill-after")
POINTS = ComputeInstanceKind.crash_points
# The second claim of a GI makes no call for the GI and none for the mode.
FIRST = tuple(call.replace("_", "-") for call in POINTS.setting_up)
LAST = tuple(call.replace("_", "-") for call in POINTS.taking_down)


@pytest.fixture
def site(site: Any) -> Any:
    site.options = replace(site.options, split=SplitGpus())
    return site


def mig_devices(site: Any) -> list[str]:
    gpus = site.simulated.gpus
    instances = [one for card in site.simulated.node.cards for one in gpus.gpu_instances(card.uuid)]
    assert len(instances) <= 1
    return [compute.uuid for instance in instances for compute in instance.compute_instances]


def test_pods_share_a_gpu_instance_until_the_last_one_ends(site: Any, kubelet: Any) -> None:
    claims = [site.allocate(f"u{number}", device) for number, device in enumerate((ONE, TWO, THREE))]

    for claim, device in zip(claims, (ONE, TWO, THREE), strict=True):
        assert kubelet.devices(claim) == [(device, f"tangram.dev/claim={claim.uid}-{device}")]
    (instance,) = site.simulated.gpus.gpu_instances(site.simulated.node.cards[0].uuid)
    kubelet.undone(claims[0])
    kubelet.undone(claims[2])
    left = mig_devices(site)
    kubelet.undone(claims[1])

    assert len(instance.compute_instances) == 3
    assert left == [instance.compute_instances[1].uuid]
    assert site.leftovers() == []


def test_calls_at_once_for_one_gpu_instance_make_one(site: Any, kubelet: Any) -> None:
    claims = [site.allocate(f"u{number}", device) for number, device in enumerate((ONE, TWO, THREE))]
    for _ in range(3):
        for deed in (kubelet.devices, kubelet.undone):
            threads = [threading.Thread(target=deed, args=(claim,)) for claim in claims]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(mig_devices(site)) == (3 if deed == kubelet.devices else 0)

    assert site.leftovers() == []


def test_the_kubelet_hears_that_its_gpu_instance_is_taken_whole(site: Any, kubelet: Any) -> None:
    whole = site.allocate("whole", "gpu-0-mig-3g-20gb-4-7")
    kubelet.devices(whole)

    claim = site.allocate("u1", TWO)
    error = kubelet.prepare(claim)["u1"].error

    assert TWO in error
    assert "claim default/claim-whole" in error


@pytest.mark.parametrize("call", FIRST)
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_it_prepares_the_first_one(
    site: Any, kubelet_of: Callable[..., Any], call: str, moment: str
) -> None:
    first, second = site.allocate("u1", ONE), site.allocate("u2", TWO)
    with site.process() as process:
        site.inject(f"gpu-0:{call}:{moment}")
        with pytest.raises(grpc.RpcError):
            kubelet_of(site).prepare(first)
        assert process.wait() == -signal.SIGKILL

    with site.process():
        assert site.leftovers() == []
        kubelet = kubelet_of(site)
        kubelet.devices(second)
        kubelet.devices(first)
        assert len(mig_devices(site)) == 2
        kubelet.undone(first)
        kubelet.undone(second)

    assert site.leftovers() == []


@pytest.mark.parametrize("deed", ["create-compute-instance", "destroy-compute-instance"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_beside_another_pods_compute_instance_that_one_lives(
    site: Any, kubelet_of: Callable[..., Any], deed: str, moment: str
) -> None:
    first, second = site.allocate("u1", ONE), site.allocate("u2", TWO)
    with site.process() as process:
        kubelet = kubelet_of(site)
        kubelet.devices(first)
        before = mig_devices(site)
        if deed.startswith("destroy"):
            kubelet.devices(second)
        site.inject(f"gpu-0:{deed}:{moment}")
        with pytest.raises(grpc.RpcError):
            (kubelet.prepare if deed.startswith("create") else kubelet.unprepare)(second)
        assert process.wait() == -signal.SIGKILL

    with site.process():
        kubelet = kubelet_of(site)
        assert mig_devices(site) == before
        kubelet.devices(second)
        assert set(before) < set(mig_devices(site))
        kubelet.undone(first)
        kubelet.undone(second)

    assert site.leftovers() == []


@pytest.mark.parametrize("call", LAST)
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_it_undoes_the_last_one(
    site: Any, kubelet_of: Callable[..., Any], call: str, moment: str
) -> None:
    first, second = site.allocate("u1", ONE), site.allocate("u2", TWO)
    with site.process() as process:
        kubelet = kubelet_of(site)
        kubelet.devices(first)
        kubelet.devices(second)
        kubelet.undone(first)
        site.inject(f"gpu-0:{call}:{moment}")
        with pytest.raises(grpc.RpcError):
            kubelet.unprepare(second)
        assert process.wait() == -signal.SIGKILL

    with site.process():
        kubelet = kubelet_of(site)
        assert site.leftovers() == []
        kubelet.undone(second)
        kubelet.devices(first)
        kubelet.undone(first)

    assert site.leftovers() == []
