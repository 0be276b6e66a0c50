"""What a refusal carries: amounts, holders, constraints and the requests that do not fit together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.engine import Engine
from scheduler_core.explain.allocate import allocate
from scheduler_core.explain.refusal_details import RefusalDetails
from scheduler_core.model.claim import (
    AllocatedClaim,
    AllocatedDevice,
    ClaimRef,
    DeviceRequest,
    ExclusiveScope,
    MatchAttribute,
    Request,
)
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.names import qualified
from scheduler_core.model.obstacles import (
    ExpressionRefuses,
    InUse,
    NoCommonGroup,
    ParentsInUse,
    PartsInUse,
    ScopeReserved,
    SharesConsumed,
    TaintNotTolerated,
    TooLittleLeft,
)
from scheduler_core.model.refusal import NoFindings
from scheduler_core.model.result import Cause, Reason, Unallocatable
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.model.taints import Taint
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

COLOUR = qualified("colour", DRIVER)
M = qualified("m", DRIVER)


def colour(name):
    return f"device.attributes['{DRIVER}'].colour == '{name}'"


def cluster_of(*pools, allocated=()):
    return Cluster(pools=pools, classes={"any": ANY}, allocated=tuple(allocated))


def by_search(cluster, *claims):
    return allocate(claims, cluster, NODE)


def by_engine(cluster, *claims):
    return Engine.of(cluster).allocate(claims, NODE)


BOTH = pytest.mark.parametrize("ask", [by_search, by_engine])
BOARD = pool(
    device("board", attributes={"colour": "red"}, m=4),
    device("half-0", sources=["board"], attributes={"colour": "red"}, m=2),
    device("half-1", sources=["board"], attributes={"colour": "red"}, m=2),
    device("most", sources=["board"], attributes={"colour": "blue"}, m=3),
)


def obstacles(refusal):
    (demand,) = refusal.requests
    return {str(one.device.device): one.obstacle for one in demand.matched}


@BOTH
def test_a_refusal_carries_what_matched_what_was_missing_and_who_holds_it(ask):
    cluster = cluster_of(BOARD, allocated=[held("half-0", by="h")])

    refusal = ask(cluster, claim(request("r", colour("blue"))))

    (demand,) = refusal.requests
    assert (demand.request, demand.needed, demand.free) == ("r", 1, 0)
    (most,) = demand.matched
    assert isinstance(most.obstacle, TooLittleLeft)
    (missing,) = most.obstacle.missing
    assert (missing.source, missing.dimension) == ("board", "m")
    assert [str(one) for one in (missing.needed, missing.left, missing.total)] == ["3", "2", "4"]
    assert [(one.device, one.by) for one in missing.holders] == [("half-0", "default/h")]


@BOTH
def test_a_device_in_use_and_its_relatives_are_told_apart(ask):
    cluster = cluster_of(BOARD, allocated=[held("half-0", by="h")])

    found = obstacles(ask(cluster, claim(request("r", colour("red"), count=3))))

    assert found["half-1"] is None
    assert isinstance(found["half-0"], InUse)
    assert isinstance(found["board"], PartsInUse)
    assert [(one.device, one.by) for one in found["board"].holders] == [("half-0", "default/h")]


@BOTH
def test_a_constraint_that_refuses_is_carried_as_it_is(ask):
    same = MatchAttribute(COLOUR, ("a", "b"))
    wanted = claim(request("a", colour("red")), request("b", colour("blue")), constraints=[same])
    other = pool(device("r", attributes={"colour": "red"}), device("b", attributes={"colour": "blue"}))

    refusal = ask(cluster_of(other), wanted)

    assert refusal.cause is Cause.CONSTRAINT_UNSATISFIED
    assert refusal.reasons[0].constraint == same
    (spread,) = refusal.constraints
    assert (spread.needed, dict(spread.free)) == (2, {"blue": 1, "red": 1})
    assert [one.request for one in refusal.conflict] == ["a", "b"]


@BOTH
def test_the_conflict_is_the_smallest_there_is(ask):
    reds = [device(f"red-{number}", attributes={"colour": "red"}) for number in range(3)]
    blue = device("blue", attributes={"colour": "blue"})
    wanted = claim(
        request("b0", colour("blue")),
        request("b1", colour("blue")),
        *(request(f"r{number}", colour("red")) for number in range(4)),
    )

    refusal = ask(cluster_of(pool(*reds, blue)), wanted)

    assert [one.request for one in refusal.conflict] == ["b0", "b1"]


def test_a_taint_and_a_failing_selector_are_obstacles():
    tainted = replace(BOARD.devices[0], name="tainted", taints=(Taint("broken"),))
    cluster = cluster_of(replace(BOARD, devices=(*BOARD.devices, tainted)), allocated=[held("board")])

    found = obstacles(by_search(cluster, claim(request("r", colour("red")))))

    assert found["tainted"] == TaintNotTolerated(Taint("broken"))
    assert isinstance(found["board"], InUse)


@BOTH
def test_a_scope_that_another_claim_keeps_to_itself_is_an_obstacle(ask):
    alone = ExclusiveScope((COLOUR,))
    keeper = replace(held("half-0", by="keeper"), exclusive=(alone,))
    cluster = cluster_of(BOARD, allocated=[keeper])

    found = obstacles(ask(cluster, claim(request("r", colour("red"), count=3))))

    assert found["half-1"] == ScopeReserved(COLOUR, "red", "default/keeper")
    assert obstacle_text(found["half-1"]) == f"default/keeper holds {COLOUR} red exclusively"


@pytest.mark.parametrize("kind", [NoCommonGroup, ExpressionRefuses])
def test_an_exclusion_is_told_with_the_device_beside_which_it_may_not_be(kind):
    first, second = (one for one in BOARD.devices if one.name.startswith("half"))
    if kind is NoCommonGroup:
        first, second = (
            replace(one, draws=tuple(replace(draw, groups=frozenset({name})) for draw in one.draws))
            for one, name in ((first, "soft"), (second, "hard"))
        )
    else:
        second = replace(second, only_with=colour("blue"))
    board = replace(BOARD, devices=(BOARD.devices[0], first, second))
    cluster = cluster_of(board, allocated=[held("half-0", by="h")])

    refusal = by_search(cluster, claim(request("r", colour("red"))))

    assert refusal.cause is Cause.INCOMPATIBLE
    obstacle = obstacles(refusal)["half-1"]
    assert isinstance(obstacle, kind)
    assert [(one.device, one.by) for one in obstacle.holders] == [("half-0", "default/h")]


def test_shares_that_consumed_too_much_are_told_in_amounts():
    wide = pool(device("wide", m=4))
    shareable = replace(wide, devices=tuple(replace(one, is_shareable=True) for one in wide.devices))
    share = AllocatedDevice(
        "r", shareable.id_of(shareable.devices[0]), share_id="s", consumed={M: Quantity.of(3)}
    )
    option = DeviceRequest(name="r", class_name="any", capacity={M: Quantity.of(2)})
    cluster = cluster_of(
        shareable, allocated=[AllocatedClaim(ref=ClaimRef("default", "h"), results=(share,))]
    )

    refusal = by_search(cluster, claim(Request(name="r", alternatives=(option,))))

    obstacle = obstacles(refusal)["wide"]
    assert isinstance(obstacle, SharesConsumed)
    told = "it has too little m left: 2 needed, 1 of 4 left; held by default/h (wide)"
    assert obstacle_text(obstacle) == told


def test_nothing_is_looked_up_before_somebody_reads_it_and_then_once():
    asked = []
    wanted = claim(request("a"), request("b"))

    def fits(claims):
        asked.append(len(claims))
        return sum(len(one.requests) for one in claims) < 2

    findings = RefusalDetails([wanted], cluster_of(BOARD), NODE, fits)
    refusal = Unallocatable(
        node="n", reasons=(Reason(wanted.ref, "a", Cause.INSUFFICIENT, "too little"),), findings=findings
    )
    before = list(asked)

    assert before == []
    assert [one.request for one in refusal.conflict] == ["a", "b"]
    count = len(asked)
    assert refusal.conflict is refusal.conflict
    assert len(asked) == count


def test_a_refusal_speaks_of_the_state_that_refused_it():
    engine = Engine.of(cluster_of(BOARD, allocated=[held("board", by="h")]))
    wanted = claim(request("r", colour("blue")))
    refusal = engine.allocate([wanted], NODE)

    engine.state.release(ClaimRef("default", "h"))

    assert not isinstance(engine.allocate([wanted], NODE), Unallocatable)
    assert [str(one) for one in refusal.conflict] == ["default/claim request r"]
    assert isinstance(obstacles(refusal)["most"], ParentsInUse)


def test_refusals_are_equal_by_what_they_say_and_one_without_findings_is_empty():
    reasons = (Reason(ClaimRef("default", "c"), "r", Cause.INSUFFICIENT, "too little"),)
    bare = Unallocatable(node="n", reasons=reasons)

    assert bare == Unallocatable(
        node="n", reasons=reasons, findings=RefusalDetails([], cluster_of(), NODE, bool)
    )
    assert bare.findings == NoFindings()
    assert (bare.requests, bare.constraints, bare.conflict) == ((), (), ())
