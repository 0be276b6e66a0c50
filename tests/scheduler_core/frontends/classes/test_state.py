"""The status of classes through events: counted from facts, so nothing leaks and order does not matter."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.frontends.classes.events import (
    AddClass,
    AddNode,
    AddPod,
    DeletePod,
    Done,
    EventRefused,
    PodPlaced,
    PodUnplaced,
    RemoveClass,
    RemoveNode,
    UpdateClass,
)
from scheduler_core.frontends.classes.model import (
    ClassDevice,
    Grant,
    ResourceClass,
    Use,
    ValueOperator,
    ValueRequirement,
)
from scheduler_core.frontends.classes.state import State, Status, after, in_use, selected, statuses
from scheduler_core.frontends.classes.values import value_of

CLASSES = {
    name: ResourceClass(name, ((ValueRequirement("Kind", ValueOperator.IN, kinds),),))
    for name, kinds in {"gpus": ("gpu",), "nics": ("nic",), "any": ("gpu", "nic"), "none": ("fpga",)}.items()
}
NODES = ("n1", "n2", "n3")
PODS = ("p1", "p2", "p3", "p4")

devices = st.lists(st.tuples(st.sampled_from(("gpu", "nic")), st.integers(0, 4)), max_size=4).map(
    lambda listed: tuple(
        ClassDevice(f"d{n}", quantity, {"Kind": value_of(kind)}) for n, (kind, quantity) in enumerate(listed)
    )
)
names = st.sampled_from(tuple(CLASSES))
requests = st.dictionaries(names, st.integers(1, 3), min_size=1, max_size=2)
beginnings = st.lists(devices, min_size=2, max_size=2).map(
    lambda listed: [
        *(AddClass(CLASSES[name]) for name in ("gpus", "any")),
        *(AddNode(name, there) for name, there in zip(NODES, listed, strict=False)),
    ]
)
later = st.lists(
    st.one_of(
        st.builds(AddPod, st.sampled_from(PODS), requests),
        st.builds(AddPod, st.sampled_from(PODS), requests),
        st.sampled_from(PODS).map(DeletePod),
        names.map(lambda name: AddClass(CLASSES[name])),
        names.map(RemoveClass),
        st.builds(AddNode, st.sampled_from(NODES), devices),
        st.sampled_from(NODES).map(RemoveNode),
    ),
    max_size=15,
)
events = st.builds(lambda first, rest: [*first, *rest], beginnings, later)


def run(happened, state=None):
    for event in happened:
        state, _ = after(state or State(), event)
    return state or State()


@settings(deadline=None)
@given(events)
def test_no_number_is_negative_and_requested_is_the_sum_over_pods(happened):
    state = run(happened)

    for name, status in statuses(state).items():
        places = {(node, device.name) for node, device in selected(state, name)}
        held = sum(
            use.quantity
            for pod in state.pods.values()
            for use in pod.grant.uses
            if (pod.grant.node, use.device) in places
        )
        assert status.allocatable >= 0
        assert status.requested == held


@settings(deadline=None)
@given(events, st.randoms(use_true_random=False))
def test_the_facts_told_again_in_any_order_give_the_same_status(happened, random):
    state = run(happened)
    facts = [
        *(AddClass(one) for one in state.classes.values()),
        *(AddNode(name, listed) for name, listed in state.nodes.items()),
        *(AddPod(name, pod.requests, pod.grant) for name, pod in state.pods.items()),
    ]
    random.shuffle(facts)

    again = run(facts)

    assert statuses(again) == statuses(state)
    assert all(in_use(again, node) == in_use(state, node) for node in state.nodes)


@settings(deadline=None)
@given(events)
def test_events_told_twice_change_nothing_the_second_time(happened):
    state = State()
    for event in happened:
        state, outcome = after(state, event)
        again, second = after(state, event)
        if not isinstance(outcome, PodUnplaced):
            assert (again, second) == (state, outcome)


@settings(deadline=None)
@given(events)
def test_when_all_pods_are_gone_nothing_is_requested(happened):
    state = run([*happened, *(DeletePod(name) for name in PODS)])

    assert all(status.requested == 0 for status in statuses(state).values())
    assert state.pods == {}


@settings(deadline=None)
@given(events, st.sampled_from(PODS), requests)
def test_adding_a_pod_and_deleting_it_is_as_if_it_had_never_been(happened, name, asked):
    before = run([*happened, DeletePod(name)])

    gone = run([AddPod(name, asked), DeletePod(name)], before)

    assert gone == before


@settings(deadline=None)
@given(events)
def test_no_device_gives_more_than_it_had_when_the_pod_came(happened):
    state = State()
    for event in happened:
        before = state
        state, outcome = after(state, event)
        if isinstance(outcome, PodPlaced) and state is not before and event.name not in before.pods:
            listed = {one.name: one.quantity for one in state.nodes[outcome.grant.node]}
            used = in_use(state, outcome.grant.node)
            assert all(used[use.device] <= listed[use.device] for use in outcome.grant.uses)


def test_a_class_cannot_be_changed_and_stays_as_it_was(class_of):
    state = run([AddClass(class_of("c", [("Kind", "Eq", "gpu")]))])
    other = class_of("c", [("Kind", "Eq", "nic")])

    for event in (UpdateClass(other), AddClass(other)):
        assert after(state, event) == (
            state,
            EventRefused(
                "ResourceClass c cannot be changed: its spec is immutable; delete it and create another"
            ),
        )


def test_a_class_written_again_as_it_is_is_accepted_and_one_that_is_not_there_is_not(class_of):
    same = class_of("c", [("Kind", "Eq", "gpu")])

    assert after(run([AddClass(same)]), UpdateClass(same))[1] == Done()
    assert isinstance(after(State(), UpdateClass(same))[1], EventRefused)


def test_a_node_that_comes_back_finds_its_pods_again(device):
    there = [AddClass(CLASSES["gpus"]), AddNode("n1", (device("d", Kind="gpu"),)), AddPod("p", {"gpus": 1})]

    gone = run([*there, RemoveNode("n1")])
    back = run([AddNode("n1", (device("d", Kind="gpu"),))], gone)

    assert statuses(gone)["gpus"] == Status(0, 0)
    assert statuses(back)["gpus"] == Status(1, 1)


def test_a_pod_is_counted_by_every_class_that_selects_its_device_also_by_later_ones(device):
    state = run(
        [AddClass(CLASSES["gpus"]), AddNode("n1", (device("d", Kind="gpu"),)), AddPod("p", {"gpus": 1})]
    )

    state = run([AddClass(CLASSES["any"])], state)

    assert statuses(state)["any"] == Status(1, 1)


def test_a_pod_that_does_not_fit_is_told_what_was_short_and_holds_nothing(device):
    listed = (device("a", Kind="gpu"), device("b", Kind="nic"))
    state = run([AddClass(CLASSES["gpus"]), AddNode("n1", listed)])

    after_it, outcome = after(state, AddPod("p", {"gpus": 2}))

    assert outcome == PodUnplaced("no single node has enough: gpus: 2 asked, at most 1 free")
    assert after_it == state


def test_a_pod_that_asks_for_an_unknown_class_is_told_which(device):
    state = run([AddNode("n1", (device("a", Kind="gpu"),))])

    assert after(state, AddPod("p", {"gpus": 1}))[1] == PodUnplaced("there is no ResourceClass gpus")


def test_a_pod_cannot_move(device):
    state = run([AddPod("p", None, Grant("n1", (Use("gpus", "a", 1),)))])

    changed, outcome = after(state, AddPod("p", None, Grant("n2", (Use("gpus", "a", 1),))))

    assert (changed, outcome) == (state, EventRefused("pod p cannot be changed: it holds devices on n1"))


def test_devices_that_others_block_are_passed_over(device):
    listed = (device("a", Kind="gpu"), device("b", Kind="gpu"))
    state = run([AddClass(CLASSES["gpus"]), AddNode("n1", listed)])

    _, outcome = after(state, AddPod("p", {"gpus": 1}, without=frozenset({("n1", "a")})))

    assert outcome == PodPlaced(Grant("n1", (Use("gpus", "b", 1),)))
