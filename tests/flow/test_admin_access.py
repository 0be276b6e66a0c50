"""Through the kubelet's socket: a monitor of all GPUs, beside the claims that have them."""

from __future__ import annotations

import json
from typing import Any

HALF, WHOLE = "gpu-0-mig-3g-20gb-4-7", "gpu-1"


def paths(site: Any, uid: str) -> set[str]:
    document = json.loads((site.options.cdi_dir / f"tangram.dev-claim_{uid}.json").read_text())
    edits = [one["containerEdits"] for one in (document, *document["devices"])]
    return {node["path"] for each in edits for node in each["deviceNodes"]}


def test_a_monitor_gets_every_gpu_with_the_instances_of_others_and_takes_nothing_with_it(
    site: Any, kubelet: Any
) -> None:
    half, whole = site.allocate("u1", HALF), site.allocate("u2", WHOLE)
    monitor = site.allocate("u3", "gpu-0", "gpu-1", admin_access=True)
    kubelet.devices(half)
    kubelet.devices(whole)

    given = kubelet.devices(monitor)

    assert given == [(name, f"tangram.dev/claim=u3-{name}") for name in ("gpu-0", "gpu-1")]
    assert paths(site, "u1") | paths(site, "u2") < paths(site, "u3")
    kubelet.undone(monitor)
    assert kubelet.devices(half), "the other claims go on"
    assert kubelet.devices(whole)
    kubelet.undone(half)
    kubelet.undone(whole)
    assert site.leftovers() == []


def test_claims_come_and_go_on_gpus_that_a_monitor_looks_at(site: Any, kubelet: Any) -> None:
    monitor = site.allocate("u3", "gpu-0", "gpu-1", admin_access=True)
    kubelet.devices(monitor)

    for uid, device in (("u1", HALF), ("u2", "gpu-0"), ("u4", HALF)):
        claim = site.allocate(uid, device)
        kubelet.devices(claim)
        kubelet.undone(claim)

    kubelet.undone(monitor)
    assert site.leftovers() == []


def test_a_monitor_outlives_the_plugin(site: Any, kubelet_of: Any) -> None:
    half, monitor = site.allocate("u1", HALF), site.allocate("u3", HALF, "gpu-1", admin_access=True)
    with site.start():
        kubelet = kubelet_of(site)
        kubelet.devices(half)
        given = kubelet.devices(monitor)

    with site.start():
        kubelet = kubelet_of(site)
        assert kubelet.devices(monitor) == given
        kubelet.undone(monitor)
        kubelet.undone(half)

    assert site.leftovers() == []


def test_a_partition_that_is_not_there_is_told_as_something_that_is_retried(site: Any, kubelet: Any) -> None:
    monitor = site.allocate("u3", HALF, admin_access=True)

    error = kubelet.prepare(monitor)["u3"].error

    assert "claim default/claim-u3" in error
    assert "its instance does not exist now, and admin access creates none; it is retried" in error
    assert site.leftovers() == []
