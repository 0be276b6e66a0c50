"""The webhook over TLS: 500 reviews a second by four clients, alone and beside a thread that computes.

The review itself answers at once, so what is measured is the server: TLS, HTTP, JSON and the threads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any, Final

from tangram.bench.report import MS, Report, Row, Unit, percentile
from tangram.bench.reviews import clients
from tangram.bench.settings import Settings

_COUNT: Final = 5000
_CLIENTS: Final = 4
_RATE: Final = 500.0
_BYTES: Final = 6000


def reviewing(settings: Settings) -> Report:
    """Time reviews over real connections."""
    # It loads the package that makes certificates, which would count in the memory of every other benchmark.
    from tangram.bench.reviews.server import serving_reviews  # noqa: PLC0415

    count = settings.count or _COUNT
    with serving_reviews() as (port, trusted):

        def ask(rate: float) -> dict[str, Any]:
            return _asked(port, trusted, count, rate)

        settings.say("500 reviews a second")
        calm = ask(_RATE)
        settings.say("the same beside a busy thread")
        with _busy():
            beside = ask(_RATE)
        settings.say("as many as there can be")
        most = ask(0.0)
    rows = (
        _times(f"{_RATE:.0f} reviews/s", calm, 10 * MS),
        _times("the same beside a thread that computes", beside, 10 * MS),
        Row(
            case="one after another",
            unit=Unit.REVIEWS_PER_SECOND,
            median=count / (most["lasted_ns"] / 1e9),
            samples=count,
        ),
    )
    title = f"reviews of {_BYTES // 1000} kB over TLS, {_CLIENTS} connections"
    return Report(name="webhook", title=title, rows=rows)


def _times(case: str, found: dict[str, Any], must_ns: int) -> Row:
    """Return the row of a rate. Its figure is the 99th percentile, which is what must be met."""
    took: list[int] = found["took_ns"]
    note = f"p50 {median(took) / MS:.1f} ms"
    figure = percentile(took, 99)
    return Row(
        case=f"p99, {case}", unit=Unit.NANOSECONDS, median=figure, samples=len(took), must=must_ns, note=note
    )


def _asked(port: int, trusted: str, count: int, rate: float) -> dict[str, Any]:
    """Return the times that the clients measured."""
    pod = {"metadata": {"name": "pod", "annotations": {"padding": "x" * _BYTES}}}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    told = {"trusted": trusted, "review": {**review, "request": {"uid": "u", "object": pod}}}
    arguments = [str(one) for one in (port, _CLIENTS, count, rate)]
    done = subprocess.run(  # noqa: S603  # our own program
        [sys.executable, str(Path(clients.__file__)), *arguments],
        input=json.dumps(told).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def _busy() -> Iterator[None]:
    """Compute in a thread of this process while the block runs, as the thread that decides does."""
    stop = Event()

    def compute() -> None:
        while not stop.is_set():
            sum(number * number for number in range(1000))

    thread = Thread(target=compute)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
