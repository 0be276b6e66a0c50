"""Which devices of a component are free: the tables against the ledger, device by device."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.features import ALL
from scheduler_core.books.ledger import Ledger
from scheduler_core.state.testing import device, pool
from scheduler_core.tables.pool_compiler import PoolCompiler

SEEDS = st.integers(0, 2**32)
MEANINGS = ["kep-4815", "kep-5963"]


def nested_pool(chance):
    """One board, parts of it, parts of parts, some from two places, some with compatibility groups."""
    found = [device("board", m=chance.randint(2, 8), s0=1, s1=1)]
    for number in range(chance.randint(1, 5)):
        name = f"part-{number}"
        slot = chance.choice([{}, {"s0": 1}, {"s1": 1}])
        found.append(device(name, sources=["board"], m=chance.randint(0, 3), **slot))
        for leaf in range(chance.choice([0, 0, 1, 2])):
            sources = chance.choice([[name], ["board", name], [name, "board"]])
            found.append(device(f"{name}-{leaf}", sources=sources, m=chance.randint(0, 2)))
    chance.shuffle(found)
    flat = pool(*found)
    return replace(flat, devices=tuple(grouped(chance, one) for one in flat.devices))


def grouped(chance, one):
    def groups():
        return frozenset(chance.sample("xyz", chance.randint(1, 2))) if chance.random() < 0.4 else None

    return replace(one, draws=tuple(replace(draw, groups=groups()) for draw in one.draws))


def free_names(compiled, states):
    return {
        component.layout.names[position]
        for component, state in zip(compiled.components, states, strict=True)
        for position in range(component.template.tables.size)
        if component.template.tables.free(state) >> position & 1
    }


def admitted_names(ledger, flat):
    return {one.name for one in flat.devices if ledger.admits(one.name)}


@pytest.mark.parametrize("meaning", MEANINGS)
@settings(deadline=None, max_examples=150)
@given(seed=SEEDS)
def test_after_every_device_taken_the_free_ones_are_those_the_ledger_admits(seed, meaning):
    chance, features = Random(seed), replace(ALL, groups=meaning)
    flat = nested_pool(chance)
    ledger = Ledger(flat, features)
    compiled = PoolCompiler(features).compile(flat)
    states = [0] * len(compiled.components)

    while admitted := sorted(admitted_names(ledger, flat)):
        assert free_names(compiled, states) == set(admitted)
        name = chance.choice(admitted)
        ledger.take(name, "claim")
        component, position = compiled.find(name)
        number = compiled.components.index(component)
        component.template.tables.free_after(states[number], position)
        states[number] |= 1 << position

    assert free_names(compiled, states) == set()


@pytest.mark.parametrize("meaning", MEANINGS)
@settings(deadline=None, max_examples=150)
@given(seed=SEEDS)
def test_whatever_is_held_even_too_much_the_free_ones_are_those_the_ledger_admits(seed, meaning):
    chance, features = Random(seed), replace(ALL, groups=meaning)
    flat = nested_pool(chance)
    ledger = Ledger(flat, features)
    compiled = PoolCompiler(features).compile(flat)
    states = [0] * len(compiled.components)

    for one in chance.sample(flat.devices, chance.randint(0, min(4, len(flat.devices)))):
        ledger.record(one.name, "claim")
        component, position = compiled.find(one.name)
        states[compiled.components.index(component)] |= 1 << position

    assert free_names(compiled, states) == admitted_names(ledger, flat)
