"""Alibaba's trace ``cluster-trace-gpu-v2023`` (openb_pod_list_*.csv) as a trace of claims.

Its columns are described in https://github.com/alibaba/clusterdata. A pod
with whole GPUs asks for as many GPUs of one node. A pod with a part of a GPU asks for the smallest MIG
profile that has at least this part of the compute slices. Its name says it: ``2g.10gb`` has two of seven.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from scheduler_core.model.claim import Claim
from tangram.errors import BadInput
from tangram.planning.traces.cells import MOST_DEVICES, seconds, whole
from tangram.planning.traces.trace import Trace, TraceBuilder, Vocabulary

COLUMNS: Final = frozenset(
    ("name", "num_gpu", "gpu_milli", "creation_time", "deletion_time", "scheduled_time")
)
"""Those that are read; the file has more."""
_WHOLE_MILLI: Final = 1000
_PROFILE: Final = re.compile(r"([1-7])g\.([0-9]+)gb")
_NAMESPACE: Final = "openb"


def read_openb(place: str, rows: Iterable[tuple[int, Mapping[str, Any]]], known: Vocabulary) -> Trace:
    """Return the trace of the file's rows. Raises: BadInput."""
    builder, counts = TraceBuilder(place), Counter[str]()
    sizes = _sizes(known)
    for number, row in rows:
        gpus = whole(place, number, "num_gpu", row["num_gpu"], least=0, most=MOST_DEVICES)
        milli = whole(
            place, number, "gpu_milli", row["gpu_milli"] or _WHOLE_MILLI, least=0, most=_WHOLE_MILLI
        )
        came = seconds(place, number, "creation_time", row["creation_time"])
        left = seconds(place, number, "deletion_time", row["deletion_time"])
        began = seconds(place, number, "scheduled_time", row["scheduled_time"] or came)
        counts["without"] += gpus == 0
        counts["types"] += gpus > 0 and bool(row.get("gpu_spec"))
        if gpus == 0:
            continue
        key = (gpus, milli)
        claims = () if builder.knows(key) else [_claim(gpus, milli, sizes, known, place)]
        builder.arrive(came, max(left - began, 1.0), builder.ask(key, claims))
    return builder.trace(_notes(counts))


def _sizes(known: Vocabulary) -> list[tuple[int, str]]:
    """Return the MIG profiles of the nodes with their compute slices; of one size the least memory first."""
    found = ((_PROFILE.fullmatch(one.name), one.name) for one in known.kinds)
    sizes = sorted({(int(match[1]), int(match[2]), name) for match, name in found if match})
    return [(compute, name) for compute, _, name in sizes]


def _claim(gpus: int, milli: int, sizes: list[tuple[int, str]], known: Vocabulary, place: str) -> Claim:
    wanted = next((name for size, name in sizes if size * _WHOLE_MILLI >= 7 * milli), "gpu")
    name = "gpu" if gpus > 1 or milli >= _WHOLE_MILLI else wanted
    try:
        return known.of_kind(name, gpus, _NAMESPACE)
    except ValueError as error:
        raise BadInput(f"{place}: asks for {name}: {error}") from None


def _notes(counts: Counter[str]) -> Iterator[str]:
    if counts["without"]:
        yield f"{counts['without']} pods without a GPU are left out"
    if counts["types"]:
        yield f"{counts['types']} pods ask for types of GPUs: here they take any"
