"""Through the kubelet's socket: one claim for several pods of a node, and for the pods of several nodes.

The kubelet asks for a claim once it has a pod with it, and does not ask again for another pod while it knows
that the claim is prepared. It does ask again where two pods start at once, and after its own restart. It asks
to unprepare when the last pod has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from devices_of_kinds import told

from agent.hardware.open import simulated_hardware
from plugin._pb.dra_v1 import api_pb2 as v1
from plugin.assembly import assemble
from plugin.claim.claim_directory import ClaimDirectory
from plugin.kubelet.server import start

DEVICES = ("gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-2", "gpu-1")
PODS = 6
OWN = {"node-a": "gpu-0-mig-3g-20gb-4-7", "node-b": "gpu-1"}
"""The node of each member of a claim that several nodes have."""


@pytest.fixture
def changes() -> list[str]:
    """The calls that change the machine, as they are made."""
    return []


@pytest.fixture
def kubelet(site: Any, kubelet_of: Callable[..., Any], changes: list[str]) -> Any:
    """The kubelet of a node whose plugin tells of each change of the machine."""
    machine = told(simulated_hardware(site.simulated), changes.append, lambda _: None)
    driver = assemble(machine, site.options, clock=time.monotonic, sleep=site.sleep)
    with start(driver, ClaimDirectory(site.claims_dir), site.options):
        yield kubelet_of(site)


def files(site: Any) -> dict[str, tuple[int, int]]:
    folders = (site.options.claims_dir, site.options.cdi_dir)
    found = (path for folder in folders for path in folder.iterdir())
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def test_the_second_pod_of_a_claim_changes_no_hardware_and_no_file(
    site: Any, kubelet: Any, changes: list[str]
) -> None:
    claim = site.allocate("u1", *DEVICES)
    first = kubelet.devices(claim)
    before = files(site)
    changes.clear()

    second = kubelet.devices(claim)

    assert second == first
    assert changes == []
    assert files(site) == before


def test_pods_that_start_at_once_share_what_is_made_once(
    site: Any, kubelet: Any, kubelet_of: Callable[..., Any], changes: list[str]
) -> None:
    claim = site.allocate("u1", *DEVICES)
    kubelets = [kubelet_of(site) for _ in range(PODS)]

    with ThreadPoolExecutor(PODS) as pods:
        answers = list(pods.map(lambda one: one.devices(claim), kubelets))

    assert all(answer == answers[0] for answer in answers)
    assert changes.count("create_gpu_instance") == 2
    assert changes.count("create_compute_instance") == 2


def test_one_unprepare_after_the_last_pod_undoes_what_all_pods_asked_for(site: Any, kubelet: Any) -> None:
    claim = site.allocate("u1", *DEVICES)
    for _ in range(PODS):
        kubelet.devices(claim)

    kubelet.undone(claim)

    assert site.leftovers() == []


def test_a_pod_that_comes_after_the_last_one_gets_the_claims_devices_anew(site: Any, kubelet: Any) -> None:
    claim = site.allocate("u1", *DEVICES)
    first = kubelet.devices(claim)
    kubelet.undone(claim)

    assert kubelet.devices(claim) == first

    kubelet.undone(claim)
    assert site.leftovers() == []


def test_the_second_pod_gets_an_instance_that_vanished_under_the_first_made_again(
    site: Any, kubelet: Any, changes: list[str]
) -> None:
    claim = site.allocate("u1", DEVICES[0])
    first = kubelet.devices(claim)
    gpus = site.simulated.gpus
    (instance,) = gpus.gpu_instances(site.simulated.node.cards[0].uuid)
    (compute,) = instance.compute_instances
    gpus.destroy_compute_instance(instance.parent, instance.gi_id, compute.ci_id)
    gpus.destroy_gpu_instance(instance.parent, instance.gi_id)
    changes.clear()

    assert kubelet.devices(claim) == first

    assert changes == ["create_gpu_instance", "create_compute_instance"]
    kubelet.undone(claim)
    assert site.leftovers() == []


@pytest.fixture
def nodes(
    folder: Path, site_in: Callable[..., Any], kubelet_of: Callable[..., Any]
) -> Iterator[dict[str, tuple[Any, Any]]]:
    """Two nodes, each with its machine, its plugin and its kubelet."""
    with ExitStack() as opened:
        sites = {name: site_in(folder / name, "a100x2", name) for name in OWN}
        for site in sites.values():
            opened.enter_context(site.start())
        yield {name: (site, kubelet_of(site)) for name, site in sites.items()}


def on_every_node(site: Any) -> v1.Claim:
    """Write a claim with devices of several nodes, as a controller of such devices allocates it."""
    results = [
        {"request": "r", "driver": "tangram.dev", "pool": pool, "device": device}
        for pool, device in OWN.items()
    ]
    claim = v1.Claim(namespace="default", name="claim-u1", uid="u1")
    site.write_claim(claim, {"allocation": {"devices": {"results": results}}})
    return claim


def test_each_node_prepares_its_own_members_of_a_claim_only(nodes: dict[str, tuple[Any, Any]]) -> None:
    given = {name: kubelet.devices(on_every_node(site)) for name, (site, kubelet) in nodes.items()}

    assert given == {name: [(device, f"tangram.dev/claim=u1-{device}")] for name, device in OWN.items()}
    assert {len(site.simulated.gpus.gpu_instances(uuid_of(site))) for site, _ in nodes.values()} == {0, 1}


def test_the_end_of_a_claim_on_one_node_undoes_nothing_on_another(nodes: dict[str, tuple[Any, Any]]) -> None:
    (first, here), (second, there) = nodes.values()
    claim, other = on_every_node(first), on_every_node(second)
    here.devices(claim)
    given = there.devices(other)

    here.undone(claim)

    assert first.leftovers() == []
    assert there.devices(other) == given
    there.undone(other)
    assert second.leftovers() == []


def test_a_node_without_a_member_of_the_claim_refuses_it_and_has_nothing_to_undo(
    folder: Path, site_in: Callable[..., Any], kubelet_of: Callable[..., Any]
) -> None:
    site = site_in(folder / "c", "a100x2", "node-c")
    with site.start():
        kubelet = kubelet_of(site)
        claim = on_every_node(site)

        refusal = kubelet.prepare(claim)[claim.uid].error
        assert "its devices are allocated on node-a, node-b, this is node-c" in refusal
        kubelet.undone(claim)

    assert site.leftovers() == []


def uuid_of(site: Any) -> str:
    return str(site.simulated.node.cards[0].uuid)
