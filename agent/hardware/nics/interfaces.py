"""Moves the interfaces of PCI functions between network namespaces, step by planned step.

Takes addresses of PCI functions, namespaces and wishes. Every call may be repeated: it reads what is, plans
what is left (``movements.py``) and does that.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path

from agent.hardware.errors import NotThereYet
from agent.hardware.nics.kernel import NetworkKernel
from agent.hardware.nics.links import Link
from agent.hardware.nics.movements import Place, Planned, way_back, way_in
from agent.hardware.nics.refusals import translated
from agent.hardware.nics.wishes import WantedInterface, normal
from agent.hardware.types import Bdf


@dataclass(frozen=True, slots=True)
class MovableInterfaces:
    """The ``Interfaces`` port over a kernel's rtnetlink."""

    kernel: NetworkKernel

    def find(self, bdf: Bdf, namespace: Path | None = None) -> Link | None:
        """Return a function's link in a namespace, None if it is not there or the namespace has ended."""
        return self._place(namespace).link_of(bdf)

    def move_in(self, bdf: Bdf, namespace: Path, wanted: WantedInterface) -> Link:
        """Bring a function's link into a namespace, as wanted, and return it."""
        wanted = normal(wanted)
        host, pod = self._place(None), self._place(namespace, must_exist=True)
        self._do(bdf, way_in(bdf, wanted, host, pod))
        return self._there(bdf, namespace)

    def move_back(self, bdf: Bdf, original: WantedInterface, namespace: Path | None) -> Link:
        """Bring a function's link back to the host, as it was, and return it."""
        host, pod = self._place(None), self._place(namespace) if namespace else Place(None, ())
        self._do(bdf, way_back(bdf, original, host, pod))
        return self._there(bdf, None)

    def _place(self, namespace: Path | None, must_exist: bool = False) -> Place:
        try:
            return Place(namespace, self.kernel.links(namespace))
        except OSError as error:
            if error.errno == errno.ENOENT and not must_exist:
                return Place(namespace, ())
            with translated("list the network links", str(namespace or "the host's namespace")):
                raise

    def _do(self, bdf: Bdf, plan: tuple[Planned, ...]) -> None:
        for planned in plan:
            with translated(f"do {planned.step}", f"PCI function {bdf}"):
                self.kernel.apply(planned.namespace, planned.step)

    def _there(self, bdf: Bdf, namespace: Path | None) -> Link:
        link = self.find(bdf, namespace)
        if link is None:
            where = str(namespace or "the host's namespace")
            raise NotThereYet("find the link after it was moved", f"PCI function {bdf}", f"not in {where}")
        return link
