"""A real container runtime resolves the CDI device: environment, mounts and usable device nodes.

Podman and crun run in a mount namespace of their own, with an empty /var/run, the plugin's folder bound over
the one that the runtime reads, and a plain cgroup2 mount: nothing of the host changes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytestmark = [pytest.mark.podman, pytest.mark.timeout(300)]

IMAGE = "localhost/tangram-busybox:1"
BUSYBOX = Path("/bin/busybox")
APPLETS = ("sh", "env", "ls", "cat", "test", "grep")
HALF = "gpu-0-mig-3g-20gb-4-7"
SMALL = "gpu-0-mig-1g-5gb-2"
# crun cannot manage cgroups or raise limits in an unprivileged virtual machine; neither is under test.
RUN = (
    *("run", "--rm", "--runtime=crun", "--network=none", "--cgroups=disabled"),
    *("--ulimit", "nofile=1000:1000", "--ulimit", "nproc=1000:1000"),
)
ISOLATED = """
set -e
umount -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs none "$(realpath /var/run)"
mkdir /var/run/cdi
mount --bind "$PLUGIN_CDI" /var/run/cdi
exec "$@"
"""


@dataclass(frozen=True)
class Podman:
    """A podman whose storage is a folder that goes away."""

    storage: Path

    def command(self, *arguments: str) -> list[str]:
        folders = [
            f"--root={self.storage}/root",
            f"--runroot={self.storage}/run",
            f"--tmpdir={self.storage}/tmp",
        ]
        return ["podman", "--storage-driver=vfs", *folders, *arguments]

    def run(self, cdi_folder: Path, devices: list[str], script: str) -> subprocess.CompletedProcess[str]:
        """Run a shell script in a container that has the CDI devices."""
        wanted = [part for device in devices for part in ("--device", device)]
        inner = self.command(*RUN, *wanted, IMAGE, "/bin/sh", "-c", script)
        return subprocess.run(
            ["unshare", "-m", "--propagation", "private", "sh", "-c", ISOLATED, "sh", *inner],
            env=os.environ | {"PLUGIN_CDI": str(cdi_folder)},
            capture_output=True,
            text=True,
            check=False,
        )


def obstacle() -> str | None:
    """Return why no container can be run here, None where one can."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [tool for tool in ("podman", "crun", "unshare", "tar") if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    if not BUSYBOX.exists():
        return f"{BUSYBOX} (busybox-static) not installed"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        return "may not make a mount namespace"
    return None


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    reason = obstacle()
    if reason is not None and os.environ.get("TANGRAM_REQUIRE_PODMAN") == "1":
        pytest.fail(f"a container must run here, and cannot: {reason}")
    if reason is not None:
        pytest.skip(f"no container can run here: {reason}")
    with TemporaryDirectory(prefix="tg-podman-", dir="/tmp") as name:
        found = Podman(Path(name) / "storage")
        _import_image(found, Path(name) / "image")
        yield found


def _import_image(podman: Podman, image: Path) -> None:
    for folder in ("bin", "dev", "proc", "sys", "tmp"):
        (image / folder).mkdir(parents=True)
    shutil.copy(BUSYBOX, image / "bin/busybox")
    for applet in APPLETS:
        (image / "bin" / applet).symlink_to("busybox")
    packed = subprocess.run(["tar", "-C", image, "-c", "."], capture_output=True, check=True)
    subprocess.run(podman.command("import", "-", IMAGE), input=packed.stdout, capture_output=True, check=True)


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
