"""``tangram show -f`` and ``--cluster``: slices from files or a cluster, their sizes and other dialect."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_core.base.errors import CannotProject
from scheduler_core.books.expressed_groups import with_groups
from scheduler_core.codec import composite
from scheduler_core.codec.composite_encoding import encode_slice
from scheduler_core.codec.v1 import encode_pool
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.project import project
from scheduler_core.frontends.objects import Objects
from scheduler_core.model.pool import Pool
from tangram.cluster_options import documents_of
from tangram.errors import BadInput, bad_argument
from tangram.face import DONE, WRONG_INPUT, Face
from tangram.files import read_files
from tangram.objects import read_objects
from tangram.pictures.devices import devices_table, rows
from tangram.pictures.sizes import sizes_table
from tangram.program.streams import complain
from tangram.sizes import Size, size_of

_LAYOUTS = {"v1": Layout.SEPARATE, "v1-1.34": Layout.TOGETHER}


def run(options: Namespace, face: Face) -> int:
    """Show the slices of ``options.files``."""
    objects = read_objects(read_files(options))
    if not objects.composite_slices and not objects.v1_slices:
        raise BadInput(f"{', '.join(options.files)}: no ResourceSlice: nothing to show")
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
    if options.compatibility:
        from tangram.showing.compatibility import show_compatibility

        return show_compatibility(objects.pools(), face, as_json=options.json)
    if options.form is not None:
        face.out.documents(list(_slices(objects, options.form)), as_json=options.json)
    elif options.json:
        face.out.json([_plain(pool, objects) for pool in objects.pools()])
    else:
        for pool in objects.pools():
            face.out.heading(f"Pool {pool.id}")
            face.out.show(
                devices_table(pool, is_wide=face.out.is_wide), sizes_table(list(_sizes(pool, objects)))
            )
    problems = [pool for pool in objects.pools() if pool.problem is not None]
    for pool in problems if options.form is not None else ():  # the other forms say it themselves
        complain(f"pool {pool.id} cannot be used: {pool.problem}")
    return WRONG_INPUT if problems else DONE


def _plain(pool: Pool, objects: Objects) -> dict[str, Any]:
    return {
        "pool": pool.id,
        "generation": pool.generation,
        "isComplete": pool.is_complete,
        "problem": pool.problem,
        "rejected": {name: rejected.reason for name, rejected in pool.rejected.items()},
        "devices": rows(pool),
        "sizes": list(_sizes(pool, objects)),
    }


def _slices(objects: Objects, form: str) -> Iterator[Mapping[str, Any]]:
    for pool in objects.pools():
        if form != "composite":
            yield from encode_pool(_projected(pool, objects), _LAYOUTS[form])
        elif _is_composite(pool, objects):
            yield from (encode_slice(one) for one in objects.composite_slices if one.pool == pool.id)
        else:
            raise bad_argument("--as", form, f"pool {pool.id} is written in v1, which has no composite form")


def _sizes(pool: Pool, objects: Objects) -> Iterator[Size]:
    if _is_composite(pool, objects):
        yield size_of(
            "composite", [encode_slice(one) for one in objects.composite_slices if one.pool == pool.id]
        )
    for form, layout in _LAYOUTS.items():
        try:
            yield size_of(form, encode_pool(_projected(pool, objects), layout))
        except CannotProject as error:
            yield Size(form, obstacle=str(error))


def _projected(pool: Pool, objects: Objects) -> Pool:
    return project(with_groups(pool)) if _is_composite(pool, objects) else pool


def _is_composite(pool: Pool, objects: Objects) -> bool:
    return any(one.pool == pool.id for one in objects.composite_slices)
