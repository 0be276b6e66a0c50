"""A real container runtime resolves the CDI device: environment, mounts and usable device nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from podman_runs import Podman, real_podman

pytestmark = [pytest.mark.podman, pytest.mark.timeout(300)]

HALF = "gpu-0-mig-3g-20gb-4-7"
SMALL = "gpu-0-mig-1g-5gb-2"


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    with real_podman() as found:
        yield found


def test_a_container_gets_the_partition_and_after_unprepare_the_device_is_unresolvable(
    site: Any, kubelet: Any, podman: Podman
) -> None:
    claim = site.allocate("0b7a0f6e-51f9-4a34-9f4a-5a3a2c2f7d11", HALF)
    ((_, cdi_id),) = kubelet.devices(claim)
    (instance,) = site.simulated.gpus.gpu_instances(site.simulated.node.cards[0].uuid)
    nodes = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm")
    script = f"""
        env
        for node in {" ".join(nodes)} /dev/nvidia-caps/*; do
            test -c $node && echo x > $node && echo usable $node
        done
        cat /usr/lib/x86_64-linux-gnu/libcuda.so.1
        grep libcuda.so.1 /proc/mounts
    """

    inside = podman.run(site.options.cdi_dir, [cdi_id], script)
    kubelet.undone(claim)
    after = podman.run(site.options.cdi_dir, [cdi_id], "env")

    lines = inside.stdout.splitlines()
    assert inside.returncode == 0, inside.stderr
    assert f"TANGRAM_DEVICE_GPU_0_MIG_3G_20GB_4_7={instance.compute_instances[0].uuid}" in lines
    assert "NVIDIA_VISIBLE_DEVICES=void" in lines
    assert {f"usable {node}" for node in nodes} <= set(lines)
    assert sum("usable /dev/nvidia-caps/nvidia-cap" in line for line in lines) == 2
    (library,) = (site.simulated.root / "usr/lib/x86_64-linux-gnu").glob("libcuda.so.*.*")
    (mount,) = [line for line in lines if " /usr/lib/x86_64-linux-gnu/libcuda.so.1 " in line]
    assert {"ro", "nosuid", "nodev"} <= set(mount.split()[3].split(","))
    assert library.read_text().strip() in inside.stdout
    assert after.returncode != 0
    assert "unresolvable CDI devices" in after.stderr
    assert site.leftovers() == []


def test_a_container_may_have_several_devices_of_one_claim(site: Any, kubelet: Any, podman: Podman) -> None:
    claim = site.allocate("u1", HALF, SMALL)
    ids = [cdi_id for _, cdi_id in kubelet.devices(claim)]

    both = podman.run(
        site.options.cdi_dir, ids, "env; ls /dev/nvidia-caps; test -c /dev/nvidia0 && echo node"
    )
    one = podman.run(site.options.cdi_dir, ids[:1], "env; ls /dev/nvidia-caps")

    assert both.returncode == 0, both.stderr
    assert both.stdout.count("TANGRAM_DEVICE_GPU_0_MIG_") == 2
    assert both.stdout.count("nvidia-cap") == 4
    assert "node" in both.stdout.splitlines()
    assert one.stdout.count("TANGRAM_DEVICE_GPU_0_MIG_") == 1
    assert one.stdout.count("nvidia-cap") == 2


def test_programs_under_mps_find_their_daemon_and_share_memory_with_it(
    site: Any, kubelet: Any, podman: Podman
) -> None:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "GpuConfig"}
    mps = {"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "4Gi"}}
    claim = site.allocate("u1", "gpu-1", parameters=parameters | {"sharing": mps})
    ((_, cdi_id),) = kubelet.devices(claim)
    script = "env; test -S /tmp/nvidia-mps/control && echo socket; echo x > /dev/shm/written && echo memory"

    first = podman.run(site.options.cdi_dir, [cdi_id], script)
    second = podman.run(site.options.cdi_dir, [cdi_id], "cat /dev/shm/written")
    kubelet.undone(claim)

    lines = first.stdout.splitlines()
    assert first.returncode == 0, first.stderr
    assert {"socket", "memory", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4096M"} <= set(lines)
    assert second.stdout == "x\n"
    assert site.leftovers() == []


def test_a_container_gets_a_whole_gpu_and_no_capability(site: Any, kubelet: Any, podman: Podman) -> None:
    ((_, cdi_id),) = kubelet.devices(site.allocate("u1", "gpu-1"))

    inside = podman.run(site.options.cdi_dir, [cdi_id], "env; ls /dev; test -c /dev/nvidia1 && echo usable")

    assert inside.returncode == 0, inside.stderr
    assert f"TANGRAM_DEVICE_GPU_1={site.simulated.node.cards[1].uuid}" in inside.stdout.splitlines()
    assert "usable" in inside.stdout.splitlines()
    assert "nvidia-caps" not in inside.stdout
