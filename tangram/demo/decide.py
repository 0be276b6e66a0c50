"""The first half of the demo: from hardware to an allocation. It reads the machine and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from itertools import count
from uuid import NAMESPACE_URL, uuid5

from rich.console import Group
from rich.text import Text

from agent.hardware.errors import DriverMissing
from agent.hardware.ports import Readers
from agent.hardware.types import Gpu, Unreadable
from agent.inventory import describe, discover, offered
from agent.inventory.model import NodeDevices
from agent.slices import composite_slices, encoded
from scheduler_core.api import FIRST_FIT, Engine
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.allocations import claim_status
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.mixins import pools as pools_of
from scheduler_core.frontends.claims.many_nodes import allocate_marked_somewhere
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation, Answer, Unallocatable
from scheduler_core.search.answer import with_share_ids
from tangram.demo.request import Asked, suitable
from tangram.demo.station import Station
from tangram.node_options.offered import Offered
from tangram.node_sizes import sizes_of
from tangram.pictures.allocation import allocation_picture, refusal_picture
from tangram.pictures.counted import counted
from tangram.pictures.devices import devices_table, rows
from tangram.pictures.pcie import mig_text, pcie_tree
from tangram.pictures.sizes import sizes_table
from tangram.plain import plain
from tangram.program.fitting import Column, FittingTable
from tangram.program.output import yaml_text
from tangram.refusals import refusal_value


@dataclass(slots=True)
class Decision:
    """What the first half leads to.

    Shape: ``asked`` is None where the claim is to suit the node; ``offered`` what the node's options say;
           all is set once ``stations`` has come to its end.
    """

    node: str
    asked: Asked | None = None
    offered: Offered = field(default_factory=Offered)
    answer: Answer | None = None
    pools: tuple[Pool, ...] = field(default=())


def stations(readers: Readers, decision: Decision, driver: str, width: int) -> Iterator[Station]:
    """Yield the stations from hardware to allocation; fill ``decision`` on the way."""
    yield _hardware(readers, decision.node)
    inventory = discover(readers, decision.node)
    made_by = "agent.inventory.discover(readers, node)"
    yield Station("inventory", made_by, pcie_tree(inventory), plain(inventory))
    on_offer = offered(decision.offered.on(inventory))
    devices = describe(on_offer, driver)
    yield _devices(devices)
    slices = encoded(composite_slices(devices))
    sizes = list(sizes_of(devices))
    made_by = "agent.slices.composite_slices, v1_slices; scheduler_core.dialects.project"
    yield Station("slices", made_by, sizes_table(sizes), {"sizes": plain(sizes), "composite": slices})
    is_in_vain = decision.asked is None and not inventory.gpus
    asked = decision.asked = decision.asked or suitable(on_offer, driver)
    made_by = "scheduler_core.codec.claims.decode_claim"
    yield Station("claim", made_by, Text(yaml_text(asked.written).rstrip()), list(asked.written))
    decision.pools = pools_of(decode_slice(one) for one in slices)
    station = _allocation(decision, asked, width)
    yield replace(station, picture=_no_gpu(decision.node)) if is_in_vain else station


def _share_ids(asked: Asked) -> Callable[[], str]:
    """Return what names shares, as an API server would: the same claims get the same names again."""
    claims, numbers = ", ".join(str(claim.ref) for claim in asked.claims), count()
    return lambda: str(uuid5(NAMESPACE_URL, f"tangram:{claims}/share/{next(numbers)}"))


def _no_gpu(node: str) -> Text:
    """Say why the demo's own claim, which has no selector that could be at fault, finds nothing."""
    told = f"does not fit on {node}: the machine has no GPU to ask for; name other claims with --claim"
    return Text(told, style="bold red")


def _hardware(readers: Readers, node: str) -> Station:
    gpus, note = _gpus(readers)
    rows = list[Sequence[str | Text]]()
    for gpu in gpus:
        if isinstance(gpu, Unreadable):
            rows.append((Text(gpu.what, style="red"), Text(gpu.reason, style="red"), "", "", "", ""))
            continue
        memory = "none" if gpu.memory_bytes is None else str(Quantity.bytes_of(gpu.memory_bytes))
        rows.append((str(gpu.minor), gpu.product_name, gpu.uuid, gpu.bdf, memory, mig_text(gpu)))
    heads = ("GPU", "product", "UUID", "address", "memory", "mode")
    table = FittingTable([Column(head) for head in heads], rows)
    boot = Text(f"{node}, {note}, boot {readers.boot.boot_id()}", style="dim")
    made_by = "agent.hardware.simulated: SimulatedMachine.open(load_node(...))"
    return Station("hardware", made_by, Group(table, boot), {"node": node, "gpus": plain(gpus)})


def _gpus(readers: Readers) -> tuple[tuple[Gpu | Unreadable, ...], str]:
    try:
        gpus = readers.gpus.gpus()
    except DriverMissing as missing:
        return (), str(missing)
    return gpus, counted(len(gpus), "GPU")


def _devices(devices: NodeDevices) -> Station:
    left_out = [Text(f"left out: {sentence}", style="yellow") for sentence in devices.left_out]
    picture = Group(devices_table(devices.pool), *left_out)
    value = {
        "pool": plain(devices.pool.id),
        "devices": plain(rows(devices.pool)),
        "leftOut": devices.left_out,
    }
    return Station("devices", "agent.inventory.describe(inventory, driver)", picture, value)


def _answer(asked: Asked, cluster: Cluster, node: Node) -> Answer:
    """Allocate the claims on the node, annotated ones as their annotations say."""
    engine = Engine.of(cluster, FIRST_FIT)
    marked = allocate_marked_somewhere(asked.claims, asked.marks, engine, (node,), {})
    return marked or engine.allocate(asked.claims, node)


def _allocation(decision: Decision, asked: Asked, width: int) -> Station:
    cluster = Cluster(pools=decision.pools, classes=asked.classes)
    made_by = "scheduler_core.api.allocate(claims, cluster, node)"
    decision.answer = answer = _answer(asked, cluster, Node(decision.node))
    if isinstance(answer, Unallocatable):
        return Station("allocation", made_by, refusal_picture(answer), refusal_value(answer), is_end=True)
    assert isinstance(answer, Allocation), "a few requests on one node are decided within the bound"
    decision.answer = answer = with_share_ids(answer, decision.pools, _share_ids(asked))
    statuses = {str(claim.ref): claim_status(answer, claim.ref) for claim in asked.claims}
    picture = allocation_picture(answer, decision.pools, (), width)
    return Station(
        "allocation", made_by, picture, {"allocated": True, "node": answer.node, "claims": statuses}
    )
