"""The form of a node file. Takes text; returns structs; every error is one ``InvalidNodeFile``.

The tree is written from the root down: root complexes, their root ports, and below each port switches (with
ports of their own), GPUs and NICs. Only defaults are filled in here.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from agent.hardware.simulated.errors import InvalidNodeFile
from agent.hardware.simulated.yaml_text import NotYaml, read_yaml


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of all parts: immutable; unknown fields are errors."""


class Driver(Form, frozen=True):
    """The NVIDIA driver. Shape: ``version`` such as 560.35.03, ``cuda`` such as 12.6."""

    version: str
    cuda: str


class NumaNode(Form, frozen=True):
    """A NUMA node.

    Shape: ``cpus`` is a list such as ``0-15,64-79``, empty for memory without CPUs; ``distances`` one per
           node.
    """

    node: int
    socket: int
    cpus: str
    distances: tuple[int, ...]


class Instance(Form, frozen=True):
    """A MIG partition that exists when the machine is first started. Units: ``start`` memory slices."""

    profile: str
    start: int


class GpuForm(Form, frozen=True, tag_field="kind", tag="gpu"):
    """A GPU. ``mig`` and ``instances`` are its state when the machine is first started.

    Shape: ``module`` is its place on its baseboard, None without one.
    """

    bdf: str
    model: str
    minor: int
    uuid: str
    module: int | None = None
    mig: bool = False
    instances: tuple[Instance, ...] = ()


class NicForm(Form, frozen=True, tag_field="kind", tag="nic"):
    """A NIC's physical function.

    Shape: ``vfs`` are enabled at every boot; ``total_vfs`` is the maximum, 0 without SR-IOV; ``first_vf``
           is the address of VF 0, by default the function after the PF; ``default_route`` means that the
           node needs it itself; ``eswitch`` None for a driver that does not tell its mode;
           ``kernel_links`` gives its functions real network devices, which needs root;
           ``link`` is ``unspecified`` if the link layer is neither Ethernet nor InfiniBand;
           ``pci_class`` of its functions, six hex digits, by default the model's;
           ``interface`` and ``rdma`` say that its driver makes such devices, if the model has them;
           ``guids`` false leaves its InfiniBand VFs without GUIDs, as mlx5 does until its PF sets them;
           ``software_rdma`` is the kind of an RDMA device that software makes on its interface.
    """

    bdf: str
    model: str
    link: Literal["ethernet", "infiniband", "unspecified"]
    vfs: int = 0
    total_vfs: int = 0
    first_vf: str | None = None
    default_route: bool = False
    eswitch: Literal["legacy", "switchdev"] | None = None
    kernel_links: bool = False
    pci_class: str | None = None
    interface: bool = True
    rdma: bool = True
    guids: bool = True
    software_rdma: Literal["siw", "rxe"] | None = None


class DataDirectForm(Form, frozen=True, tag_field="kind", tag="data-direct"):
    """The function through which a NIC's card reads GPU memory. Shape: ``nic`` is the address of the NIC."""

    bdf: str
    nic: str


class SwitchForm(Form, frozen=True, tag_field="kind", tag="switch"):
    """A PCIe switch: its upstream port and, below, its downstream ports."""

    upstream: str
    downstream: tuple[PortForm, ...]


class PortForm(Form, frozen=True):
    """A root port or downstream port, and the functions below it."""

    port: str
    below: tuple[SwitchForm | GpuForm | NicForm | DataDirectForm, ...] = ()


class RootComplexForm(Form, frozen=True):
    """A root complex such as ``pci0000:3a``.

    Shape: ``below`` are functions without a root port, as virtual machines have them; ``under`` is what sysfs
           has before the root complex: another function's folder (VMD), or a device of a hypervisor's bus;
           ``numa_node`` is None if the kernel says -1.
    """

    root_complex: str
    root_ports: tuple[PortForm, ...] = ()
    below: tuple[GpuForm | NicForm | DataDirectForm, ...] = ()
    under: str = ""
    numa_node: int | None = None


class MemoryForm(Form, frozen=True):
    """Figures that this machine's driver reports in place of a model's. Units: MiB."""

    total_mib: int | None = None
    profiles_mib: dict[str, int] = {}
    multiprocessors: int | None = None


class FabricPartitionForm(Form, frozen=True):
    """A group of GPUs that the fabric manager can join.

    Shape: ``modules`` of its GPUs; ``links_mb_s`` of all links of a GPU in one direction, 0 if the fabric
           manager states none. Units: megabytes per second.
    """

    id: int
    modules: tuple[int, ...]
    links_mb_s: int = 0


class FabricForm(Form, frozen=True):
    """A fabric manager that joins GPUs on request. Shape: ``mode`` as ``FabricMode``."""

    mode: Literal["shared-nvswitch", "vgpu"]
    partitions: tuple[FabricPartitionForm, ...]


class Document(Form, frozen=True):
    """A whole node file.

    Shape: ``topology`` is ``illustrative`` for a plausible tree, else it names the source of the tree;
           ``driver`` is None without the NVIDIA driver; ``memory`` by GPU model; ``faults`` in their text
           form; ``passthrough`` means a virtual machine with GPUs passed through; ``fabric`` is None where
           all GPUs are joined, or no GPU can be.
    """

    name: str
    summary: str
    topology: str
    driver: Driver | None
    numa: tuple[NumaNode, ...]
    pci: tuple[RootComplexForm, ...]
    passthrough: bool = False
    memory: dict[str, MemoryForm] = {}
    faults: tuple[str, ...] = ()
    fabric: FabricForm | None = None


msgspec.json.Decoder(Document)  # builds what ``convert`` needs while one thread is here: decision 0088


def read_document(file: str, text: str) -> Document:
    """Read the text of a node file. Raises: InvalidNodeFile."""
    try:
        raw = read_yaml(text)
        if not isinstance(raw, dict):
            raise InvalidNodeFile(file, "", raw, _MAPPING)
        return msgspec.convert(raw, Document)
    except NotYaml as error:
        raise InvalidNodeFile(file, error.place, None, f"is not YAML: {error.reason}") from error
    except msgspec.ValidationError as error:
        rule, _, path = str(error).partition(" - at `$")
        field = path.rstrip("`").removeprefix(".")
        raise InvalidNodeFile(file, field, _value_at(raw, field), rule) from error


_MAPPING: Final = "the document must be a mapping with name, summary, topology, driver, numa and pci"
_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def _value_at(raw: object, field: str) -> object:
    """Return the value at a path of msgspec, None if it is unknown or no plain value."""
    at: Any = raw
    for name, index in _STEP.findall(field):
        if index and isinstance(at, list):
            at = at[int(index)]
        elif name in at if isinstance(at, dict) else False:
            at = at[name]
        else:
            return None
    return at if isinstance(at, str | int) else None
