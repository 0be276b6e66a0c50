"""The result writer: an answer in numbers becomes the allocation that the plain search writes."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from nodes_in_tables import compiled_claims, node_views_of, plan_on

from scheduler_core.engine.result_writer import ResultWriter
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import DeviceClass, OpaqueConfig
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import Binding
from scheduler_core.model.nodes import AllNodes, Matching, Node, OnNode, Operator, Requirement
from scheduler_core.model.result import Allocation
from scheduler_core.model.taints import Toleration
from scheduler_core.state.testing import DRIVER, claim, device, pool, request

ZONE_A = Matching((Requirement("zone", Operator.IN, ("a",)),))
NODE = Node("node-1", {"zone": "a"})
CONFIG, CLASS_CONFIG = (OpaqueConfig(driver=DRIVER, parameters={"from": name}) for name in ("claim", "class"))
PLAIN = {"any": DeviceClass(name="any")}
WITH_CONFIG = {"any": DeviceClass(name="any", configs=(replace(CLASS_CONFIG, from_class=True),))}


@st.composite
def published_pools(draw):
    """Four devices for one node, for a zone or for all, some of which bind to their node."""
    found = pool(*(device(f"d{number}") for number in range(4)))
    return replace(
        found,
        devices=tuple(
            replace(
                one,
                nodes=draw(st.sampled_from([AllNodes(), OnNode(NODE.name), ZONE_A])),
                binding=draw(st.sampled_from([Binding(), Binding(("ready",)), Binding(to_node=True)])),
            )
            for one in found.devices
        ),
    )


@st.composite
def claims_of(draw):
    """One or two claims, of which each request wants a device or two."""
    found = []
    for number in range(draw(st.integers(1, 2))):
        requests = []
        for index in range(draw(st.integers(1, 2))):
            asked = request(f"r{index}", count=draw(st.integers(1, 2)))
            tolerations = draw(st.sampled_from([(), (Toleration("health", exists=True),)]))
            option = replace(asked.alternatives[0], tolerations=tolerations)
            requests.append(replace(asked, alternatives=(option,)))
        configs = draw(st.sampled_from([(), (CONFIG,), (replace(CONFIG, requests=("r0",)),)]))
        found.append(replace(claim(*requests, name=f"c{number}"), configs=configs))
    return found


def writer_with(classes):
    found = ResultWriter()
    found.set_classes(classes)
    return found


def written(published, claims, classes):
    node_view = node_views_of([published]).node_view(NODE)
    answer = compiled_claims(classes).of_new(claims).coverage(node_view).plan.first(node_view.components)
    return answer and writer_with(classes).written(answer, claims, node_view)


@settings(max_examples=200)
@given(published_pools(), claims_of(), st.sampled_from([PLAIN, WITH_CONFIG]))
def test_an_answer_is_written_as_the_plain_search_writes_it(published, claims, classes):
    expected = allocate(claims, Cluster(pools=(published,), classes=classes), NODE)

    found = written(published, claims, classes)

    assert found == (expected if isinstance(expected, Allocation) else None)


def test_results_for_one_device_and_request_are_one_object():
    published, wanted = pool(device("d")), [claim(request("r"))]
    node_view = node_views_of([published]).node_view(NODE)
    answer = plan_on(node_view, *wanted).first(node_view.components)
    writer = writer_with(PLAIN)

    first, second = (writer.written(answer, wanted, node_view) for _ in range(2))

    assert first == second
    assert first.results[wanted[0].ref][0] is second.results[wanted[0].ref][0]
