"""Many threads and two drivers, as two processes would be, on one machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

from plugin.base.errors import DeviceHeld, PluginError

HALF = "gpu-0-mig-3g-20gb-4-7"


def all_at_once(*deeds: Callable[[], Any]) -> list[Any]:
    """Run deeds in threads that start together; an error of ours is a result."""
    together = Barrier(len(deeds))

    def run(deed: Callable[[], Any]) -> Any:
        together.wait()
        try:
            return deed()
        except PluginError as error:
            return error

    with ThreadPoolExecutor(len(deeds)) as pool:
        return list(pool.map(run, deeds))


def test_of_many_claims_for_one_device_exactly_one_gets_it(bench: Any) -> None:
    drivers = [bench.another_driver(), bench.another_driver()]
    claims = [bench.claim(f"u{number}", HALF) for number in range(8)]

    results = all_at_once(
        *(
            lambda claim=claim, driver=drivers[number % 2]: driver.prepare(claim)
            for number, claim in enumerate(claims)
        )
    )

    refused = [result for result in results if isinstance(result, DeviceHeld)]
    (record,) = bench.records()
    assert len(refused) == 7
    assert all(f"default/{record.name}" in str(error) for error in refused)
    assert len(bench.instances()) == 1


def test_two_calls_for_one_claim_get_one_answer(bench: Any) -> None:
    drivers = [bench.another_driver(), bench.another_driver()]

    results = all_at_once(
        *(lambda driver=driver: driver.prepare(bench.claim("u1", HALF)) for driver in drivers * 2)
    )

    assert [result for result in results if result != results[0]] == []
    assert results[0][0].device == HALF
    assert len(bench.instances()) == 1


def test_claims_that_share_two_gpus_in_opposite_order_never_wait_for_each_other(bench: Any) -> None:
    driver = bench.another_driver()
    first = bench.claim("u1", "gpu-0-mig-1g-5gb-0", "gpu-1-mig-1g-5gb-0")
    second = bench.claim("u2", "gpu-1-mig-1g-5gb-1", "gpu-0-mig-1g-5gb-1")

    for _ in range(5):
        results = all_at_once(lambda: driver.prepare(first), lambda: driver.prepare(second))
        assert [len(result) for result in results] == [2, 2]
        all_at_once(
            lambda: driver.unprepare(first.uid, first.ref), lambda: driver.unprepare(second.uid, second.ref)
        )

    assert bench.leftovers() == []


def test_an_unprepare_waits_for_a_prepare_that_has_not_even_begun_and_undoes_it(
    bench_of: Callable[..., Any],
) -> None:
    at_work, go_on = Event(), Event()

    def slow(_: float) -> None:
        at_work.set()
        go_on.wait()

    bench = bench_of("a100x2", slow)
    bench.inject("gpu-0:create-compute-instance:slow=1:1")
    first, second = bench.claim("u1", HALF), bench.claim("u2", "gpu-0-mig-1g-5gb-0")
    waits_for_gpu, waits_for_claim = Event(), Event()
    queued, undoing = bench.another_driver(waits_for_gpu), bench.another_driver(waits_for_claim)

    with ThreadPoolExecutor(3) as pool:
        deeds = [pool.submit(bench.another_driver().prepare, first)]
        at_work.wait()
        deeds.append(pool.submit(queued.prepare, second))
        assert waits_for_gpu.wait(timeout=30)
        deeds.append(pool.submit(undoing.unprepare, second.uid, second.ref))
        assert waits_for_claim.wait(timeout=30)
        go_on.set()
        for deed in deeds:
            deed.result()
    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_a_start_beside_a_prepare_in_progress_does_not_undo_it(bench_of: Callable[..., Any]) -> None:
    entered, gate = Event(), Event()

    def slow(_: float) -> None:
        entered.set()
        gate.wait()

    bench = bench_of("a100x2", slow)
    bench.inject("gpu-0:create-compute-instance:slow=1:1")

    with ThreadPoolExecutor(2) as pool:
        prepared = pool.submit(bench.another_driver().prepare, bench.claim("u1", HALF))
        entered.wait()
        repaired = pool.submit(bench.another_driver().reconcile)
        gate.set()
        answer = prepared.result()
        repaired.result()

    assert bench.prepare("u1", HALF) == answer
    assert [record.state for record in bench.records()] == ["completed"]
