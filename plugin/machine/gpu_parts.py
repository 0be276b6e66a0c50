"""What containers need of GPUs, read from the machine once for all devices of a claim.

Takes GPUs by UUID; returns device nodes and the driver's files, checked and as the host names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from agent.hardware.ports import Machine
from agent.hardware.types import DeviceNode, GpuUuid, HostFile
from plugin.machine.parts import Parts, usable_files, usable_nodes


class GpuParts:
    """The parts of the GPUs of one claim. What was read once is not read again."""

    def __init__(self, machine: Machine, host_root: Path) -> None:
        self._machine = machine
        self._host_root = host_root
        self._minors: dict[GpuUuid, int] = {}
        self._nodes: dict[GpuUuid, tuple[DeviceNode, ...]] = {}

    def of_gpus(self, gpus: Sequence[GpuUuid]) -> Parts:
        """Return the nodes that every consumer of a GPU needs, those of the GPUs, and the driver's files.

        Raises: HardwareError; NotReady where one is missing.
        """
        for gpu in gpus:
            self._minor(gpu)
        control_nodes = self._control_nodes
        return Parts((*control_nodes, *(node for gpu in gpus for node in self._gpu_nodes(gpu))), self._files)

    def of_monitored_gpus(self, gpus: Sequence[GpuUuid]) -> Parts:
        """Return the parts of GPUs, and the nodes through which a monitor sees their MIG instances.

        Raises: HardwareError; NotReady where one is missing.
        """
        of_gpus = self.of_gpus(gpus)
        found = (node for gpu in gpus for node in self._machine.files.monitoring_nodes(self._minor(gpu)))
        nodes = usable_nodes(tuple(dict.fromkeys(found)), self._host_root)
        return Parts((*of_gpus.nodes, *nodes), of_gpus.files)

    def of_instance(self, gpu: GpuUuid, gi_id: int, ci_id: int) -> Parts:
        """Return the parts of an instance: those of its GPU and its own nodes.

        Raises: HardwareError; NotReady where one is missing.
        """
        of_gpu = self.of_gpus([gpu])
        nodes = self._machine.files.instance_nodes(self._minor(gpu), gi_id, ci_id)
        return Parts((*of_gpu.nodes, *usable_nodes(nodes, self._host_root)), of_gpu.files)

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

    @cached_property
    def _control_nodes(self) -> tuple[DeviceNode, ...]:
        return usable_nodes(self._machine.files.control_nodes(), self._host_root)

    @cached_property
    def _files(self) -> tuple[HostFile, ...]:
        driver = self._machine.gpus.versions().driver
        return usable_files(self._machine.files.libraries(driver), self._host_root)
