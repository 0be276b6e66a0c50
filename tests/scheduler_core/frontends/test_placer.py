"""Pods on a cluster state: tables and ledgers give the same answers, whatever is in use."""

from dataclasses import replace
from random import Random

import pytest

from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.pods.hints import Exclusive
from scheduler_core.frontends.pods.place import entered, placed
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import ask_of
from scheduler_core.frontends.pods.reported import ReportedDevice, ReportedUse, ReportedVf, held, pool_of
from scheduler_core.frontends.pods.scoring import Fill, Scoring
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.state.assignments import holder_of
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import NODE, device, pool
from scheduler_core.state.testing import held as held_devices

CORE, RATIO, RDMA = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio", "koordinator.sh/rdma"
WHOLE = {CORE: 100, RATIO: 100, "koordinator.sh/gpu-memory": 80}
ASKS = (
    {"nvidia.com/gpu": 1},
    {"nvidia.com/gpu": 2, RDMA: 1},
    {CORE: 30, RATIO: 30},
    {CORE: 60, RATIO: 60, RDMA: 50},
    {RDMA: 200},
    {RDMA: 1},
)
HINTS = (
    None,
    {"rdma": {"vfSelector": {}}},
    {"rdma": {"exclusivePolicy": "PCIeLevel"}},
    {"gpu": {"exclusivePolicy": "DeviceLevel"}},
    {"rdma": {"allocateStrategy": "RequestsAsCount"}},
)


def reported_pool(chance, devices):
    return pool_of(NODE.name, devices), held(NODE.name, list(uses(chance, devices)), devices)


