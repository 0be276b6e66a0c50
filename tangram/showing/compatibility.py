"""``tangram show --compatibility``: which devices of slices may be in use together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scheduler_core.books.matrix import Matrix, contradictions, matrix
from scheduler_core.model.pool import Pool
from tangram.face import DOES_NOT_FIT, DONE, Face
from tangram.pictures.compatibility import compatibility_picture


def show_compatibility(pools: Iterable[Pool], face: Face, *, as_json: bool) -> int:
    """Show which devices may be in use together; contradictory declarations are a failure."""
    judged = [(pool, matrix(pool), contradictions(pool)) for pool in pools]
    if as_json:
        face.out.json([_plain_matrix(*one) for one in judged])
    else:
        for pool, found, wrong in judged:
            face.out.heading(f"Pool {pool.id}")
            face.out.show(*compatibility_picture(found, wrong))
    return DOES_NOT_FIT if any(wrong for _, _, wrong in judged) else DONE


def _plain_matrix(pool: Pool, found: Matrix, wrong: tuple[str, ...]) -> dict[str, Any]:
    return {
        "pool": pool.id,
        "devices": found.devices,
        "obstacles": [
            {"devices": pair, "reason": reason} for pair, reason in sorted(found.obstacles.items())
        ],
        "contradictions": wrong,
    }
