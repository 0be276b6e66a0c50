"""What of an occupancy ``tangram top`` shows, as its options ask for it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from rich.console import RenderableType

from scheduler_core.frontends.occupancy.narrowing import of_drivers, of_namespace, on_nodes
from scheduler_core.frontends.occupancy.values import ClusterOccupancy
from tangram.errors import bad_argument
from tangram.face import Face
from tangram.pictures.occupancy.cluster import occupancy_picture


def narrowed(found: ClusterOccupancy, options: Namespace, *, is_first: bool = True) -> ClusterOccupancy:
    """Return the part that the options ask for.

    Raises: BadInput for a node or driver that has nothing to show, at the first time: later they come and go.
    """
    if options.only_drivers:
        if is_first:
            _check_drivers(found.drivers, options.only_drivers)
        found = of_drivers(found, options.only_drivers)
    if options.nodes:
        known = {one.name for one in found.nodes}
        for name in options.nodes:
            if is_first and name not in known:
                raise bad_argument("NODE", name, "no slice of a device names this node")
        found = on_nodes(found, options.nodes)
    return of_namespace(found, options.namespace) if options.namespace else found


def _check_drivers(known: tuple[str, ...], wanted: list[str]) -> None:
    for name in wanted:
        if name not in known:
            raise bad_argument(
                "--only-driver", name, f"publishes no device; there are: {', '.join(known) or 'none'}"
            )


def pictures(found: ClusterOccupancy, options: Namespace, face: Face) -> Iterator[RenderableType]:
    """Draw an occupancy as the options ask for it."""
    return occupancy_picture(found, namespace=options.namespace or "", is_wide=face.out.is_wide)
