"""Changes a machine's state and its rendered tree together.

Takes a decision (state in, state out). The new state is written first, then the tree is rendered. A process
that is killed in between leaves a stale tree; the next attach or change renders it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID, uuid5

from msgspec.structs import replace

from agent.hardware.simulated.clients import Clients
from agent.hardware.simulated.driver_tree import follow_instances, render_driver, render_instances
from agent.hardware.simulated.errors import NoMachine
from agent.hardware.simulated.faults import NicTrouble
from agent.hardware.simulated.files import Files
from agent.hardware.simulated.nics.binding import holders
from agent.hardware.simulated.nics.functions import VFIO, uplinks
from agent.hardware.simulated.nics.tree import follow_nics, render_nics, render_routes
from agent.hardware.simulated.nics.vfio_tree import render_vfio_driver
from agent.hardware.simulated.nics.views import changed_nics, views
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.pci_tree import render_pci
from agent.hardware.simulated.state import GpuState, State, StateFile
from agent.hardware.simulated.strikes import trouble

_LAYOUT: Final = 6
"""Raise this number when an unchanged state would be rendered differently."""

_STAMP_BYTES: Final = 64

_NAMESPACE: Final = UUID("8f1f9a0e-53c5-5d1c-9a5e-2f7c4d1b6a90")

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Store:
    """The state and the tree of the machine in ``directory``. Shape: ``root`` is the tree's root folder."""

    node: NodeFile
    directory: Path
    root: Path = field(init=False)
    files: StateFile = field(init=False)
    clients: Clients = field(init=False)
    _tree: Files = field(init=False, repr=False, compare=False)
    _rendered: str = field(init=False, repr=False, compare=False)
    # The state rendered last: while the same state is read again, the tree is up to date.
    _shown: list[State] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self.directory / "root")
        object.__setattr__(self, "files", StateFile(self.directory))
        object.__setattr__(self, "clients", Clients(self.directory))
        object.__setattr__(self, "_tree", Files(self.root))
        object.__setattr__(self, "_rendered", os.fspath(rendered_file(self.directory)))

    def read(self) -> State:
        """Return the present state."""
        return self.files.read()

    def repair(self) -> None:
        """Render the tree if it is stale."""
        self.change(lambda state: (state, None))

    def change(self, decide: Callable[[State], tuple[State, _Answer]]) -> _Answer:
        """Write the state that ``decide`` returns, render the tree, and return ``decide``'s answer.

        ``decide`` runs with the machine locked; if it raises, nothing changes.
        Raises: NoMachine if the directory is gone or cannot be written.
        """
        try:
            with self.files.locked():
                before = self.read()
                if not self._is_rendered(before):
                    self._render(before)
                after, answer = decide(before)
                if after != before:
                    after = replace(after, revision=before.revision + 1)
                    self.files.write(after)
                    self._follow(before, after)
                return answer
        except OSError as error:
            raise NoMachine(str(self.directory), f"it cannot be changed: {error}") from error

    def _is_rendered(self, state: State) -> bool:
        if self._shown and self._shown[0] is state:
            return True
        try:
            descriptor = os.open(self._rendered, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return os.read(descriptor, _STAMP_BYTES) == _stamp(state)
        finally:
            os.close(descriptor)

    def _render(self, state: State) -> None:
        files = self._tree
        _render_boot(files, self.node.name, state)
        render_pci(files, self.node)
        render_driver(files, self.node)
        render_nics(files, self.node.nics, views(self.node.nics, state))
        self._render_host_network(state)
        for card in self.node.cards:
            if self.node.document.driver:
                render_instances(files, card, state.gpus[card.uuid].instances)
        self._note(state)

    def _follow(self, before: State, after: State) -> None:
        files = self._tree
        if before.boots != after.boots:
            _render_boot(files, self.node.name, after)
        nics = changed_nics(self.node, before, after)
        if nics:
            follow_nics(files, nics, views(nics, before), views(nics, after))
            self._render_host_network(after)
        for card in self.node.cards:
            present, instances = before.gpus[card.uuid].instances, after.gpus[card.uuid].instances
            if self.node.document.driver and present != instances:
                follow_instances(files, card, present, instances)
        self._note(after)

    def _render_host_network(self, state: State) -> None:
        """Create what belongs to no single NIC: the VFIO driver and the default routes."""
        if self.node.nics:
            is_there = trouble(state, None, NicTrouble.NO_VFIO) is None
            render_vfio_driver(self._tree, is_there, lambda: holders(self.node, state, VFIO))
            render_routes(self._tree, uplinks(self.node, state))

    def _note(self, state: State) -> None:
        """Write down which state the tree shows, in place, so that a change creates no further file."""
        descriptor = os.open(self._rendered, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(descriptor, _stamp(state), 0)
        finally:
            os.close(descriptor)
        self._shown[:] = [state]


def rendered_file(directory: Path) -> Path:
    """Return the file that says which state the tree of a machine shows; a change writes it last."""
    return directory / "rendered"


def boot_id(name: str, state: State) -> str:
    """Return the boot id of the present boot."""
    return str(uuid5(_NAMESPACE, f"{name}/boot/{state.boots}"))


def minted(name: str, state: State) -> tuple[State, str]:
    """Return a MIG UUID that this machine never had, and the state that counts it."""
    count = state.minted + 1
    return replace(state, minted=count), f"MIG-{uuid5(_NAMESPACE, f'{name}/mig/{count}')}"


def with_gpu(state: State, uuid: str, gpu: GpuState) -> State:
    """Return the state with one GPU changed."""
    return replace(state, gpus={**state.gpus, uuid: gpu})


def _stamp(state: State) -> bytes:
    return f"layout {_LAYOUT:04} revision {state.revision:012}\n".encode()


def _render_boot(files: Files, name: str, state: State) -> None:
    files.write("proc/sys/kernel/random/boot_id", f"{boot_id(name, state)}\n")
