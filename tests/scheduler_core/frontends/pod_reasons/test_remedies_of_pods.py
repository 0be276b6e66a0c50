"""Every remedy for a pod by amounts helps, and no fewer claims would do; funnels end where the pod fails."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import pytest

from scheduler_core.advice.remedies import (
    AskForAmount,
    DropHint,
    EndClaims,
    PodRemedy,
    PodTogether,
    RelabelHint,
)
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.pod_reasons.refused import PodFits, RefusedPod, refused_pod, short_reason
from scheduler_core.frontends.pods.device_object import decode_device
from scheduler_core.frontends.pods.place import entered
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer, place_pod
from scheduler_core.frontends.pods.pod_request import PodAsk, ask_of
from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.state.cluster_state import ClusterState

NODE = Node("node-1")
CASES = 150
GI = 2**30
MODELS = ("A100", "H100")


@dataclass(frozen=True)
class Case:
    """A node, what is held there, and what a pod asks: its amounts and annotations."""

    pool: Pool
    held: tuple[AllocatedClaim, ...]
    amounts: dict[str, int]
    hints: dict[str, dict[str, object]]

    def ask(self, amounts: dict[str, int] | None = None, hints: object = None) -> PodAsk:
        marks = {"device-allocate-hint": self.hints if hints is None else hints}
        return ask_of("Pod d/p", self.amounts if amounts is None else amounts, marks)

    def state(self, gone: Sequence[AllocatedClaim] = ()) -> ClusterState:
        left = tuple(one for one in self.held if one not in gone)
        return ClusterState.of(Cluster(pools=(self.pool,), classes={}, allocated=left))

    def fits(self, ask: PodAsk, gone: Sequence[AllocatedClaim] = ()) -> bool:
        return isinstance(place_pod(ask, self.state(gone), NODE), PlacedPod)


def made(seed: int) -> Case:
    chance = random.Random(seed)
    devices = [
        {
            "type": "gpu",
            "minor": minor,
            "health": chance.random() > 0.1,
            "labels": {"model": chance.choice(MODELS)},
            "resources": {
                "koordinator.sh/gpu-core": "100",
                "koordinator.sh/gpu-memory-ratio": "100",
                "koordinator.sh/gpu-memory": f"{chance.choice((16, 40))}Gi",
            },
            "topology": {"pcieID": str(minor // 2), "nodeID": 0, "busID": f"0000:{minor:02x}:00.0"},
        }
        for minor in range(chance.randint(1, 4))
    ]
    pool = decode_device(
        {"kind": "Device", "metadata": {"name": "node-1"}, "spec": {"devices": devices}}
    ).pool
    state = ClusterState.of(Cluster(pools=(pool,), classes={}))
    held: list[AllocatedClaim] = []
    for number in range(chance.randint(0, 4)):
        ask = ask_of("Pod d/h", _amounts(chance), {})
        found = place_pod(ask, state, NODE)
        if isinstance(found, PlacedPod):
            held.append(entered(ask, found, ClaimRef("d", f"h-{number}")))
            state.hold(held[-1])
    return Case(pool, tuple(held), _amounts(chance), _hints(chance))


def _amounts(chance: random.Random) -> dict[str, int]:
    match chance.randrange(4):
        case 0:
            return {"nvidia.com/gpu": chance.randint(1, 5)}
        case 1:
            return {"koordinator.sh/gpu-memory": chance.choice((4, 12, 20, 100)) * GI}
        case 2:
            return {"koordinator.sh/gpu-memory-ratio": chance.choice((20, 60, 100, 200))}
        case _:
            return {"koordinator.sh/gpu-core": 50, "koordinator.sh/gpu-memory-ratio": chance.choice((30, 80))}


def _hints(chance: random.Random) -> dict[str, dict[str, object]]:
    hint: dict[str, object] = {}
    if chance.random() < 0.4:
        model = chance.choice((*MODELS, "A10O", "B200"))
        hint["selector"] = {"matchLabels": {chance.choice(("model", "model", "modell")): model}}
    if chance.random() < 0.2:
        hint["exclusivePolicy"] = chance.choice(("DeviceLevel", "PCIeLevel"))
    if chance.random() < 0.2:
        hint["requiredTopologyScope"] = chance.choice(("Device", "PCIe"))
    return {"gpu": hint} if hint else {}


def refused(case: Case) -> RefusedPod | None:
    ask, placer = case.ask(), PodPlacer(case.state())
    answer = placer.place(ask, NODE)
    if not isinstance(answer, JointRefusal):
        return None
    found = refused_pod(ask, PodFits(placer=placer, tables={}), [NODE], {"node-1": short_reason(answer)})
    assert sorted(map(str, placer.state.concerning(NODE))) == sorted(map(str, case.held))
    return found


def changed(case: Case, remedies: Sequence[PodRemedy]) -> tuple[PodAsk, tuple[AllocatedClaim, ...]]:
    """Return what is asked after some remedies, as a user does what their words say."""
    amounts, gone = dict(case.amounts), ()
    hints = {kind: dict(hint) for kind, hint in case.hints.items()}
    for one in remedies:
        match one:
            case EndClaims(held=gone):
                pass
            case AskForAmount(asked=asked, amount=amount):
                for name in (part.partition(": ")[0] for part in asked.split(", ")):
                    del amounts[name]
                name, _, text = amount.partition(" (")[0].partition(": ")
                kept = {key: value for key, value in amounts.items() if name != "nvidia.com/gpu"}
                amounts = {**kept, name: text}  # type: ignore[dict-item]  # quantities are read as text
            case RelabelHint(new=new):
                key, _, value = new.partition("=")
                hints["gpu"]["selector"] = {"matchLabels": {key: value}}
            case DropHint(hint=hint):
                del hints["gpu"][hint.partition(" ")[0]]
    numbers = {name: _read(value) for name, value in amounts.items()}
    return case.ask(numbers, hints), gone


def _read(value: int | str) -> int:
    text = str(value)
    for suffix, factor in (("Gi", GI), ("Mi", 2**20)):
        if text.endswith(suffix):
            return int(text.removesuffix(suffix)) * factor
    return int(text)


def steps(remedy: PodRemedy) -> tuple[PodRemedy, ...]:
    return remedy.steps if isinstance(remedy, PodTogether) else (remedy,)


def cases() -> Iterator[Case]:
    yield from map(made, range(CASES))


@pytest.fixture(scope="module")
def found() -> list[tuple[Case, RefusedPod]]:
    answers = ((case, refused(case)) for case in cases())
    return [(case, one) for case, one in answers if one is not None]


def test_after_every_remedy_the_pod_fits(found: list[tuple[Case, RefusedPod]]) -> None:
    tried = [(case, remedy) for case, one in found for remedy in one.remedies]

    assert {type(step) for _, remedy in tried for step in steps(remedy)} == {
        AskForAmount,
        DropHint,
        EndClaims,
        RelabelHint,
    }
    assert [remedy for case, remedy in tried if not case.fits(*changed(case, steps(remedy)))] == []


def test_of_two_changes_neither_is_enough(found: list[tuple[Case, RefusedPod]]) -> None:
    pairs = [
        (case, remedy) for case, one in found for remedy in one.remedies if isinstance(remedy, PodTogether)
    ]

    assert pairs
    assert [one for case, one in pairs for step in one.steps if case.fits(*changed(case, [step]))] == []


def test_no_fewer_claims_would_do(found: list[tuple[Case, RefusedPod]]) -> None:
    ending = [(case, one) for case, why in found for one in why.remedies if isinstance(one, EndClaims)]

    assert ending
    for case, one in ending:
        assert one.is_fewest
        fewer = combinations(case.held, len(one.held) - 1)
        assert not any(case.fits(case.ask(), gone) for gone in fewer)


def test_a_pod_without_remedy_does_not_fit_on_the_empty_node(found: list[tuple[Case, RefusedPod]]) -> None:
    hopeless = [case for case, one in found if not one.remedies]

    assert [case for case in hopeless if case.fits(case.ask(), case.held)] == []


def test_every_funnel_shrinks_and_one_of_them_ends_too_early(found: list[tuple[Case, RefusedPod]]) -> None:
    for _, one in found:
        for funnel in one.funnels:
            left = [stage.left for stage in funnel.stages]
            assert left == sorted(left, reverse=True)
        assert any(funnel.decisive is not None for funnel in one.funnels)
