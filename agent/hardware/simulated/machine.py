"""A simulated machine in a directory: its GPUs, its rendered tree, and the operator's actions on it.

The directory holds everything (``machine.json``, ``lock``, ``rendered``, ``root/``). Any number of
processes may attach to it; all see the same hardware.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec.structs import replace

from agent.hardware.errors import InUse, InvalidArgument, NotFound, NotSupported
from agent.hardware.simulated import rules
from agent.hardware.simulated.calls import Calls
from agent.hardware.simulated.damage import machine_of
from agent.hardware.simulated.devices import Nic
from agent.hardware.simulated.errors import InvalidFault, NoMachine
from agent.hardware.simulated.fabric import rules as fabric_rules
from agent.hardware.simulated.fabric.manager import SimulatedFabric
from agent.hardware.simulated.fault_text import missing_device, parse_injected
from agent.hardware.simulated.faults import Fault, Held, Injected
from agent.hardware.simulated.first_state import first_state
from agent.hardware.simulated.gpu_troubles.faults import GpuTrouble, Raised
from agent.hardware.simulated.gpus import SimulatedGpus
from agent.hardware.simulated.health.events import SimulatedEvents
from agent.hardware.simulated.health.limits import why_impossible
from agent.hardware.simulated.health.raising import with_event, with_raised, with_trouble
from agent.hardware.simulated.kernel.simulated_kernel import SimulatedKernel
from agent.hardware.simulated.nics.binding import made
from agent.hardware.simulated.nics.functions import functions, with_function, with_vfs
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.state import State, StateFile
from agent.hardware.simulated.store import Store, boot_id, with_gpu
from agent.hardware.simulated.strikes import after_reset, faults_of, is_held, with_fault, without
from agent.hardware.types import Bdf, GpuUuid

Sleep = Callable[[float], None]


class SimulatedMachine:
    """One machine. ``open`` it with a node file, or ``attach`` to one that exists.

    Shape: ``root`` is the root folder for readers of sysfs, /proc and /dev; ``gpus`` implements ``Gpus``;
           ``kernel`` the interfaces through which NICs are changed; ``fabric`` implements ``FabricManager``.
    """

    __slots__ = ("_store", "directory", "fabric", "gpus", "kernel", "node", "root")

    def __init__(self, store: Store, sleep: Sleep) -> None:
        self._store = store
        self.node = store.node
        self.directory = store.directory
        self.root = store.root
        self.gpus = SimulatedGpus(Calls(store, sleep))
        self.kernel = SimulatedKernel(Calls(store, sleep))
        self.fabric = SimulatedFabric(Calls(store, sleep))

    @classmethod
    def open(cls, node: NodeFile, directory: Path, sleep: Sleep = time.sleep) -> SimulatedMachine:
        """Return the machine in ``directory``; make it from ``node`` if there is none yet.

        Raises: NoMachine if the directory has another machine or cannot have one; InvalidNodeFile if the
                node's first instances or faults are impossible.
        """
        files = StateFile(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with files.locked():
                if not files.exists():
                    _refuse_foreign(directory)
                    files.write(first_state(node))
        except OSError as error:
            raise NoMachine(str(directory), f"it cannot be made: {error}") from error
        machine = cls.attach(directory, sleep)
        if machine.node != node:
            raise NoMachine(str(directory), f"it holds another machine, made from {machine.node.source}")
        return machine

    @classmethod
    def attach(cls, directory: Path, sleep: Sleep = time.sleep) -> SimulatedMachine:
        """Return the machine that exists in ``directory``. Raises: NoMachine."""
        state = StateFile(directory).read()
        store = Store(machine_of(directory, state), directory)
        store.repair()
        return cls(store, sleep)

    def inject(self, *injected: Injected) -> None:
        """Add faults, unless they are present already, and let the driver raise events: all or nothing.

        Raises: InvalidFault if one has no text form, the machine has no such device, or the device cannot
                have it.
        """
        changes = [self._injecting(parse_injected(str(fault))) for fault in injected]

        def decide(state: State) -> State:
            for change in changes:
                state = change(state)
            return state

        self._apply(decide)

    def _injecting(self, fault: Injected) -> Callable[[State], State]:
        cards = {card.minor: card for card in self.node.cards}
        missing = missing_device(fault, cards, range(len(self.node.nics)))
        if missing is not None:
            raise InvalidFault(str(fault), f"node {self.node.name} has no {missing}")
        if not isinstance(fault, Raised | GpuTrouble):
            return lambda state: replace(state, faults=with_fault(state.faults, fault))
        if fault.gpu is None:
            return lambda state: with_event(state, fault, None)
        card = cards[fault.gpu]
        reason = why_impossible(fault, card)
        if reason:
            raise InvalidFault(str(fault), reason)
        if isinstance(fault, Raised):
            return lambda state: with_raised(state, fault, card)
        return lambda state: with_trouble(state, fault, card)

    def events(self, has_ended: Callable[[], bool] = lambda: False) -> SimulatedEvents:
        """Return what hears the events of the GPUs until the program ends; implements ``GpuEventSource``."""
        return SimulatedEvents(self.gpus.calls, has_ended)

    def faults(self) -> tuple[Fault, ...]:
        """Return the present faults, in the order in which they were injected."""
        return faults_of(self._store.read())

    def clear_faults(self) -> None:
        """Remove all faults, those of GPUs' health too; RDMA devices that were late are there."""

        def decide(state: State) -> State:
            for function in functions(self.node, state):
                state = with_function(state, function, replace(function.of(state), reads_left=0))
            return replace(state, faults=())

        self._apply(decide)

    def reboot(self) -> str:
        """Reboot the machine and return the new boot id.

        All instances are gone and the VFs are those of the node file, as new. An Ampere GPU keeps its MIG
        mode (a pending one takes effect), later models lose it. The fabric manager starts anew. Lost GPUs are
        back, clients are gone, and what a reset mends in GPUs is mended; faults of calls and troubles of NICs
        stay. /run is empty, and the daemons of
        MPS have ended.
        """
        shutil.rmtree(self.root / "run", ignore_errors=True)

        def decide(state: State) -> tuple[State, str]:
            gpus = {card.uuid: rules.after_reboot(card, state.gpus[card.uuid]) for card in self.node.cards}
            for card in self.node.cards:
                state = without(after_reset(state, card.minor), Held(card.minor))
            after = replace(state, gpus=gpus, functions={}, quiet=(), boots=state.boots + 1)
            for nic in self.node.nics:
                after = with_vfs(after, nic, nic.form.vfs)
            after = replace(after, fabric=fabric_rules.restarted(self.node, after))
            return after, boot_id(self.node.name, after)

        return self._store.change(decide)

    def restart_fabric_manager(self) -> None:
        """Restart the fabric manager with its full initialization: no partition is active any more."""
        self._apply(lambda state: replace(state, fabric=fabric_rules.restarted(self.node, state)))

    def reset_gpu(self, gpu: GpuUuid) -> None:
        """Reset a GPU from outside: a pending mode takes effect, instances are gone, a lost GPU is back.

        Of the troubles of its health, those of the hardware itself stay.
        Raises: NotFound; InUse while a client holds the GPU.
        """
        card = self.gpus.calls.card(gpu, "reset")

        def decide(state: State) -> State:
            if is_held(state, card.minor) or self._store.clients.of(state.boots, card.minor):
                raise InUse("reset", str(card), "a client holds the GPU")
            return with_gpu(after_reset(state, card.minor), gpu, rules.after_reset(state.gpus[gpu]))

        self._apply(decide)

    def client(self, gpu: GpuUuid) -> AbstractContextManager[None]:
        """Make this process a client of a GPU while the block runs. Raises: NotFound."""
        card = self.gpus.calls.card(gpu, "open")
        return self._store.clients.held(self._store.read().boots, card.minor)

    def set_vfs(self, pf: Bdf, count: int) -> None:
        """Set the number of a NIC's VFs, with the kernel's checks in the kernel's order.

        Raises: NotFound; NotSupported without SR-IOV; InvalidArgument above the NIC's maximum (the kernel's
                ERANGE); InUse if it has another number of VFs already (EBUSY).
        Source: Linux, drivers/pci/iov.c, sriov_numvfs.
        """
        nic = self._nic(pf)
        attempted, subject = f"enable {count} VFs", f"NIC {pf}"

        def decide(state: State) -> State:
            if not nic.form.total_vfs:
                raise NotSupported(attempted, subject, "it has no SR-IOV")
            if not 0 <= count <= nic.form.total_vfs:
                raise InvalidArgument(attempted, subject, f"it can have {nic.form.total_vfs} at most")
            if state.vfs[pf] and count not in (0, state.vfs[pf]):
                raise InUse(attempted, subject, f"it has {state.vfs[pf]}; they must be disabled first")
            return state if state.vfs[pf] == count else with_vfs(state, nic, made(state, nic, count))

        self._apply(decide)

    def _nic(self, pf: Bdf) -> Nic:
        for nic in self.node.nics:
            if nic.bdf == pf:
                return nic
        raise NotFound("enable VFs", f"NIC {pf}", f"node {self.node.name} has no such NIC")

    def _apply(self, decide: Callable[[State], State]) -> None:
        self._store.change(lambda state: (decide(state), None))


def _refuse_foreign(directory: Path) -> None:
    if (directory / "root").exists():
        raise NoMachine(str(directory), "it holds a folder root/ that does not belong to a simulated machine")
