"""Plugin processes that die while they make or remove VFs, and their successors that put things right."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.types import Bdf

PF = Bdf("0000:19:00.1")
FIRST, SECOND = "nic-0000-19-00-1-vf-0", "nic-0000-19-00-1-vf-1"
ON_DEMAND = ("--vfs", f"{PF}=on-demand:3")
MOMENTS = ("kill-before", "kill-after")


@pytest.fixture
def site(site_of: Callable[..., Any]) -> Any:
    """A machine with a NIC that has no VFs and can have four."""
    return site_of("a30x4")


def vfs(site: Any) -> int:
    return simulated_hardware(site.simulated).nics.reader.vf_count(PF).present


def expected(device: str, uid: str = "u1") -> list[tuple[str, str]]:
    return [(device, f"tangram.dev/claim={uid}-{device}")]


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_it_makes_vfs_on_demand(site: Any, kubelet_of: Callable[..., Any], moment: str) -> None:
    claim = site.allocate("u1", SECOND)
    with site.process(*ON_DEMAND) as process:
        site.inject(f"nic-1:set-vfs:{moment}")
        with pytest.raises(grpc.RpcError):
            kubelet_of(site).prepare(claim)
        assert process.wait() == -signal.SIGKILL

    with site.process(*ON_DEMAND):
        after_start, vfs_after_start = site.leftovers(), vfs(site)
        answer, vfs_in_use = kubelet_of(site).devices(claim), vfs(site)
        kubelet_of(site).undone(claim)

    assert (after_start, vfs_after_start) == ([], 0)
    assert (answer, vfs_in_use) == (expected(SECOND), 3)
    assert (site.leftovers(), vfs(site)) == ([], 0)


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_it_removes_them(site: Any, kubelet_of: Callable[..., Any], moment: str) -> None:
    claim = site.allocate("u1", SECOND)
    with site.process(*ON_DEMAND) as process:
        kubelet_of(site).devices(claim)
        site.inject(f"nic-1:set-vfs:{moment}")
        with pytest.raises(grpc.RpcError):
            kubelet_of(site).unprepare(claim)
        assert process.wait() == -signal.SIGKILL

    with site.process(*ON_DEMAND):
        after_start, vfs_after_start = site.leftovers(), vfs(site)
        kubelet_of(site).undone(claim)

    assert (after_start, vfs_after_start) == ([], 0)


def test_a_successor_without_the_option_removes_them_after_the_last_claim(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    one, other = site.allocate("u1", FIRST), site.allocate("u2", SECOND)
    with site.process(*ON_DEMAND):
        kubelet_of(site).devices(one)
        kubelet_of(site).devices(other)

    with site.process():
        kubelet_of(site).undone(one)
        in_use = vfs(site)
        kubelet_of(site).undone(other)

    assert in_use == 3
    assert (site.leftovers(), vfs(site)) == ([], 0)


def test_a_fixed_number_is_made_by_the_program_that_serves(site: Any, folder: Path) -> None:
    with site.process("--vfs", f"{PF}=static:3") as process:
        assert process.stderr is not None
        told = next(line for line in process.stderr if "made 3 VFs" in line)

    assert f"NIC {PF}" in told
    assert vfs(site) == 3
    assert [path.name for path in site.options.made_vfs_dir.iterdir()] == [f"{PF}.json"]
