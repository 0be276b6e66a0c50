"""What keeps a request from one device: what the plain search gives a request, the request could have."""

from math import inf
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_clusters import NODES, situation_of

from scheduler_core.advice.why_not import why_not_device
from scheduler_core.base.errors import CoreError
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId, DeviceName
from scheduler_core.model.obstacles import InUse
from scheduler_core.model.result import Allocation
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

KIND = f"device.attributes['{DRIVER}'].kind"
BOARDS = pool(device("b0", attributes={"kind": "whole"}, m=1), device("b1", attributes={"kind": "half"}, m=1))


def verdict(name, *selectors, allocated=()):
    cluster = Cluster(pools=(BOARDS,), classes={"any": ANY}, allocated=tuple(allocated))
    asked = claim(request("r", *selectors))
    (found,) = why_not_device([asked], cluster, NODE, DeviceId(DRIVER, NODE.name, DeviceName(name)))
    return found


def test_the_first_term_that_is_false_is_named_with_what_the_device_has():
    found = verdict("b1", f"device.driver == '{DRIVER}' && {KIND} == 'whole'")

    assert not found.is_possible
    assert found.stage.asked == f"{KIND} == 'whole'"
    assert dict(found.stage.values[0].found) == {"half": 1}


def test_a_device_that_matches_and_is_held_is_told_with_its_obstacle():
    found = verdict("b0", allocated=[held("b0", by="h")])

    assert (found.stage, type(found.obstacle)) == (None, InUse)


def test_a_device_that_the_node_does_not_see_is_told_as_such():
    found = verdict("b9")

    assert (found.is_seen, found.is_possible) == (False, False)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**48))
def test_every_device_of_an_answer_is_possible_for_its_request(seed):
    situation = situation_of(Random(seed))
    cluster = situation.cluster()
    for node in NODES:
        try:
            answer = allocate(situation.claims, cluster, node, most=inf)
        except CoreError:
            continue
        for ref, results in answer.results.items() if isinstance(answer, Allocation) else ():
            for one in results:
                verdicts = why_not_device(situation.claims, cluster, node, one.device)
                mine = [each for each in verdicts if (each.claim, each.request) == (ref, one.request)]
                assert [each.is_possible or one.admin_access for each in mine] == [True]
