"""Makes the parts of the agent that stand before the API server: its publications, and who numbers GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.api import Cluster
from agent.inventory.numbers.in_slices import witnesses_in
from agent.inventory.numbers.kept import KeptNumbers, NumbersUnknown
from agent.inventory.numbers.number_file import NumberFile, folder_of
from agent.inventory.numbers.numbering import Numbering, Witness
from agent.options import Options
from agent.publishing.errors import ServerError
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents
from agent.publishing.publication import Clocks, Owner, Publication
from agent.publishing.sources import CompositeSource, V1Source
from agent.publishing.telling.foreign_writes import ForeignWrites
from agent.publishing.telling.ownership import Ownership
from agent.publishing.telling.taken_names import TakenNames
from scheduler_core.publishing.documents import Document


def numbering_of(options: Options, cluster: Cluster, node_events: NodeEvents) -> Numbering:
    """Return who numbers the GPUs, as the plugin does; where no file says it, as the published slices do."""
    driver, node = options.driver_name, options.node_name

    def published() -> Iterable[Witness]:
        try:
            return witnesses_in(cluster.published(driver, node), driver)
        except ServerError as error:
            raise NumbersUnknown("read the numbers of GPUs", f"slices of node {node}", str(error)) from error

    folder = folder_of(options.kubelet_dir, driver, options.machine.folder)
    return KeptNumbers(NumberFile(folder, node), published, node_events.warn)


def publications_of(
    options: Options, cluster: Cluster, metrics: Metrics, clocks: Clocks, node_events: NodeEvents
) -> list[Publication]:
    """Return what keeps the node's slices up to date, the v1 ones first: their order is that of writing."""
    driver, node = options.driver_name, options.node_name
    owner = Owner(cluster.nodes(), node)
    store = cluster.resource_slices(driver, node)
    owned = Ownership(node, metrics, node_events)
    foreign = ForeignWrites(store, driver, metrics, node_events)
    taken = TakenNames(metrics, node_events).heard

    def told(allocator: str, slices: Sequence[Document]) -> None:
        owned.stored(allocator, slices)
        foreign.ask()  # once the node's own slices are there: they do not wait for the answer

    alone = options.composite_only
    source = V1Source(metrics, node_events, gives_way=alone)
    found = [Publication(store, source, owner, metrics, clocks, hear=told, hear_taken=taken)]
    if options.composite:
        store = cluster.composite_slices(driver, node)
        found.append(
            Publication(store, CompositeSource(is_alone=alone), owner, metrics, clocks, hear_taken=taken)
        )
    return found
