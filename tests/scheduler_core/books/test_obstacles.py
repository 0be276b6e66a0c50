"""The ledger's obstacle is a value, it agrees with ``admits``, and one module puts it into words."""

from dataclasses import replace
from random import Random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_clusters import situation_of

from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger, Overdrawn
from scheduler_core.books.ledgers import ledgers_of
from scheduler_core.model.claim import ClaimRef, MatchAttribute, SameScope
from scheduler_core.model.device import DeviceName, SourceName
from scheduler_core.model.names import qualified
from scheduler_core.model.obstacles import (
    ConstraintRefuses,
    ExpressionRefuses,
    Held,
    InUse,
    InvalidDevice,
    KubeletCannotSkip,
    LedgerObstacle,
    Missing,
    NoCommonGroup,
    Obstacle,
    OthersDoNotFit,
    ParentsInUse,
    PartsInUse,
    ScopeReserved,
    SelectorFails,
    SharesConsumed,
    TaintNotTolerated,
    TooLittleLeft,
    UnknownDevice,
)
from scheduler_core.model.pool import PoolId
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.model.taints import Taint
from scheduler_core.state.testing import DRIVER, device, held, pool

M = qualified("m", DRIVER)
SHARE = {M: Quantity.of(1)}
GPU, PART, OTHER = (DeviceName(name) for name in ("gpu", "part", "other"))
HELD = Held(GPU, "team/job")
MISSING = Missing(
    source=SourceName("gpu"),
    dimension="m",
    needed=Quantity.of(3),
    left=Quantity.of(2),
    total=Quantity.of(4),
    holders=(HELD,),
)
EVERY_KIND = [
    UnknownDevice(PoolId(DRIVER, "p")),
    InvalidDevice("has no source"),
    InUse((HELD,)),
    PartsInUse((HELD,)),
    ParentsInUse((HELD,)),
    TooLittleLeft((MISSING, MISSING)),
    SharesConsumed((MISSING,)),
    NoCommonGroup(SourceName("gpu"), (HELD,)),
    ExpressionRefuses((HELD,)),
    TaintNotTolerated(Taint("health", "bad")),
    KubeletCannotSkip("the feature is off"),
    ScopeReserved(qualified("switch", DRIVER), "s1", "team/job"),
    SelectorFails("selector 'x' fails"),
    ConstraintRefuses(MatchAttribute(qualified("parent", DRIVER))),
    OthersDoNotFit(),
]


def gpu_in_parts(**parts):
    return pool(device("gpu", m=4), *(device(name, sources=["gpu"], m=m) for name, m in parts.items()))


def found(pool, name, *taken, share=None):
    (ledger,) = ledgers_of([pool], [held(*taken, by="h")])
    return ledger.obstacle(DeviceName(name), share)


def in_groups(**groups):
    """A pool of devices that all draw from gpu, each in its groups (none: it declares none)."""
    bare = gpu_in_parts(**dict.fromkeys(groups, 1))
    devices = [
        replace(
            one, draws=tuple(replace(draw, groups=frozenset(groups[one.name]) or None) for draw in one.draws)
        )
        if one.name in groups
        else one
        for one in bare.devices
    ]
    return replace(bare, devices=tuple(devices))


@pytest.mark.parametrize(
    ("taken", "in_the_way"),
    [
        ({"a": "x", "free": ""}, {"a"}),
        ({"a": "x", "b": "xy"}, {"a"}),
        (
            {"a": "xy", "b": "yz", "free": ""},
            {"a", "b"},
        ),  # each goes with one of xz, and both together with none
    ],
)
def test_only_devices_whose_groups_are_in_the_way_are_named(taken, in_the_way):
    wanted = "xz" if len(in_the_way) > 1 else "y"

    obstacle = found(in_groups(**taken, part=wanted), "part", *taken)

    assert isinstance(obstacle, NoCommonGroup)
    assert {one.device for one in obstacle.holders} == in_the_way


@settings(deadline=None)  # the first expression loads the CEL engine
@given(st.randoms(use_true_random=False))
def test_the_ledger_admits_exactly_the_devices_without_an_obstacle(chance):
    situation = situation_of(chance)
    ledgers = ledgers_of(situation.pools, situation.held, situation.features)
    for among, ledger in zip(situation.pools, ledgers, strict=True):
        shares = {one.name: [None, SHARE] if M in one.capacity else [None] for one in among.devices}
        for name, asked in {**shares, DeviceName("gone"): [None, SHARE]}.items():
            for share in asked:
                obstacle = ledger.obstacle(name, share)
                assert ledger.admits(name, share) == (obstacle is None)
                assert obstacle is None or isinstance(obstacle, LedgerObstacle)


