"""What containers need of GPUs, read from the machine once for all devices of a claim.

Takes GPUs by UUID; returns device nodes and the driver's files, checked and as the host names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from agent.hardware.errors import NotFound
from agent.hardware.ports import Machine
from agent.hardware.types import DeviceNode, Gpu, GpuUuid, HostFile
from plugin.machine.driver_parts import DriverParts, driver_parts
from plugin.machine.parts import Parts, SharedParts, usable_files, usable_nodes


class GpuParts:
    """The parts of the GPUs of one claim. What was read once is not read again.

    Shape: ``gpus`` as they were last listed, for what does not change while a GPU is there; ``ahead`` what
           was read of the driver a moment ago, which counts if the driver is still of that version.
    """

    def __init__(
        self,
        machine: Machine,
        host_root: Path,
        gpus: Mapping[GpuUuid, Gpu],
        ahead: DriverParts | None = None,
    ) -> None:
        self._machine = machine
        self._host_root = host_root
        self._gpus = gpus
        self._ahead = ahead
        self._minors: dict[GpuUuid, int] = {}
        self._nodes: dict[GpuUuid, tuple[DeviceNode, ...]] = {}

    def of_gpus(self, gpus: Sequence[GpuUuid]) -> Parts:
        """Return the parts of whole GPUs, for computing and graphics.

        Raises: HardwareError; NotReady where one is missing.
        """
        return Parts((*self._own_nodes(gpus), *self._drawing(gpus)), shared=self._shared)

    def of_monitored_gpus(self, gpus: Sequence[GpuUuid]) -> Parts:
        """Return the parts of GPUs, and the nodes through which a monitor sees their MIG instances.

        A monitor computes nothing, so it goes without the nodes for that where there are none.
        Raises: HardwareError; NotReady where one is missing.
        """
        own = (*self._own_nodes(gpus), *self._drawing(gpus))
        found = (node for gpu in gpus for node in self._machine.files.monitoring_nodes(self._minor(gpu)))
        nodes = usable_nodes(tuple(dict.fromkeys(found)), self._host_root)
        shared = SharedParts((*self._control_nodes, *self._compute_nodes_if_any), self._files)
        return Parts((*own, *nodes), shared=shared)

    def of_instance(self, gpu: GpuUuid, gi_id: int, ci_id: int, *, has_graphics: bool = False) -> Parts:
        """Return the parts of an instance: those of its GPU and its own nodes.

        Shape: ``has_graphics`` of a profile with graphics (``+gfx``).
        Raises: HardwareError; NotReady where one is missing.
        """
        own = self._own_nodes([gpu])
        nodes = self._machine.files.instance_nodes(self._minor(gpu), gi_id, ci_id)
        drawing = self._drawing([gpu] if has_graphics else [])
        return Parts((*own, *usable_nodes(nodes, self._host_root), *drawing), shared=self._shared)

    def _own_nodes(self, gpus: Sequence[GpuUuid]) -> tuple[DeviceNode, ...]:
        for gpu in gpus:
            self._minor(gpu)
        return tuple(node for gpu in gpus for node in self._gpu_nodes(gpu))

    def _minor(self, gpu: GpuUuid) -> int:
        # Asked for now: a driver that was loaded anew may have numbered its GPUs anew since they were listed.
        if gpu not in self._minors:
            self._minors[gpu] = self._machine.gpus.minor(gpu)
        return self._minors[gpu]

    def _gpu_nodes(self, gpu: GpuUuid) -> tuple[DeviceNode, ...]:
        if gpu not in self._nodes:
            nodes = self._machine.files.gpu_nodes(self._minor(gpu))
            self._nodes[gpu] = usable_nodes(nodes, self._host_root)
        return self._nodes[gpu]

    def _drawing(self, gpus: Sequence[GpuUuid]) -> tuple[DeviceNode, ...]:
        addresses = (self._gpus[gpu].bdf for gpu in gpus if gpu in self._gpus)
        nodes = (node for bdf in addresses for node in self._machine.files.graphics_nodes(bdf))
        return usable_nodes(tuple(nodes), self._host_root)

    @cached_property
    def _shared(self) -> SharedParts:
        version = self._version
        if self._ahead is None or self._ahead.version != version:
            return driver_parts(self._machine.files, version, self._host_root).shared
        return self._ahead.shared

    @cached_property
    def _version(self) -> str:
        return self._machine.gpus.versions().driver

    @cached_property
    def _control_nodes(self) -> tuple[DeviceNode, ...]:
        return usable_nodes(self._machine.files.control_nodes(), self._host_root)

    @cached_property
    def _compute_nodes_if_any(self) -> tuple[DeviceNode, ...]:
        try:
            return usable_nodes(self._machine.files.compute_nodes(), self._host_root)
        except NotFound:
            return ()

    @cached_property
    def _files(self) -> tuple[HostFile, ...]:
        files = self._machine.files
        return usable_files((*files.libraries(self._version), *files.sockets()), self._host_root)
