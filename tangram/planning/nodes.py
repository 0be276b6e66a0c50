"""Nodes that are not there yet: copies of a simulated machine, as pools under names of their own."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Final

from agent.inventory import describe, discover, offered
from agent.slices import v1_slices
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import v1
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.planning.node_kinds import NodeKind
from tangram.bench.copied import renamed
from tangram.face import Parser
from tangram.machines import Machines
from tangram.program.throwaway import throwaway_folder

MOST_NODES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Added:
    """Nodes to add. Shape: ``kind`` a shipped machine or a node file."""

    count: int
    kind: str


def add_nodes(parser: Parser, purpose: str) -> None:
    """Add ``--add``, which may be given several times."""
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        type=_added,
        metavar="N=KIND",
        help=f"{purpose}: N of a shipped machine (tangram node list) or of a node file; may be repeated",
    )


def add_kinds(parser: Parser) -> None:
    """Add ``--may-add``, which may be given several times."""
    parser.add_argument(
        "--may-add",
        action="append",
        default=[],
        metavar="KIND",
        help="where not all copies fit: say also how many nodes of this kind to add, a shipped machine or a "
        "node file; kinds of nodes that are there are asked about anyhow; may be repeated",
    )


def node_kind(kind: str, machines: Machines, driver: str) -> NodeKind:
    """Return a shipped machine or node file as a kind of node. Raises: BadInput, or as a node file."""
    pool = pool_of(kind, machines, driver)
    return NodeKind(name=kind, node=Node(pool.id.name), pools=(pool,))


def _added(text: str) -> Added:
    count, equals, kind = text.partition("=")
    if not equals or not kind or not (count.isascii() and count.isdigit() and 0 < int(count) <= MOST_NODES):
        raise ArgumentTypeError(f"{text!r}: must be N=KIND, N from 1 to {MOST_NODES}: 4=dgx-a100")
    return Added(int(count), kind)


def added_pools(
    wanted: Sequence[Added], machines: Machines, driver: str, taken: Iterable[str] = ()
) -> Iterator[Pool]:
    """Yield the pools of nodes to add, named after their kind: ``dgx-a100-1``.

    Shape: ``taken`` are names that nodes have already; they are left out.
    Raises: BadInput, or the error of a node file.
    """
    known = set(taken)
    number = 0
    for one in wanted:
        pool = pool_of(one.kind, machines, driver)
        names = _names(one.kind, known)
        for _ in range(one.count):
            number += 1
            yield renamed(pool, next(names), number)


def pool_of(kind: str, machines: Machines, driver: str) -> Pool:
    """Return the pool of a shipped machine or node file, as an agent publishes it without options."""
    with throwaway_folder() as folder:
        node = machines.simulated(kind, folder / "machine")
        readers = node.machine.readers
        slices = v1_slices(describe(offered(discover(readers, node.name)), driver))
    (pool,) = v1.pools(v1.decode_slice(one) for one in slices)
    return pool


def _names(kind: str, taken: set[str]) -> Iterator[str]:
    """Yield names of nodes of a kind that no node has, and take them."""
    stem = PurePath(kind).stem.lower()
    number = 0
    while True:
        number += 1
        name = f"{stem}-{number}"
        if name not in taken:
            taken.add(name)
            yield name
