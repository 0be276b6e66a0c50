"""NVIDIA's DCGM exporter finds the pods of our devices where the driver has NVIDIA's name.

It knows a pod's devices from the kubelet, which has the names of the plugin's answer, and the GPUs from the
slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from dcgm_exporter import DRIVER, PodResource, pods_of_gpus

from agent.hardware.open import simulated_hardware
from agent.inventory import describe, discover
from agent.publishing.forms import Form, Found, Verdict, documents
from plugin._pb.dra_v1 import api_pb2 as v1
from plugin.claim.claim_directory import ClaimDirectory
from plugin.kubelet.server import start

HALF, OTHER_HALF = "gpu-0-mig-3g-20gb-0-3", "gpu-0-mig-3g-20gb-4-7"


@dataclass
class Cluster:
    site: Any
    kubelet: Any

    def __post_init__(self) -> None:
        inventory = discover(simulated_hardware(self.site.simulated).readers, self.site.options.node_name)
        found = Found.of(inventory, describe(inventory, DRIVER))
        self.slices = documents(found, Verdict(Form.SEPARATE))
        self.uuids = [str(card.uuid) for card in self.site.simulated.node.cards]

    def run(self, pod: str, device: str) -> PodResource:
        """Prepare a device for a pod, and return it as the kubelet lists it."""
        pool = self.site.options.node_name
        results = [{"request": "r", "driver": DRIVER, "pool": pool, "device": device}]
        claim = v1.Claim(namespace="default", name=f"claim-{pod}", uid=f"uid-{pod}")
        self.site.write_claim(claim, {"allocation": {"devices": {"results": results}}})
        entry = self.kubelet.prepare(claim)[claim.uid]
        assert entry.error == ""
        (prepared,) = entry.devices
        return PodResource(pod, self.kubelet.info().name, prepared.pool_name, prepared.device_name)


@pytest.fixture
def cluster(site_of: Callable[..., Any], kubelet_of: Callable[..., Any]) -> Iterator[Cluster]:
    site = site_of("a100x2")
    site.options = replace(site.options, driver_name=DRIVER)
    with start(site.driver(), ClaimDirectory(site.claims_dir), site.options):
        yield Cluster(site, kubelet_of(site))


def test_the_pod_of_a_whole_gpu_is_found_by_the_gpus_uuid(cluster: Cluster) -> None:
    listed = [cluster.run("trainer", "gpu-1")]

    assert pods_of_gpus(cluster.slices, listed) == {cluster.uuids[1]: ["trainer"]}


def test_pods_of_mig_devices_are_found_by_their_gpu_alone(cluster: Cluster) -> None:
    """dcgm-exporter#714: which of its instances a pod has is told by ``tangram_device_info``."""
    listed = [cluster.run("one", HALF), cluster.run("two", OTHER_HALF)]

    assert pods_of_gpus(cluster.slices, listed) == {cluster.uuids[0]: ["one", "two"]}
