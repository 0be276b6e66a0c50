"""Containers of both families of distributions load the driver's libraries, wherever the host has them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from loader_images import DEBIAN, FOLDERS, RED_HAT, make_image, make_library, require_compiler
from podman_runs import BUSYBOX, Podman, real_podman

from agent.hardware.driver_root import DriverRoot
from agent.hardware.open import simulated_hardware
from plugin.assembly import assemble
from plugin.claim.claim_directory import ClaimDirectory
from plugin.kubelet.server import start

pytestmark = [pytest.mark.podman, pytest.mark.timeout(300)]

VERSION = "560.35.03"
LAYOUTS = {
    "Debian and Ubuntu": "usr/lib/x86_64-linux-gnu",
    "RHEL and SLES": "usr/lib64",
    "Debian's own packages": "usr/lib/x86_64-linux-gnu/nvidia/current",
    "container-optimized systems": "usr/local/nvidia/lib64",
}
LIBRARIES = {"libcuda.so": "libcuda.so.1", "libnvidia-nvvm.so": "libnvidia-nvvm.so.4"}
FAMILIES = (DEBIAN, RED_HAT)
LOAD = "/bin/load libcuda.so.1 libcuda.so libnvidia-nvvm.so.4"
LOADED = [f"{name}: driver {VERSION}" for name in LOAD.split()[1:]]


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    """A podman with an image of each family."""
    with real_podman() as found, TemporaryDirectory(prefix="tg-images-", dir="/tmp") as folder:
        require_compiler()
        for family in FAMILIES:
            make_image(Path(folder) / family, family, BUSYBOX)
            found.load(Path(folder) / family, image_of(family))
        yield found


def image_of(family: str) -> str:
    return f"localhost/tangram-{family}:1"


def lay_out(root: Path, simulated: Path, folder: str) -> None:
    """Install real libraries, without links, in the place of the simulated ones."""
    for file in (simulated / "usr/lib/x86_64-linux-gnu").glob("lib*"):
        file.unlink()
    for library, soname in LIBRARIES.items():
        make_library(root / folder / f"{library}.{VERSION}", soname, f"driver {VERSION}")


@pytest.fixture
def prepared(site: Any, kubelet_of: Callable[..., Any]) -> Callable[..., str]:
    """Prepare a whole GPU on a node with a driver's files, and return the CDI device."""

    def prepare(files: DriverRoot, program: Path | None = None) -> str:
        machine = replace(simulated_hardware(site.simulated), files=files)
        options = replace(site.options, cdi_hook=program)
        driver = assemble(machine, options, clock=time.monotonic, sleep=time.sleep)
        with start(driver, ClaimDirectory(site.claims_dir), site.options):
            ((_, cdi_id),) = kubelet_of(site).devices(site.allocate("u1", "gpu-1"))
        return str(cdi_id)

    return prepare


@pytest.mark.parametrize("driver_root", ["/", "/run/nvidia/driver"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_containers_of_both_families_load_the_driver(
    site: Any, prepared: Callable[..., str], podman: Podman, layout: str, driver_root: str
) -> None:
    host = site.simulated.root
    files = DriverRoot.installed(Path(driver_root), host)
    lay_out(files.root, host, LAYOUTS[layout])
    cdi_id = prepared(files)

    for family in FAMILIES:
        inside = podman.run(site.options.cdi_dir, [cdi_id], LOAD, image_of(family))

        assert inside.stdout.splitlines() == LOADED, (family, inside)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_images_themselves_have_no_driver_and_look_in_their_own_folders_only(
    site: Any, podman: Podman, family: str
) -> None:
    site.options.cdi_dir.mkdir(exist_ok=True)
    loader = f"/{'usr/lib64/ld-linux-x86-64.so.2'} --list-diagnostics"

    inside = podman.run(site.options.cdi_dir, [], f"{LOAD}; {loader}", image_of(family))

    looked = [line.split('"')[1] for line in inside.stdout.splitlines() if "path.system_dirs" in line]
    assert "libcuda.so.1: cannot open shared object file" in inside.stdout
    assert any(Path(place) == Path("/") / FOLDERS[family] for place in looked)
    (other,) = {*FAMILIES} - {family}
    assert not any(Path(place) == Path("/") / FOLDERS[other] for place in looked)


def test_nodes_of_unified_memory_that_the_host_lacks_are_made_in_the_container(
    site: Any, prepared: Callable[..., str], podman: Podman
) -> None:
    for node in ("nvidia-uvm", "nvidia-uvm-tools"):
        (site.simulated.root / "dev" / node).unlink()
    cdi_id = prepared(DriverRoot(site.simulated.root))

    inside = podman.run(site.options.cdi_dir, [cdi_id], "ls -l /dev", image_of(DEBIAN))

    lines = [line.split() for line in inside.stdout.splitlines() if "nvidia-uvm" in line]
    assert {(line[0], line[-1], line[4], line[5]) for line in lines} == {
        ("crw-rw-rw-", "nvidia-uvm", "510,", "0"),
        ("crw-rw-rw-", "nvidia-uvm-tools", "510,", "1"),
    }


def test_nvidias_program_is_called_before_the_container_is_shut_in_and_without_the_images_variables(
    site: Any, prepared: Callable[..., str], podman: Podman
) -> None:
    program, called = site.folder / "nvidia-cdi-hook", site.folder / "called"
    program.write_text(f'#!/bin/sh\ncat > /dev/null\n{{ echo "$@"; env; }} > {called}\n')
    program.chmod(0o755)
    cdi_id = prepared(DriverRoot(site.simulated.root), program)

    inside = podman.run(site.options.cdi_dir, [cdi_id], "echo started", image_of(DEBIAN))

    assert inside.stdout == "started\n", inside.stderr
    arguments, *variables = called.read_text().splitlines()
    assert arguments == "update-ldcache --folder /usr/lib/x86_64-linux-gnu --folder /usr/lib64"
    assert {line for line in variables if not line.startswith(("PWD=", "_=", "SHLVL=", "OLDPWD="))} == {
        "NVIDIA_CTK_DEBUG=false"
    }
