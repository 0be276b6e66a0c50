"""``tangram show -f`` and ``--cluster``: slices from files or a cluster, their sizes and other dialect."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scheduler_core.base.errors import CannotProject
from scheduler_core.books.expressed_groups import with_groups
from scheduler_core.codec import composite
from scheduler_core.codec.composite_encoding import encode_slice
from scheduler_core.codec.v1 import encode_pool
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.project import project
from scheduler_core.frontends.multi_node.pool_object import wanted_slices
from scheduler_core.frontends.objects import Objects
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from tangram.cluster_options import documents_of
from tangram.errors import BadInput, bad_argument
from tangram.face import DONE, WRONG_INPUT, Face
from tangram.files import read_files
from tangram.objects import read_objects, report_left_out
from tangram.pictures.devices import devices_table, rows
from tangram.pictures.sizes import sizes_table
from tangram.preparable import driver_of
from tangram.program.streams import complain
from tangram.sizes import Size, size_of

_LAYOUTS = {"v1": Layout.SEPARATE, "v1-1.34": Layout.TOGETHER}


def run(options: Namespace, face: Face) -> int:
    """Show the slices of ``options.files``."""
    objects = read_objects(read_files(options), driver_of(options), shows_mistakes=True)
    if not objects.composite_slices and not objects.v1_slices and not objects.multi_node:
        raise BadInput(f"{', '.join(options.files)}: no ResourceSlice and no MultiNodePool: nothing to show")
    if options.driver_name is not None and not objects.multi_node:
        rule = "has no effect with --file: slices name theirs"
        raise bad_argument("--driver-name", options.driver_name, rule)
    return _show(objects, options, face)


def run_cluster(options: Namespace, face: Face) -> int:
    """Show the composite slices that a cluster holds, of one node where the options name it."""
    cluster = face.connect(options.kubeconfig, options.context)
    fields = f"spec.pool.name={options.node}" if options.node else ""
    objects = read_objects(documents_of(cluster, composite.KIND, fields))
    if not objects.composite_slices:
        where = f"pool {options.node}" if options.node else "any node"
        raise BadInput(f"the cluster holds no {composite.KIND} of {where}: does tangram agent run there?")
    return _show(objects, options, face)


def _show(objects: Objects, options: Namespace, face: Face) -> int:
    pools = objects.pools()
    report_left_out(objects, pools, are_devices_shown=options.form is None)
    if options.compatibility:
        from tangram.showing.compatibility import show_compatibility

        return show_compatibility(pools, face, as_json=options.json)
    nodes = objects.nodes_to_try(pools)
    if options.form is not None:
        face.out.documents(list(_slices(objects, options.form)), as_json=options.json)
    elif options.json:
        face.out.json([_plain(pool, objects, nodes) for pool in pools])
    else:
        for pool in pools:
            face.out.heading(f"Pool {pool.id}")
            face.out.show(
                devices_table(pool, nodes, is_wide=face.out.is_wide), sizes_table(list(_sizes(pool, objects)))
            )
    for sentence in objects.missing_nodes() if options.form is None else ():
        complain(sentence)
    problems = [pool for pool in pools if pool.problem is not None]
    for pool in problems if options.form is not None else ():  # the other forms say it themselves
        complain(f"pool {pool.id} cannot be used: {pool.problem}")
    is_refused = any(one.is_mistaken for one in objects.multi_node)  # its pool may have slices of before
    return WRONG_INPUT if problems or is_refused else DONE


def _plain(pool: Pool, objects: Objects, nodes: Sequence[Node]) -> dict[str, Any]:
    return {
        "pool": pool.id,
        "generation": pool.generation,
        "isComplete": pool.is_complete,
        "problem": pool.problem,
        "rejected": {name: rejected.reason for name, rejected in pool.rejected.items()},
        "devices": rows(pool, nodes),
        "sizes": list(_sizes(pool, objects)),
    }


def _slices(objects: Objects, form: str) -> Iterator[Mapping[str, Any]]:
    for pool in objects.pools():
        if form != "composite":
            yield from _as_v1(pool, objects, _LAYOUTS[form])
        elif written := _written(pool, objects):
            yield from map(encode_slice, written)
        else:
            raise bad_argument("--as", form, f"pool {pool.id} is written in v1, which has no composite form")


def _sizes(pool: Pool, objects: Objects) -> Iterator[Size]:
    if written := _written(pool, objects):
        yield size_of("composite", [*map(encode_slice, written)])
    for form, layout in _LAYOUTS.items():
        try:
            yield size_of(form, _as_v1(pool, objects, layout))
        except CannotProject as error:
            yield Size(form, obstacle=str(error))


def _written(pool: Pool, objects: Objects) -> list[CompositeSlice]:
    """Return the pool in the composite dialect; nothing for a pool that is written in v1."""
    of_objects = (one.object.composite for one in objects.multi_node)
    composites = (*objects.composite_slices, *(one for one in of_objects if one is not None))
    return [one for one in composites if one.pool == pool.id]


def _as_v1(pool: Pool, objects: Objects, layout: Layout) -> Sequence[Mapping[str, Any]]:
    """Return the slices that are published of a pool. Raises: CannotProject."""
    for one in objects.multi_node:
        if one.object.pool_name == pool.id.name and one.slices:
            if layout is Layout.SEPARATE or isinstance(one.object.content, str):
                return one.slices
            return wanted_slices(one.object, one.object.content, layout)
    return encode_pool(project(with_groups(pool)) if _written(pool, objects) else pool, layout)
