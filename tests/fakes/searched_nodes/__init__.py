"""Random claims on random nodes, ready for the backtracking search, and the same questions for plain rules.

``Searched`` has what the parts of the search work on, and every answer found by trying everything.
"""

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from nodes_in_tables import compiled_claims
from random_clusters import GATES, NODES, Situation, situation_of

from scheduler_core.base.effort import Effort, EffortExceeded
from scheduler_core.base.features import ALL
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.compiled_claim import CompiledClaim
from scheduler_core.engine.search.exclusive_scopes import admitted_devices, reserved_devices
from scheduler_core.engine.search.look_ahead import LookAhead
from scheduler_core.engine.search.neighbour_conflicts import NeighbourConflicts
from scheduler_core.engine.search.options import Picked
from scheduler_core.engine.search.partial_assignment import PartialAssignment
from scheduler_core.engine.search.search_rules import FixedRule
from scheduler_core.model.nodes import Node
from scheduler_core.search.problem import problem_of
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import NODE
from scheduler_core.tables.bits import mask_of, positions
from scheduler_core.tables.pool_compiler import PoolCompiler

SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
SEEDS = st.integers(0, 2**48)
_MOST = 3000  # devices that one try of everything may take


@dataclass
class Searched:
    """Claims on one node. Preferred scopes are settled on the most preferred one."""

    situation: Situation
    node: Node
    state: ClusterState
    compiled: CompiledClaim
    tried: Effort = field(default_factory=Effort)

    @property
    def node_view(self):
        return self.state.views.node_view(self.node)

    @cached_property
    def prepared(self):
        return self.compiled.search(self.node_view)

    @cached_property
    def space(self):
        return self.prepared.space

    @cached_property
    def cluster(self):
        cluster = self.situation.cluster()
        return replace(cluster, pools=cluster.pools_seen_from(self.node))

    @cached_property
    def problem(self):
        """The same question for the plain search."""
        return problem_of(self.situation.claims, self.cluster, self.node)

    @cached_property
    def rules(self):
        return tuple(self._rule(number) for number in range(len(self.space.rules)))

    def _rule(self, number):
        constraint = self.space.signature.rules[number]
        if number in self.space.preferred:
            return self.space.prefer_rule(number, 0)
        if number in self.space.exclusive:
            return FixedRule(admitted_devices(constraint, self.node_view, self.space.to_devices))
        return self.space.rules[number]

    def assignment(self):
        """A partial assignment in which the search has given out nothing."""
        view, space = self.node_view, self.space
        held = self.state.concerning(self.node)
        judging = [NeighbourConflicts(pool, SelectorCache()) for pool in view.pools] if view.judges else []
        in_use = 0
        for conflicts in judging:
            in_use |= self._devices(conflicts.with_what_is_in_use())
        by_pool = {pool.id: conflicts for pool, conflicts in zip(view.pools, judging, strict=False)}

        def conflicts_of(device):
            number, position = space.devices[device]
            component = view.components[number]
            return self._devices(by_pool[component.pool].of(component, position))

        return PartialAssignment(
            space,
            view.components,
            self.rules,
            blocked=reserved_devices(held, view, space.to_devices),
            conflicts=in_use,
            conflicts_of=conflicts_of if judging else None,
        )

    def _devices(self, conflicting):
        found = 0
        for number, component in enumerate(self.node_view.components):
            found |= self.space.to_devices(number, conflicting.get(component, 0))
        return found

    def keys(self):
        return self.prepared.keys(self.rules, is_fixed=self.node_view.judges)

    def look_ahead(self):
        sizes = [[size(option) for option in options] for options in self.space.requests]
        return LookAhead(self.space, self.rules, sizes, self.prepared.values)

    def place(self, device):
        """The pool and the name of a device, as the plain search knows it."""
        number, position = self.space.devices[device]
        component = self.node_view.components[number]
        pool = next(i for i, one in enumerate(self.cluster.pools) if one.id == component.pool)
        return pool, component.layout.names[position]

    def ways(self, assignment, request):
        """Yield every way to serve a request, the preferred alternatives and the early devices first.

        The assignment has the devices of a way while that is looked at. Yields the alternative and devices.
        Raises: EffortExceeded where too much was tried.
        """
        for number, option in enumerate(self.space.requests[request]):
            if size(option):
                for devices in self._filled(assignment, option, (), size(option)):
                    yield number, devices

    def _filled(self, assignment, option, devices, left):
        if not left:
            yield devices
            return
        start = devices[-1] + 1 if devices else 0
        listed = [one for one in positions(option.candidates) if one >= start]
        for device in listed[:1] if option.count is None else listed:
            if assignment.available(option) >> device & 1:
                self.tried.step()
                before = assignment.take(option, device)
                yield from self._filled(assignment, option, (*devices, device), left - 1)
                assignment.give_back(before)

    def answers(self, assignment, request=0):
        """Yield every way to serve the requests from one on. Raises: as ``ways``."""
        if request == len(self.space.requests):
            if all(rule.is_met(state) for rule, state in zip(self.rules, assignment.rules, strict=True)):
                yield Picked((), ())
            return
        for option, devices in self.ways(assignment, request):
            for rest in self.answers(assignment, request + 1):
                yield Picked((option, *rest.options), (devices, *rest.devices))

    def has_answer(self, assignment, request=0):
        """Whether the requests from one on can be served, None where too much would have to be tried."""
        try:
            with self.tried.within(_MOST):
                return next(self.answers(twin(assignment), request), None) is not None
        except EffortExceeded:
            return None


