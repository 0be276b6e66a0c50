"""Scopes that claims keep to themselves: what is admitted and what is barred, as the plain rules say."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from random_clusters import NODES, exclusive, rarely, situation_of, taken
from searched_nodes import SEEDS, SETTINGS, compiled_for

from scheduler_core.engine.search.exclusive_scopes import admitted_devices, reserved_devices
from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.rules.scopes import alone, reservation, reserved
from scheduler_core.state.testing import claim, request
from scheduler_core.tables.bits import mask_of

MANY = settings(SETTINGS, max_examples=300)


def situation(seed):
    """A claim for any device, on a node where up to three claims hold devices and keep scopes."""
    chance = Random(seed)
    found = situation_of(chance)
    ids = [(one.id_of(device), device) for one in found.pools for device in one.devices]
    found.held = [
        AllocatedClaim(
            ref=ClaimRef("default", f"held-{number}"),
            results=tuple(
                replace(taken(chance, *wanted), admin_access=rarely(chance, 4))
                for wanted in chance.choices(ids, k=2)
            ),
            exclusive=() if rarely(chance, 3) else (exclusive(chance),),
        )
        for number in range(chance.randint(0, 3))
    ]
    found.claims = [claim(request("r"))]
    return compiled_for(found, NODES[seed % 2]), exclusive(chance)


def devices(found):
    """The devices of the search space, as published."""
    return [found.node_view.components[number].device(position) for number, position in found.space.devices]


def concerned(found):
    return [one for one in found.situation.cluster().pools if one.concerns(found.node)]


@MANY
@given(SEEDS)
def test_a_claim_may_get_what_the_plain_rule_admits(seed):
    found, constraint = situation(seed)
    plain = alone(constraint, concerned(found), found.situation.held)

    admitted = admitted_devices(constraint, found.node_view, found.space.to_devices)

    assert admitted == mask_of(number for number, one in enumerate(devices(found)) if plain.admits(one))


@MANY
@given(SEEDS)
def test_held_claims_bar_what_stands_in_the_scopes_that_they_keep(seed):
    found, _ = situation(seed)
    scopes = reserved(concerned(found), found.situation.held)

    barred = reserved_devices(found.state.concerning(found.node), found.node_view, found.space.to_devices)

    assert barred == mask_of(
        number for number, one in enumerate(devices(found)) if reservation(one, scopes) is not None
    )
