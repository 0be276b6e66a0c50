"""The health stream: complete lists, at once and on change, on threads of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from plugin._pb.dra_health_v1 import api_pb2 as v1
from plugin._pb.dra_health_v1 import api_pb2_grpc as v1_grpc
from plugin._pb.dra_health_v1alpha1 import api_pb2 as v1alpha1
from plugin._pb.dra_health_v1alpha1 import api_pb2_grpc as v1alpha1_grpc
from plugin.claim.record_store import RecordStore
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition

VERSIONS = {"v1": (v1, v1_grpc), "v1alpha1": (v1alpha1, v1alpha1_grpc)}
POLL_S = 0.02
STREAMS = 4  # how many streams a server answers at once
HEALTHY, UNHEALTHY = 1, 2


@pytest.fixture
def streams_of(site: Any, kubelet_of: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Open a health stream of a plugin that looks often; no message may take longer than a minute."""
    with site.start(health_poll_s=POLL_S):
        kubelet = kubelet_of(site)

        def opened(version: str = "v1") -> Any:
            messages, services = VERSIONS[version]
            stub = services.DRAResourceHealthStub(kubelet.channel(site.options.dra_socket))
            return stub.NodeWatchResources(messages.NodeWatchResourcesRequest(), timeout=60)

        yield opened


def told(message: Any) -> dict[str, tuple[int, str]]:
    return {
        entry.device.device_name: (entry.health, entry.message)
        for entry in message.devices
        if entry.device.pool_name == "a100x2"
    }


def destroy_instance(site: Any, name: str) -> None:
    """Somebody destroys the MIG instance of a prepared claim."""
    records = RecordStore(site.options.claims_dir).census().records
    (device,) = (one for record in records for one in record.devices if one.device == name)
    assert isinstance(device, ClaimedMigPartition)
    assert device.gi_id is not None
    assert device.ci_id is not None
    site.simulated.gpus.destroy_compute_instance(device.gpu, device.gi_id, device.ci_id)
    site.simulated.gpus.destroy_gpu_instance(device.gpu, device.gi_id)


@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
def test_a_stream_begins_with_every_device_of_the_node(
    site: Any, streams_of: Callable[..., Any], version: str
) -> None:
    first = next(streams_of(version))

    assert {"gpu-0", "gpu-1", "gpu-0-mig-3g-20gb-4-7"} <= set(told(first))
    assert {health for health, _ in told(first).values()} == {HEALTHY}
    assert {entry.health_check_timeout_seconds for entry in first.devices} == {60}


def test_a_lost_gpu_and_its_partitions_are_unhealthy_until_it_is_back(
    site: Any, streams_of: Callable[..., Any]
) -> None:
    stream = streams_of()
    before = told(next(stream))

    site.inject("gpu-0:lost")
    lost = told(next(stream))
    site.simulated.clear_faults()
    after = told(next(stream))

    assert set(lost) == set(before)
    assert {name for name, (health, _) in lost.items() if health == UNHEALTHY} == {
        name for name in before if name.startswith("gpu-0")
    }
    assert "fell off the bus" in lost["gpu-0"][1]
    assert after == before


def test_a_stream_tells_of_a_destroyed_instance_before_the_machine_is_read_again_and_of_no_other_device(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    with site.start(health_poll_s=3600.0):
        kubelet = kubelet_of(site)
        kubelet.devices(site.allocate("u1", "gpu-0-mig-3g-20gb-4-7"))
        kubelet.devices(site.allocate("u2", "gpu-0-mig-1g-5gb-2"))
        stub = v1_grpc.DRAResourceHealthStub(kubelet.channel(site.options.dra_socket))
        stream = stub.NodeWatchResources(v1.NodeWatchResourcesRequest(), timeout=60)
        before = told(next(stream))

        destroy_instance(site, "gpu-0-mig-3g-20gb-4-7")
        after = told(next(stream))

    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"gpu-0-mig-3g-20gb-4-7"}
    assert after["gpu-0-mig-3g-20gb-4-7"][0] == UNHEALTHY
    assert "there is no MIG device" in after["gpu-0-mig-3g-20gb-4-7"][1]


def test_streams_keep_no_thread_from_the_calls_for_claims(
    site: Any, streams_of: Callable[..., Any], kubelet_of: Callable[..., Any]
) -> None:
    streams = []
    for _ in range(STREAMS):  # one after another: only so many are answered at once, in no order
        streams.append(streams_of())
        next(streams[-1])
    streams += [streams_of() for _ in range(200)]

    assert kubelet_of(site).devices(site.allocate("u1", "gpu-0-mig-3g-20gb-4-7"))
    for stream in streams:
        stream.cancel()


def test_a_stream_ends_with_the_plugin(site: Any, kubelet_of: Callable[..., Any]) -> None:
    running = site.start(health_poll_s=3600.0)
    stub = v1_grpc.DRAResourceHealthStub(kubelet_of(site).channel(site.options.dra_socket))
    stream = stub.NodeWatchResources(v1.NodeWatchResourcesRequest(), timeout=60)
    next(stream)

    running.stop()

    assert list(stream) == []