def twin(assignment):
    """A copy of a partial assignment, to be changed by itself."""
    found = copy(assignment)
    found.states, found.consumed = list(found.states), dict(found.consumed)
    found.used, found.watched = list(found.used), list(found.watched)
    return found


def size(option):
    """How many devices an option wants, all slices being known."""
    return option.candidates.bit_count() if option.count is None else option.count


def compiled_for(situation, node):
    """The claims of a situation, every feature being on."""
    situation.features = replace(situation.features, **dict.fromkeys(GATES, True))
    compiled = compiled_claims(features=situation.features).of_new(situation.claims)
    return Searched(situation, node, situation.engine().state, compiled)


def searched(seed):
    """Random claims on a random node."""
    return compiled_for(situation_of(Random(seed)), NODES[seed % 2])


def questioned(published, *claims, held=None):
    """Some claims on the node of one pool, of which somebody may hold devices."""
    return compiled_for(Situation([published], [held] if held else [], list(claims), ALL), NODE)


def settled(seed):
    """The same, None where a selector fails on some device: then nothing is left out or looked ahead."""
    found = searched(seed)
    return None if found.space.fails else found


def walk(found, chance, assignment, most):
    """Serve up to ``most`` requests at random; return how many were served."""
    for request in range(min(most, len(found.space.requests))):
        for _ in range(4):
            option = chance.choice(found.space.requests[request])
            taken = serve(found, chance, assignment, option)
            if len(taken) == size(option) > 0:
                break
            for before in reversed(taken):
                assignment.give_back(before)
        else:
            return request
    return min(most, len(found.space.requests))


def serve(found, chance, assignment, option):
    """Give an option random devices in listed order, as many as it can get; return what gives them back."""
    taken, start = [], 0
    for left in range(size(option), 0, -1):
        free = [one for one in positions(assignment.available(option)) if one >= start]
        if not free:
            break
        device = chance.choice(free[: max(1, len(free) - left + 1)])
        taken.append(assignment.take(option, device))
        start = device + 1
    return taken


def numbered(published):
    """The components of a pool, its devices by number, and how positions become numbers of devices."""
    components = PoolCompiler(ALL).compile_if_regular(published).components
    places = [
        (number, position)
        for number, one in enumerate(components)
        for position in range(one.template.tables.size)
    ]
    bits = {place: bit for bit, place in enumerate(places)}
    devices = [components[number].device(position) for number, position in places]
    return (
        components,
        devices,
        lambda number, mask: mask_of(bits[number, position] for position in positions(mask)),
    )
