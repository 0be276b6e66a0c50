"""The bandwidth that a node gives its VFs is set as their maximum rate, and nobody gets more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.types import Bdf
from agent.inventory.vfs.option import read_vf_rules
from plugin.base.errors import ClaimUnusable
from scheduler_core.model.claim import OpaqueConfig

PF, VF = Bdf("0000:19:00.0"), "nic-0000-19-00-0-vf-0"


@pytest.fixture
def bench(folder: Path, vf_bench_in: Callable[..., Any]) -> Any:
    """A machine whose NIC gives each VF 10,000 Mbit/s."""
    return vf_bench_in(folder, read_vf_rules("all=keep@10000/25000"))


def configured(**fields: Any) -> tuple[OpaqueConfig, ...]:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", **fields}
    return (OpaqueConfig(driver="tangram.dev", parameters=parameters),)


def rate(bench: Any) -> int:
    found: int = bench.machine.nics.settings.read(PF, 0).max_rate
    return found


@pytest.mark.parametrize("mode", [None, "rdma", "vfio", "netdev"])
def test_a_vf_gets_its_bandwidth_as_rate_until_its_claim_ends(bench: Any, mode: str | None) -> None:
    configs = configured(mode=mode) if mode else ()

    bench.driver.prepare(bench.claim("u1", VF, configs=configs))

    assert rate(bench) == 10000
    bench.unprepare("u1")
    assert rate(bench) == 0
    assert bench.leftovers() == []


def test_a_claim_may_ask_for_less_and_not_for_more(bench: Any) -> None:
    bench.driver.prepare(bench.claim("u1", VF, configs=configured(maxTxRate=400)))
    assert rate(bench) == 400
    bench.unprepare("u1")

    with pytest.raises(ClaimUnusable, match=r"maxTxRate: 10001: must be at most 10000 Mbit/s, the bandwidth"):
        bench.driver.prepare(bench.claim("u2", VF, configs=configured(maxTxRate=10001)))
    with pytest.raises(ClaimUnusable, match=r"minTxRate: 10001: must be at most 10000 Mbit/s, the bandwidth"):
        bench.driver.prepare(bench.claim("u2", VF, configs=configured(minTxRate=10001)))
    with pytest.raises(ClaimUnusable, match=r"maxTxRate: 0: is no limit, and the device has a bandwidth"):
        bench.driver.prepare(bench.claim("u2", VF, configs=configured(maxTxRate=0)))

    assert bench.leftovers() == []


@pytest.mark.parametrize("rules", [None, "all=keep@500/25000"])
def test_a_prepared_claim_keeps_its_rate_where_the_option_changes(bench: Any, rules: str | None) -> None:
    claim = bench.claim("u1", VF)
    before = bench.driver.prepare(claim)
    (record,) = bench.records()

    bench.with_rules(read_vf_rules(rules))

    assert bench.driver.prepare(claim) == before
    assert bench.records() == (record,)
    assert rate(bench) == 10000
    bench.unprepare("u1")
    assert bench.leftovers() == []
