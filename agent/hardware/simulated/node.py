"""Reads a node file: the parts of a machine, with their models.

Takes a text; returns a ``NodeFile``. It has everything that never changes; the rest is the machine's state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.hardware.simulated import devices
from agent.hardware.simulated.checks import check
from agent.hardware.simulated.devices import Card, Nic
from agent.hardware.simulated.gpu_models import MemoryOverride, load_model
from agent.hardware.simulated.nic_models import nic_models
from agent.hardware.simulated.schema import (
    DataDirectForm,
    Document,
    GpuForm,
    MemoryForm,
    NicForm,
    PortForm,
    SwitchForm,
    read_document,
)
from agent.hardware.simulated.tree import Site, sites


@dataclass(frozen=True, slots=True)
class NodeFile:
    """A machine, as a file describes it.

    Shape: ``source`` the shipped name or the path; ``bridges`` from the root down; ``cards`` and ``nics``
           by address; ``direct`` the data-direct functions. Two node files are equal when they describe the
           same machine.
    """

    source: str = field(compare=False)
    text: str = field(compare=False, repr=False)
    document: Document
    bridges: tuple[Site, ...] = field(compare=False, repr=False)
    cards: tuple[Card, ...] = field(compare=False, repr=False)
    nics: tuple[Nic, ...] = field(compare=False, repr=False)
    direct: tuple[Site, ...] = field(compare=False, repr=False, default=())

    @property
    def name(self) -> str:
        """Return the machine's name."""
        return self.document.name

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return a sentence for each GPU profile that is left out because no source has its figures."""
        models = {card.model.name: card.model for card in self.cards}
        return tuple(sentence for name in sorted(models) for sentence in models[name].left_out)


def described(source: str, text: str) -> NodeFile:
    """Return the machine that a text describes; its first state is not checked. Raises: InvalidNodeFile."""
    document = read_document(source, text)
    check(source, document)
    bridges: list[Site] = []
    direct: list[Site] = []
    gpus, nics = [], []
    for site in sites(document):
        match site.form:
            case GpuForm() as form:
                override = _override(document.memory.get(form.model, MemoryForm()))
                gpus.append((site, form, load_model(form.model, override)))
            case NicForm() as form:
                nics.append((site, form, nic_models()[form.model]))
            case PortForm() | SwitchForm():
                bridges.append(site)
            case DataDirectForm():
                direct.append(site)
    cards, found = devices.cards(gpus), devices.nics(nics)
    return NodeFile(source, text, document, tuple(bridges), cards, found, tuple(direct))


def _override(form: MemoryForm) -> MemoryOverride:
    return MemoryOverride(
        total_mib=form.total_mib, profiles_mib=form.profiles_mib, multiprocessors=form.multiprocessors
    )
