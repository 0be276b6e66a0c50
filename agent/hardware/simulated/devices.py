"""The GPUs and NICs of a node file with their models: what never changes on a machine."""

from __future__ import annotations

from dataclasses import dataclass

from agent.hardware.simulated.gpu_models import GpuModel
from agent.hardware.simulated.nic_models import NicModel
from agent.hardware.simulated.schema import GpuForm, NicForm
from agent.hardware.simulated.tree import Site, shifted
from agent.hardware.types import Bdf, GpuUuid


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU of the node. Shape: ``index`` counts the node's GPUs by address, as NVML does."""

    index: int
    site: Site
    form: GpuForm
    model: GpuModel

    @property
    def uuid(self) -> GpuUuid:
        """Return the UUID that the node file gives."""
        return GpuUuid(self.form.uuid)

    @property
    def minor(self) -> int:
        """Return the number in ``/dev/nvidia<minor>``."""
        return self.form.minor

    def __str__(self) -> str:
        return f"GPU {self.minor} ({self.form.uuid})"


@dataclass(frozen=True, slots=True)
class Nic:
    """A NIC's physical function.

    Shape: ``number`` counts the node's NICs by address; ``first_rdma`` numbers the RDMA device of VF 0;
           ``first_verbs`` the uverbs device of the PF, those of its VFs follow; ``vf_addresses`` of all
           VFs, enabled or not.
    """

    number: int
    site: Site
    form: NicForm
    model: NicModel
    first_rdma: int
    first_verbs: int
    vf_addresses: tuple[Bdf, ...]

    @property
    def bdf(self) -> Bdf:
        """Return the PF's address."""
        return self.site.bdf

    @property
    def has_interface(self) -> bool:
        """Whether its driver makes network devices."""
        return self.model.has_interface and self.form.interface

    @property
    def has_rdma(self) -> bool:
        """Whether its driver makes RDMA devices."""
        return self.model.has_rdma and self.form.rdma

    def vf_address(self, index: int) -> Bdf:
        """Return the address of a VF, whether it is enabled or not."""
        return self.vf_addresses[index]


def cards(found: list[tuple[Site, GpuForm, GpuModel]]) -> tuple[Card, ...]:
    """Return the GPUs by address."""
    ordered = sorted(found, key=lambda entry: entry[0].bdf)
    return tuple(Card(index, site, form, model) for index, (site, form, model) in enumerate(ordered))


def nics(found: list[tuple[Site, NicForm, NicModel]]) -> tuple[Nic, ...]:
    """Return the NICs by address.

    The kernel numbers RDMA devices as drivers start: PFs first, then VFs. The uverbs numbers have another
    order on purpose, so that a mix-up of the two numbers shows.
    """
    ordered = sorted(found, key=lambda entry: entry[0].bdf)
    result: list[Nic] = []
    vfs_before = 0
    for number, (site, form, model) in enumerate(ordered):
        first_rdma, first_verbs = len(ordered) + vfs_before, number + vfs_before
        result.append(Nic(number, site, form, model, first_rdma, first_verbs, _vf_addresses(site.bdf, form)))
        vfs_before += form.total_vfs
    return tuple(result)


def _vf_addresses(pf: Bdf, form: NicForm) -> tuple[Bdf, ...]:
    first, by = (pf, 1) if form.first_vf is None else (Bdf(form.first_vf), 0)
    return tuple(shifted(first, by + index) for index in range(form.total_vfs))
