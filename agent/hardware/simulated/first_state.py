"""The first state of a machine, from its node file and under the rules of the hardware."""

from __future__ import annotations

from msgspec.structs import replace

from agent.hardware.errors import HardwareError
from agent.hardware.simulated import rules
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.errors import InvalidFault, InvalidNodeFile
from agent.hardware.simulated.fabric.rules import restarted
from agent.hardware.simulated.fault_text import missing_device, parse_fault
from agent.hardware.simulated.gpu_troubles.faults import GpuTrouble
from agent.hardware.simulated.health.limits import why_impossible
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.schema import Instance
from agent.hardware.simulated.state import GpuState, State
from agent.hardware.simulated.store import minted, with_gpu
from agent.hardware.simulated.strikes import with_fault
from agent.hardware.types import MigProfile, Placement


def first_state(node: NodeFile) -> State:
    """Return the state of a new machine.

    Raises: InvalidNodeFile if an instance or fault of the node file is impossible.
    """
    state = State(
        source=node.source,
        node=node.text,
        gpus={card.uuid: GpuState() for card in node.cards},
        vfs={nic.bdf: nic.form.vfs for nic in node.nics},
        faults=_faults(node),
    )
    for card in node.cards:
        state = _with_card(node, state, card)
    return replace(state, fabric=restarted(node, state))


def _with_card(node: NodeFile, state: State, card: Card) -> State:
    field = card.site.field.rpartition(".")[0]
    if card.form.mig and not card.model.is_mig_capable:
        raise InvalidNodeFile(node.source, f"{field}.mig", True, f"the {card.form.model} has no MIG")
    if card.form.instances and not card.form.mig:
        raise InvalidNodeFile(node.source, f"{field}.instances", None, "need mig: true on their GPU")
    state = with_gpu(state, card.uuid, GpuState(card.form.mig, card.form.mig))
    for at, wanted in enumerate(card.form.instances):
        try:
            state = _with_instance(node, state, card, wanted, f"{field}.instances[{at}]")
        except HardwareError as error:
            raise InvalidNodeFile(node.source, f"{field}.instances[{at}]", None, error.reason) from error
    return state


def _with_instance(node: NodeFile, state: State, card: Card, wanted: Instance, field: str) -> State:
    profile = _profile(node, card, wanted, field)
    sizes = {place.start: place.size for place in profile.placements}
    if wanted.start not in sizes:
        starts = ", ".join(str(start) for start in sizes)
        rule = f"{profile.name} may start at {starts}"
        raise InvalidNodeFile(node.source, f"{field}.start", wanted.start, rule)
    place = Placement(wanted.start, sizes[wanted.start])
    gpu, gi_id = rules.create_gpu_instance(card, state.gpus[card.uuid], profile.profile_id, place)
    state, uuid = minted(node.name, state)
    return with_gpu(state, card.uuid, rules.create_compute_instance(card, gpu, gi_id, uuid))


def _profile(node: NodeFile, card: Card, wanted: Instance, field: str) -> MigProfile:
    for profile in card.model.profiles:
        if profile.name == wanted.profile:
            return profile
    known = ", ".join(profile.name for profile in card.model.profiles)
    raise InvalidNodeFile(node.source, f"{field}.profile", wanted.profile, f"must be one of {known}")


def _faults(node: NodeFile) -> tuple[str, ...]:
    cards = {card.minor: card for card in node.cards}
    found: tuple[str, ...] = ()
    for at, text in enumerate(node.document.faults):
        try:
            fault = parse_fault(text)
        except InvalidFault as error:
            raise InvalidNodeFile(node.source, f"faults[{at}]", text, error.rule) from error
        missing = missing_device(fault, cards, range(len(node.nics)))
        if missing is not None:
            raise InvalidNodeFile(node.source, f"faults[{at}]", text, f"there is no {missing}")
        if isinstance(fault, GpuTrouble) and (reason := why_impossible(fault, cards[fault.gpu])):
            raise InvalidNodeFile(node.source, f"faults[{at}]", text, reason)
        found = with_fault(found, fault)
    return found
