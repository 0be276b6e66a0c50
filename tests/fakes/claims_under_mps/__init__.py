"""Claims for devices under MPS, and what a bench knows of their daemons."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from devices_of_kinds import MPS_SHARING, allocated_device

from agent.hardware.mps.ports import daemon_name
from agent.hardware.types import ComputeMode
from agent.inventory.modes import GpuModes, ModesOfGpu
from plugin.kinds.health import Health
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.claim import AllocatedClaim, OpaqueConfig

SHARE = "gpu-0-mps"
MIG = "gpu-0-mig-3g-20gb-4-7"
PROGRAM = "usr/bin/nvidia-cuda-mps-control"


def share(bench: Any, uid: str, memory: str = "10Gi", processors: str = "0", **more: Any) -> AllocatedClaim:
    """A claim with a share of the first GPU under MPS."""
    amounts = {"memory": Quantity.parse(memory), "multiprocessors": Quantity.parse(processors)}
    result = replace(allocated_device(SHARE, bench.node), consumed=amounts)
    return replace(bench.claim(uid, **more), results=(result,))


def under_mps(kind: str = "GpuConfig", **sharing: Any) -> tuple[OpaqueConfig, ...]:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": kind, "sharing": sharing or MPS_SHARING}
    return (OpaqueConfig(driver="tangram.dev", parameters=parameters),)


def edits(bench: Any, uid: str) -> dict[str, Any]:
    (device,) = json.loads(bench.document(uid).read_text())["devices"]
    found: dict[str, Any] = device["containerEdits"]
    return found


def variables(bench: Any, uid: str) -> dict[str, str]:
    """What programs under MPS read of their environment."""
    given = dict(one.split("=", 1) for one in edits(bench, uid)["env"])
    return {name.removeprefix("CUDA_MPS_"): text for name, text in given.items() if name.startswith("CUDA")}


def writable(bench: Any, uid: str) -> dict[str, Path]:
    """The folders of the host that a container may write to, by its own names for them."""
    mounts = edits(bench, uid)["mounts"]
    return {one["containerPath"]: Path(one["hostPath"]) for one in mounts if "rw" in one["options"]}


def pid(bench: Any, uuid: str) -> int:
    folders = bench.machine.mps.folders(daemon_name(uuid))
    return int((folders.pipe / "nvidia-cuda-mps-control.pid").read_text())


def killed(bench: Any, uuid: str) -> int:
    """Kill a daemon as a crash would, and return the number that it had."""
    number = pid(bench, uuid)
    os.kill(number, signal.SIGKILL)
    while bench.machine.mps.is_running(daemon_name(uuid)):
        pass
    return number


def is_running(bench: Any, uuid: str) -> bool:
    found: bool = bench.machine.mps.is_running(daemon_name(uuid))
    return found


def has_environment(number: int) -> bool:
    """Whether a process is alive: one that has ended has none, until it is collected."""
    try:
        return bool(Path(f"/proc/{number}/environ").read_bytes())
    except OSError:
        return False


def mode(bench: Any, minor: int = 0) -> ComputeMode:
    found: ComputeMode = bench.simulated.gpus.compute_mode(bench.uuid(minor))
    return found


def health_of(bench: Any, device: str) -> tuple[Health, str]:
    (found,) = (one for one in bench.driver.health.read() if one.device == device)
    return found.health, found.message


def offering(bench: Any, **modes: Any) -> None:
    """Have the bench's plugin offer GPUs in other modes."""
    bench.options = replace(bench.options, modes=GpuModes(ModesOfGpu(**modes)))
    bench.restart()
