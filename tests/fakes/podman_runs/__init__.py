"""Podman with crun on a CDI folder, and why no container can run here.

Podman and crun run in a mount namespace of their own, with an empty /var/run, the plugin's folder bound over
the one that the runtime reads, and a plain cgroup2 mount: nothing of the host changes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import needs
from short_folders import ON_DISK

IMAGE = "localhost/tangram-busybox:1"
BUSYBOX = Path("/bin/busybox")
APPLETS = ("sh", "env", "ls", "cat", "test", "grep", "ip", "ping")
# crun cannot manage cgroups or raise limits in an unprivileged virtual machine; neither is under test.
RUN = (
    *("run", "--rm", "--runtime=crun", "--cgroups=disabled"),
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
ISOLATION = ("unshare", "-m", "--propagation", "private", "sh", "-c", ISOLATED, "sh")


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

    def load(self, root: Path, image: str) -> None:
        """Make an image of a folder."""
        packed = subprocess.run(["tar", "-C", root, "-c", "."], capture_output=True, check=True).stdout
        subprocess.run(self.command("import", "-", image), input=packed, capture_output=True, check=True)

    def run(
        self, cdi_folder: Path, devices: list[str], script: str, image: str = IMAGE
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell script in a container that has the CDI devices.

        It writes to our pipes itself: podman may lose what a container writes that ends at once (seen once in
        14,000 tests: exit status 0 and nothing written).
        """
        return self.call(cdi_folder, *_wanted(devices), image, "/bin/sh", "-c", script)

    def call(self, cdi_folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a container that ends. Shape: ``arguments`` are options of podman, the image, its own."""
        inner = self.command(*RUN, "--network=none", "--log-driver=passthrough", *arguments)
        return subprocess.run(
            [*ISOLATION, *inner], env=_environment(cdi_folder), capture_output=True, text=True, check=False
        )

    def shell(
        self, cdi_folder: Path, devices: list[str], name: str, *more: str, host: Path | None = None
    ) -> subprocess.Popen[str]:
        """Start a container whose shell reads commands. Shape: ``host`` the host's network namespace."""
        options = ("-i", f"--name={name}", "--cap-add=NET_RAW", *more)
        inner = self.command(*RUN, *options, *_wanted(devices), IMAGE, "/bin/sh")
        place = [] if host is None else ["nsenter", f"--net={host}"]
        return subprocess.Popen(
            [*place, *ISOLATION, *inner],
            env=_environment(cdi_folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def _wanted(devices: list[str]) -> list[str]:
    return [part for device in devices for part in ("--device", device)]


def _environment(cdi_folder: Path) -> dict[str, str]:
    return os.environ | {"PLUGIN_CDI": str(cdi_folder)}


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


@contextmanager
def real_podman() -> Iterator[Podman]:
    """A podman with an image, or the test is skipped with the reason."""
    reason = obstacle()
    if reason is not None:
        needs.fail_or_skip(needs.CONTAINERS, reason)
    # Podman tidies up behind a container in a process of its own, which may write when all tests are over.
    with TemporaryDirectory(prefix="tg-podman-", dir=ON_DISK, ignore_cleanup_errors=True) as name:
        found = Podman(Path(name) / "storage")
        _import_image(found, Path(name) / "image")
        yield found
        subprocess.run(found.command("rm", "--all", "--force"), capture_output=True, check=False)


def _import_image(podman: Podman, image: Path) -> None:
    for folder in ("bin", "dev", "proc", "sys", "tmp"):
        (image / folder).mkdir(parents=True)
    shutil.copy(BUSYBOX, image / "bin/busybox")
    for applet in APPLETS:
        (image / "bin" / applet).symlink_to("busybox")
    podman.load(image, IMAGE)