@settings(deadline=None)
@given(st.integers(), st.booleans())
def test_what_the_ledger_refuses_to_take_carries_the_obstacle_and_says_it(seed, is_shared):
    situation = situation_of(Random(seed))
    (ledger, *_) = ledgers_of(situation.pools, situation.held, situation.features)
    for one in situation.pools[0].devices:
        share = SHARE if is_shared and M in one.capacity else None
        obstacle = ledger.obstacle(one.name, share)
        if obstacle is not None:
            with pytest.raises(Overdrawn) as refusal:
                ledger.take(one.name, "x", share)
            assert refusal.value.obstacle == obstacle
            text = obstacle_text(obstacle, one.name)
            assert str(refusal.value) == f"device {one.name} cannot be taken: {text}"


def test_a_device_that_the_pool_lacks_is_unknown():
    assert found(gpu_in_parts(), "x") == UnknownDevice(gpu_in_parts().id)


def test_a_device_that_broke_a_rule_is_invalid_with_its_reason():
    broken = pool(device("gpu", m=4), device("lost", sources=["nowhere"], m=1))

    assert found(broken, "lost") == InvalidDevice(broken.rejected[DeviceName("lost")].reason)


def test_a_device_in_use_is_held():
    assert found(gpu_in_parts(), "gpu", "gpu") == InUse((Held(GPU, "default/h"),))


def test_a_device_whose_parts_are_in_use_names_them_in_pool_order():
    parts = (Held(PART, "default/h"), Held(OTHER, "default/h"))

    assert found(gpu_in_parts(part=1, other=1), "gpu", "other", "part") == PartsInUse(parts)


def test_a_device_whose_parent_is_in_use_names_the_parent():
    assert found(gpu_in_parts(part=1), "part", "gpu") == ParentsInUse((Held(GPU, "default/h"),))


def test_too_little_left_has_the_amounts_and_the_holders():
    obstacle = found(gpu_in_parts(part=2, other=3), "other", "part")

    assert obstacle == TooLittleLeft((replace(MISSING, holders=(Held(PART, "default/h"),)),))


def test_a_capacity_that_shares_consume_has_the_amounts_even_before_the_first_share():
    obstacle = found(gpu_in_parts(), "gpu", share={M: Quantity.of(5)})

    needed = replace(MISSING, needed=Quantity.of(5), left=Quantity.of(4), holders=())
    assert obstacle == SharesConsumed((needed,))


def test_a_shared_device_cannot_be_had_alone_and_names_each_holder():
    ledger = Ledger(gpu_in_parts())
    ledger.take(GPU, "a", SHARE)
    ledger.take(GPU, "b", SHARE)

    assert ledger.obstacle(GPU) == InUse((Held(GPU, "a"), Held(GPU, "b")))
    assert obstacle_text(ledger.obstacle(GPU)) == "it is held by a, b"


def test_a_device_that_is_held_alone_and_in_shares_draws_once_until_nobody_holds_it():
    ledger = Ledger(gpu_in_parts(part=2))
    before = ledger.left(SourceName("gpu"), M)
    ledger.record(PART, "a", SHARE)
    ledger.record(PART, "b")

    assert ledger.left(SourceName("gpu"), M) == before - Quantity.of(2).nano
    assert ledger.obstacle(PART) == InUse((Held(PART, "b"), Held(PART, "a")))
    ledger.release(PART, "a", SHARE)
    assert ledger.left(SourceName("gpu"), M) == before - Quantity.of(2).nano
    ledger.release(PART)
    assert ledger.left(SourceName("gpu"), M) == before


def test_every_kind_of_obstacle_is_put_into_words():
    assert {type(one) for one in EVERY_KIND} == set(get_args(Obstacle))
    assert len({obstacle_text(one) for one in EVERY_KIND}) == len(EVERY_KIND)


@pytest.mark.parametrize(
    "obstacle",
    [one for one in EVERY_KIND if " it " in f" {obstacle_text(one)} "],
    ids=lambda one: type(one).__name__,
)
def test_a_sentence_names_the_device_where_the_caller_gives_its_name(obstacle):
    assert obstacle_text(obstacle, "gpu-7") == obstacle_text(obstacle).replace("it ", "gpu-7 ", 1)


def test_a_sentence_about_amounts_says_how_many_more_are_missing():
    one = "gpu has too little m left: 3 needed, 2 of 4 left; held by team/job (gpu)"

    assert obstacle_text(TooLittleLeft((MISSING,))) == one
    assert obstacle_text(TooLittleLeft((MISSING, MISSING))) == f"{one}; 1 more dimension missing"
    assert obstacle_text(TooLittleLeft((MISSING,) * 3)) == f"{one}; 2 more dimensions missing"


def test_a_constraint_is_written_as_in_the_claim():
    same = SameScope((qualified("pcieRoot", DRIVER),), (("a",), ("b",)))

    assert obstacle_text(ConstraintRefuses(same)).startswith(f"sameScope {DRIVER}/pcieRoot does not allow it")


def test_a_holder_of_many_devices_is_named_once_with_the_first_of_them():
    many = tuple(Held(DeviceName(f"d{number}"), str(ClaimRef("team", "job"))) for number in range(5))

    assert obstacle_text(PartsInUse(many)) == "parts of it are held by team/job (d0, d1, d2 and 2 more)"