def reported_devices(chance):
    per_switch, vfs = chance.choice((1, 2)), chance.choice((0, 2))
    for kind, total in (("gpu", WHOLE), ("rdma", {RDMA: 100})):
        for minor in range(4):
            yield ReportedDevice(
                kind=kind,
                minor=minor,
                pcie=str(minor // per_switch),
                numa=minor // 2,
                total=total,
                is_healthy=chance.random() > 0.1,
                vfs=tuple(ReportedVf(bus_id=f"0:{minor}.{n}") for n in range(vfs if kind == "rdma" else 0)),
            )


def uses(chance, devices):
    for one in devices:
        if chance.random() < 0.4:
            amounts = None if chance.random() < 0.4 else {name: 40 for name in one.total}
            vfs = tuple(vf.bus_id for vf in one.vfs if chance.random() < 0.5)
            exclusive = chance.choice((None, None, *Exclusive))
            yield ReportedUse(kind=one.kind, minor=one.minor, amounts=amounts, vfs=vfs, exclusive=exclusive)


def cut_gpus(chance):
    """Return GPUs with partitions and NICs with VFs, as this project's agent publishes them."""
    devices, taken = [], []
    for n in range(4):
        place = {"minor": n, "pcieSwitch": f"s{n // 2}", "resource.kubernetes.io/numaNode": n // 2}
        gpu = device(f"gpu-{n}", attributes={"type": "gpu", **place}, slices=2)
        parts = [
            device(f"mig-{n}-{k}", sources=[f"gpu-{n}"], attributes={"type": "mig", **place}, slices=1)
            for k in range(2)
        ]
        nic = device(f"nic-{n}", attributes={"type": "nic", "pfPciAddress": f"pf{n}", **place}, vfs=2)
        vfs = [
            device(
                f"vf-{n}-{k}",
                sources=[f"nic-{n}"],
                attributes={"type": "vf", "pfPciAddress": f"pf{n}", **place},
                vfs=1,
            )
            for k in range(2)
        ]
        devices += [gpu, *parts, nic, *vfs]
        for whole, pieces in ((gpu, parts), (nic, vfs)):
            if chance.random() < 0.4:
                taken += [chance.choice([whole, *pieces])]
    return pool(*devices), [held_devices(*(one.name for one in taken))] if taken else []


def situation(seed):
    chance = Random(seed)
    make = chance.choice((cut_gpus, lambda chance: reported_pool(chance, list(reported_devices(chance)))))
    published, claims = make(chance)
    state = ClusterState()
    state.set_pool(published)
    for claim in claims:
        state.hold(claim)
    requests, hint = chance.choice(ASKS), chance.choice(HINTS)
    joint = {"deviceTypes": ["gpu", "rdma"], "requiredScope": chance.choice(("", "SamePCIe"))}
    marks = {"device-joint-allocate": joint} if chance.random() < 0.5 else {}
    if hint is not None:
        marks["device-allocate-hint"] = hint
    scoring = chance.choice((None, Scoring(Fill.LEAST), Scoring(Fill.MOST)))
    return ask_of("Pod default/p", requests, marks), PodPlacer(state, scoring)


def on_ledgers(placer, ask):
    return placed(ask, NODE, placer._on_ledgers(NODE), NodeTable())


@pytest.mark.parametrize("first", range(0, 1200, 100))
def test_tables_and_ledgers_place_pods_alike(first):
    for seed in range(first, first + 100):
        ask, placer = situation(seed)

        found, expected = placer.place(ask, NODE), on_ledgers(placer, ask)

        if isinstance(expected, PlacedPod):
            assert found.devices == expected.devices, seed
            assert [one.number for mine in found.node_devices.values() for one in mine] == [
                one.number for mine in expected.node_devices.values() for one in mine
            ], seed
        else:
            assert found == expected, seed


def test_both_answers_occur():
    answers = [placer.decide(ask, NODE) for ask, placer in map(situation, range(100))]

    assert 20 < sum(one is None for one in answers) < 80


@pytest.mark.parametrize("seed", range(40))
def test_a_kept_placer_follows_what_is_held_and_released(seed):
    ask, placer = situation(seed)
    before = placer.decide(ask, NODE)
    if before is None:
        return
    claim = entered(ask, before, ClaimRef("default", "p"))

    placer.state.hold(claim)
    again = placer.decide(ask, NODE)
    assert isinstance(again, PlacedPod | None)
    assert again is None or placed(ask, NODE, placer._on_ledgers(NODE), NodeTable()).devices == again.devices
    placer.state.release(holder_of(claim))

    assert placer.decide(ask, NODE).devices == before.devices


def test_a_refusal_names_the_holders():
    gpus = [ReportedDevice(kind="gpu", minor=0, pcie="0", numa=0, total=WHOLE)]
    state = ClusterState()
    state.set_pool(pool_of("n", gpus))
    (claim,) = held("n", [ReportedUse(kind="gpu", minor=0)], gpus)
    state.hold(claim)

    found = PodPlacer(state).place(ask_of("Pod default/p", {"nvidia.com/gpu": 1}, {}), Node("n"))

    assert isinstance(found, JointRefusal)
    assert str(claim.ref) in found.detail


def test_each_pod_gets_a_vf_of_its_own_from_a_nic_in_use():
    place = {"minor": 0, "pfPciAddress": "pf"}
    vfs = [device(f"vf-{n}", attributes={"type": "vf", **place}) for n in range(3)]
    state = ClusterState()
    state.set_pool(pool(*vfs))
    placer, given = PodPlacer(state), []
    for number in range(3):
        ask = ask_of(f"Pod default/p{number}", {RDMA: 1}, {})
        found = placer.place(ask, NODE)
        given += [str(one.device) for devices in found.devices["rdma"] for one in devices]
        state.hold(entered(ask, found, ClaimRef("default", f"p{number}")))

    assert given == ["vf-0", "vf-1", "vf-2"]


def test_a_pod_and_a_claim_of_one_name_hold_their_own_devices():
    devices = [device(f"gpu-{n}", attributes={"type": "gpu", "minor": n}) for n in range(3)]
    state = ClusterState()
    state.set_pool(pool(*devices))
    state.hold(held_devices("gpu-0", by="p"))
    placer, ask = PodPlacer(state), ask_of("Pod default/p", {"nvidia.com/gpu": 1}, {})
    found = placer.place(ask, NODE)
    state.hold(entered(ask, found, ClaimRef("default", "p")))

    again = placer.place(ask_of("Pod default/q", {"nvidia.com/gpu": 1}, {}), NODE)

    assert [str(one.device) for one in again.devices["gpu"][0]] == ["gpu-2"]


def test_where_a_refusal_names_no_device_no_ledger_is_made(monkeypatch):
    devices = [
        ReportedDevice(kind="gpu", minor=0, pcie="0", numa=0, total=WHOLE),
        ReportedDevice(kind="rdma", minor=0, pcie="1", numa=0, total={RDMA: 100}),
    ]
    state = ClusterState()
    state.set_pool(pool_of("n", devices))
    monkeypatch.setattr(PodPlacer, "_on_ledgers", lambda *_: pytest.fail("a ledger was made"))
    joint = {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}
    ask = ask_of("Pod default/p", {"nvidia.com/gpu": 1, RDMA: 1}, {"device-joint-allocate": joint})

    assert isinstance(PodPlacer(state).place(ask, Node("n")), JointRefusal)


def test_devices_with_expressions_about_others_are_counted_by_ledgers():
    gpu = replace(pool(device("gpu-0", attributes={"type": "gpu", "minor": 0})).devices[0], only_with="false")
    nic = pool(device("nic-0", attributes={"type": "nic", "minor": 0})).devices[0]
    state = ClusterState()
    state.set_pool(replace(pool(device("gpu-0")), devices=(gpu, nic)))
    state.hold(held_devices("nic-0"))

    assert isinstance(
        PodPlacer(state).place(ask_of("Pod default/p", {"nvidia.com/gpu": 1}, {}), NODE), JointRefusal
    )
    state.release(held_devices("nic-0").ref)
    assert isinstance(
        PodPlacer(state).place(ask_of("Pod default/p", {"nvidia.com/gpu": 1}, {}), NODE), PlacedPod
    )
