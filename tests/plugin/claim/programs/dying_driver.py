"""Processes that prepare or unprepare one claim and kill themselves at their n-th step.

Each line of standard input is a deed: the folder of a bench, ``prepare``, ``look_at`` (with admin access),
``bring-in`` (into the namespace that the file ``pod`` is), ``unprepare``, ``keep`` (the number of VFs),
``look`` (as a plugin that serves) or ``look-long`` (until claims are over that the API server does not have),
the kind of the device, the step (from 1). Behind the deed may be ``+metadata`` where metadata files are
wanted, or ``+vfs`` where the device is a VF that is made for the claim. A process of its own does it; the
line of the answer is how that ended and the name of its last step: 0 alone when the deed has fewer steps. A
step is a file half written, written but not in place, in place, about to be removed, removed, or a part half
appended, appended, or a change of the machine about to be made, made. One program for many deeds, because
starting an interpreter takes longer than all; it knows the machine before it makes the copy that dies.
"""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import infiniband_vfs
from devices_of_kinds import EXAMPLES, ON_DEMAND, STATIC, VF_ON_DEMAND, allocated_device, told
from kept_descriptions import keep_descriptions
from slow_daemons import with_slow_daemons

from agent.hardware.open import simulated_hardware
from agent.hardware.ports import Machine
from agent.hardware.simulated import SimulatedMachine
from agent.hardware.simulated.kernel.simulated_kernel import SimulatedKernel
from agent.inventory.model import LinkedGpus, SplitGpus
from agent.inventory.modes import GpuModes, ModesOfGpu
from plugin.assembly import assemble
from plugin.base import files
from plugin.claim.reconciling.standing import ASK_S
from plugin.machine.namespaces import PodNamespace
from plugin.machine.node import Node
from plugin.options import Options
from plugin.telling.ports import NoObserver
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid

REF = ClaimRef("default", "claim-u1")
EXAMPLES_BY_NAME = {row.__name__: example for row, example in EXAMPLES.items()}
PAIR = LinkedGpus(table_of("table", {"2": [{"minors": [0, 1], "allocationScore": 1}]}))


MANY_LOOKS = 6
"""More than end a claim that is over."""


class WatchedKernel:
    """The interfaces to the kernel, with a step before and after each change."""

    def __init__(self, kernel: SimulatedKernel, step: Callable[[str], None]) -> None:
        self._kernel = kernel
        self._step = step

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._kernel, name)
        if name not in {"write", "apply", "set_vf"}:
            return method

        def change(*arguments: Any) -> None:
            self._step(f"before the kernel's {name}")
            method(*arguments)
            self._step(f"after the kernel's {name}")

        return change


class NoClaims:
    """An API server without claims."""

    def find(self, _ref: ClaimRef) -> None:
        return None


