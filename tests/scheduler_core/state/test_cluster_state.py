"""A state that was changed step by step is the state that is built at once from what is known in the end."""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_clusters import claim
from random_histories import NODES, History

from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.model.pool import Pool
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY

SEEDS = st.integers(0, 2**48)
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
CLASSES = {"any": ANY}


def history_of(seed, state, steps=12):
    chance = Random(seed)
    history = History(chance, state)
    for _ in range(chance.randint(1, steps)):
        history.step()
    return history


def at_once(known, chance):
    """The same state without a history; slices come in any order."""
    state = ClusterState(CLASSES)
    slices = list(known.slices.values())
    chance.shuffle(slices)
    state.upsert_slices(slices)
    for held in known.claims.values():
        state.hold(held)
    return state


def taken_bits(state):
    return [
        [(component.state, component.consumed) for component in pool.components]
        for pool in state.views.pools
        if not isinstance(pool, Pool)
    ]


@SETTINGS
@given(SEEDS)
def test_every_history_leads_to_the_pools_and_holds_that_its_end_says(seed):
    state = ClusterState(CLASSES)
    known = history_of(seed, state).known
    fresh = at_once(known, Random(seed))

    assert list(state.pools()) == known.pools()
    assert list(fresh.pools()) == known.pools()
    assert taken_bits(state) == taken_bits(fresh)
    for node in NODES:
        assert state.seen_from(node) == fresh.seen_from(node)


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except CoreError as error:
        return type(error), str(error)


@SETTINGS
@given(SEEDS)
def test_an_engine_that_followed_a_history_answers_as_a_new_one(seed):
    chance, state = Random(seed), ClusterState(CLASSES)
    engines = [Engine(state, policy) for policy in (FIRST_FIT, BEST_FIT)]
    asked = [claim(chance, f"c{number}") for number in range(3)]
    history = History(chance, state)
    for _ in range(chance.randint(1, 8)):
        history.step()
        for engine in engines:
            outcome(engine.feasible_nodes, asked[:1], NODES)
    fresh = at_once(history.known, chance)

    for engine in engines:
        new = Engine(fresh, engine.policy)
        for one in asked:
            mine, other = (outcome(each.decide_somewhere, [one], NODES) for each in (engine, new))

            assert outcome(engine.feasible_nodes, [one], NODES) == outcome(new.feasible_nodes, [one], NODES)
            if engine.policy is FIRST_FIT:
                assert mine == other
            else:  # what a part weighs there is set by the first hardware that had such a part
                assert type(mine) is type(other)


class Listener:
    """Keeps the state of every component by what it is told alone."""

    def __init__(self):
        self.bits, self.classes = {}, None

    def component_entered(self, component):
        assert component not in self.bits
        self.bits[component] = component.state

    def component_left(self, component):
        del self.bits[component]

    def component_moved(self, component, before):
        assert self.bits[component] == before
        self.bits[component] = component.state

    def view_dropped(self, node_view): ...

    def devices_taken(self, nodes): ...

    def devices_given(self, nodes): ...

    def classes_changed(self, classes):
        self.classes = classes


@SETTINGS
@given(SEEDS)
def test_observers_are_told_of_everything_however_late_they_came(seed):
    state, early, late = ClusterState(CLASSES), Listener(), Listener()
    state.subscribe(early)
    history = history_of(seed, state, steps=8)
    state.subscribe(late)
    for _ in range(6):
        history.step()

    now = {
        component: component.state
        for pool in state.views.pools
        if not isinstance(pool, Pool)
        for component in pool.components
    }
    assert early.bits == late.bits == now
    assert early.classes == late.classes == CLASSES


@SETTINGS
@given(SEEDS)
def test_who_holds_a_device_can_be_asked_and_doubles_are_counted(seed):
    state = ClusterState(CLASSES)
    known = history_of(seed, state).known

    for pool in state.pools():
        for device in pool.devices:
            identity = pool.id_of(device)
            holding = [
                held
                for held in known.claims.values()
                if any(one.device == identity and not one.admin_access for one in held.results)
            ]
            assert list(state.holders(identity)) == holding
