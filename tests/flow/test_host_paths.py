"""What containers are given is named as the host names it, wherever the plugin sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agent.hardware.types import GpuUuid

HALF = "gpu-0-mig-3g-20gb-4-7"


def document(site: Any) -> Any:
    return json.loads((site.options.cdi_dir / "tangram.dev-claim_u1.json").read_text())


def test_files_below_a_mounted_host_are_named_without_the_mount(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    options = replace(site.options, host_root=site.simulated.root)

    with site.start(options):
        kubelet_of(site).devices(site.allocate("u1", HALF))

    written = document(site)
    shared, (device,) = written["containerEdits"], written["devices"]
    mounts = {mount["hostPath"] for mount in shared["mounts"]}
    nodes = [*shared["deviceNodes"], *device["containerEdits"]["deviceNodes"]]
    assert "/usr/bin/nvidia-smi" in mounts
    assert all(path.startswith("/usr/") for path in mounts)
    assert {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"} <= {node["path"] for node in nodes}
    assert not any("hostPath" in node for node in nodes)


def test_a_gpu_that_was_numbered_anew_is_given_by_its_number_of_now(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    gpus = Renumbered(site)
    with site.start(gpus=gpus):
        claim = site.allocate("u1", "gpu-0")
        gpus.is_swapped = True
        kubelet_of(site).devices(claim)

    (device,) = document(site)["devices"]
    nodes = [node["path"] for node in device["containerEdits"]["deviceNodes"]]
    assert "/dev/nvidia1" in nodes
    assert "/dev/nvidia0" not in nodes


class Renumbered:
    """The site's GPUs, whose driver is loaded anew at some moment and then counts the other way round."""

    def __init__(self, site: Any) -> None:
        self._gpus = site.simulated.gpus
        self.is_swapped = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gpus, name)

    def minor(self, gpu: GpuUuid) -> int:
        minor: int = self._gpus.minor(gpu)
        return 1 - minor if self.is_swapped else minor