class Steps:
    """Counts what happens to records, documents and hardware, and ends the process at the number."""

    def __init__(self, options: Options, last: int, tell: Callable[[str], None]) -> None:
        self.folders = {
            options.claims_dir: "the record",
            options.cdi_dir: "the document",
            options.made_vfs_dir: "what VFs were made",
            options.mig_modes_dir: "whose MIG mode it is",
        }
        self.tell = tell
        self.metadata = options.metadata_dir
        self.count = 0
        self.last = last

    def concern(self, path: str | Path) -> bool:
        return Path(path).parent in self.folders or self.metadata in Path(path).parents

    def file(self, path: str | Path) -> str:
        return self.folders.get(Path(path).parent, "a metadata file")

    def take(self, name: str) -> None:
        self.count += 1
        if self.count == self.last:
            self.tell(name)
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(self, machine: Machine) -> Machine:
        return told(
            machine, lambda name: self.take(f"before {name}"), lambda name: self.take(f"after {name}")
        )

    def watched_kernel(self, kernel: SimulatedKernel) -> Any:
        """Return the kernel interfaces of NICs with each change as two steps: a call makes several."""
        return WatchedKernel(kernel, self.take)

    def watch(self) -> None:
        replace, unlink, append = os.replace, os.unlink, files.append

        def watched_replace(path: str | Path, target: str | Path) -> None:
            if self.concern(path):
                if self.count + 1 == self.last:
                    os.truncate(path, os.stat(path).st_size // 2)
                self.take(f"{self.file(path)}: half written")
                self.take(f"{self.file(path)}: written, not in place")
            replace(path, target)
            if self.concern(path):
                self.take(f"{self.file(path)}: in place")

        def watched_unlink(path: str | Path, *, dir_fd: int | None = None) -> None:
            is_step = self.concern(path) and os.path.exists(path)
            if is_step:
                self.take(f"{self.file(path)}: before it is removed")
            unlink(path, dir_fd=dir_fd)
            if is_step:
                self.take(f"{self.file(path)}: removed")

        def watched_append(path: Path, data: bytes, mode: int) -> int:
            if self.count + 1 == self.last:
                append(path, data[: len(data) // 2], mode)
            self.take(f"{self.file(path)}: half a line more")
            length = append(path, data, mode)
            self.take(f"{self.file(path)}: a line more")
            return length

        files.append = watched_append
        os.replace = watched_replace  # type: ignore[assignment]
        os.unlink = watched_unlink  # type: ignore[assignment]


def options_of(folder: Path, deed: str, node: str) -> Options:
    return Options(
        driver_name="tangram.dev",
        node_name=node,
        kubelet_dir=folder / "kubelet",
        cdi_dir=folder / "cdi",
        linked=PAIR,
        has_metadata=deed.endswith("+metadata"),
        modes=GpuModes(ModesOfGpu(shared=100, mps=100)),
        imex_channels=2,
        vfs=STATIC if deed == "keep" else ON_DEMAND if deed.endswith("+vfs") else None,
        split=SplitGpus(),
    )


def run(folder: Path, deed: str, kind: str, step: int, tell: Callable[[str], None]) -> None:
    simulated = SimulatedMachine.attach(folder / "machine")
    node = simulated.node.name
    options = options_of(folder, deed, node)
    deed, _, _ = deed.partition("+")
    steps = Steps(options, step, tell)
    simulated.kernel = steps.watched_kernel(simulated.kernel)
    machine = steps.watched(with_slow_daemons(simulated_hardware(simulated)))
    later = itertools.count(step=ASK_S)
    clock = (lambda: next(later)) if deed == "look-long" else time.monotonic
    driver = assemble(machine, options, clock=clock, sleep=time.sleep)
    steps.watch()
    if deed in {"look", "look-long"}:
        looks = driver.looks(NoObserver(), None if deed == "look" else NoClaims())
        for _ in range(1 if deed == "look" else MANY_LOOKS):
            looks.look()
        return
    if deed == "keep":
        driver.vf_keeper.keep(lambda _reason, _text: None)
        return
    if deed == "unprepare":
        driver.unprepare(ClaimUid("u1"), REF)
        return
    if deed == "bring-in":
        pod = PodNamespace.at(folder / "pod")
        assert pod is not None
        driver.bring_in(ClaimUid("u1"), EXAMPLES_BY_NAME[kind].device, pod)
        return
    example = EXAMPLES_BY_NAME[kind]
    if node == infiniband_vfs.NAME:
        example = infiniband_vfs.example_of(kind)
    device = example.device if options.vfs is None else VF_ON_DEMAND
    result = allocated_device(device, node, admin_access=deed == "look_at")
    driver.prepare(AllocatedClaim(ref=REF, uid=ClaimUid("u1"), results=(result,), configs=example.configs))


SEEN: set[tuple[str, str]] = set()


def know(folder: Path, deed: str, kind: str) -> None:
    """Parse and describe the machine, the first time, so that not each copy does that anew."""
    if (deed, kind) in SEEN:
        return
    SEEN.add((deed, kind))
    simulated = SimulatedMachine.attach(folder / "machine")
    options = options_of(folder, deed, simulated.node.name)
    Node(
        simulated_hardware(simulated).readers,
        options.node_name,
        options.driver_name,
        options.settings,
    ).read_again()


def end_of(folder: str, deed: str, kind: str, step: str) -> str:
    know(Path(folder), deed, kind)
    heard, say = os.pipe()
    child = os.fork()
    if child:
        os.close(say)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with open(heard, encoding="utf-8") as point:
            return f"{status} {point.read()}"

    def tell(name: str) -> None:
        os.write(say, name.encode())

    try:
        run(Path(folder), deed, kind, int(step), tell)
    except Exception:  # noqa: BLE001 - the copy must end here and never go on with the parent's loop
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


# A look for garbage would touch, and so copy, all memory that copies share with this process.
gc.disable()
keep_descriptions()
for line in sys.stdin:
    sys.stdout.write(f"{end_of(*line.split())}\n")
    sys.stdout.flush()
