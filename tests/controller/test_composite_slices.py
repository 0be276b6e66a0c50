"""The controller allocates from the composite slices of nodes that it owns and that publish nothing else."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from threading import Event

import pytest
from claims_at_server import DRIVER, TAINT, claim, device_class, machine, node, pod
from claims_at_server.world import World
from hypothesis import given
from hypothesis import strategies as st
from scripted_api import Reply, Script, Stream, serving, status, write_kubeconfig

from controller.api import Cluster
from controller.model.slices import read_composite_slice
from scheduler_core.codec import v1
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project

KIND = "CompositeResourceSlice"


def composites(name, gpus=2, taint=TAINT, generation=1):
    """Return what ``machine`` returns, in the other dialect: types are in mixins, and so is their slice."""
    taints = {} if taint is None else {"taints": [taint]}

    def device(called, gpu, kind, slices, *sources):
        cut = {"consumesCapacityFrom": [{"name": one} for one in sources]} if sources else {}
        body = {"includes": [{"name": kind}], "attributes": {"gpu": {"int": gpu}}, **cut, **taints}
        return {"name": called, "composite": {**body, "capacity": {"slices": {"quantity": str(slices)}}}}

    devices = []
    for one in range(gpus):
        devices.append(device(f"gpu-{one}", one, "gpu", 2))
        devices += [device(f"half-{one}-{part}", one, "half", 1, f"gpu-{one}") for part in range(2)]
    mixins = [
        {"name": one, "composite": {"attributes": {"type": {"string": one}}}} for one in ("gpu", "half")
    ]
    pool = {"name": name, "generation": generation, "resourceSliceCount": 2}
    common = {"driver": DRIVER, "nodeName": name, "pool": pool}
    return [
        {"kind": KIND, "metadata": {"name": f"{name}-0"}, "spec": {**common, "deviceMixins": mixins}},
        {"kind": KIND, "metadata": {"name": f"{name}-1"}, "spec": {**common, "devices": devices}},
    ]


def projections(name, **how):
    """Return the v1 slices of the composite ones, as the agent would publish them."""
    pool = project(flatten([decode_slice(one) for one in composites(name, **how)]))
    return v1.encode_pool(pool, Layout.SEPARATE)


@pytest.fixture
def bare(world: World) -> World:
    """A world with two owned nodes without slices; both classes are there."""
    for kind in ("ResourceSlice", "Node"):
        for name in list(world.server.objects[kind]):
            world.server.drop(kind, name)
    for name in ("a", "b"):
        world.server.put("Node", node(name))
    world.settle()
    return world


def publish(world, *slices):
    for one in slices:
        world.server.put(one.get("kind", "ResourceSlice"), one)
    world.watch()
    world.pass_time(0)
    world.pass_time(3)


def withdraw(world, *slices):
    for one in slices:
        world.server.drop(one.get("kind", "ResourceSlice"), one["metadata"]["name"])
    world.watch()
    world.pass_time(0)
    world.pass_time(3)


def ask(world, name, kind="half", count=1):
    world.server.put("ResourceClaim", claim(name, kind, count))
    world.server.put("Pod", pod(name, name))
    world.settle()
    return world.devices_of(name)


def test_a_pod_gets_devices_that_are_published_in_this_form_alone(bare):
    assert ask(bare, "early", "gpu") == []

    publish(bare, *composites("a"))
    bare.settle()

    assert bare.devices_of("early") == ["a/gpu-0"]
    assert not bare.is_gated("early")
    assert ask(bare, "next", "half", 2) == ["a/half-1-0", "a/half-1-1"]
    assert ask(bare, "late", "half") == []


steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(["gpu", "half"]), st.integers(1, 3)),
        st.tuples(st.just("end"), st.integers(0, 9), st.none()),
    ),
    max_size=12,
)


def life(slices, steps):
    """Return what each claim got, and the reasons of pods that wait."""
    world = World()
    for kind in ("gpu", "half"):
        world.server.put("DeviceClass", device_class(kind))
    for name in ("a", "b"):
        world.server.put("Node", node(name))
    publish(world, *slices("a"), *slices("b", gpus=1))
    asked = []
    for number, (what, first, second) in enumerate(steps):
        if what == "ask":
            asked.append(f"p{number}")
            ask(world, asked[-1], first, second)
        elif first < len(asked) and asked[first] in world.server.pods():
            world.server.drop("Pod", asked[first])
            world.server.drop("ResourceClaim", asked[first])
            world.settle()
    waiting = {name: world.told(name) for name in asked if name in world.server.pods()}
    stored = world.server.objects.get("ResourceClaim", {})
    return [(stored.get(one) or {}).get("status") for one in asked], waiting


@given(steps)
def test_claims_and_reasons_are_those_of_the_v1_slices(steps):
    assert life(composites, steps) == life(projections, steps)


def test_where_v1_slices_are_too_they_count_and_no_device_counts_twice(bare):
    publish(bare, *composites("a", generation=9), *machine("a"))

    assert ask(bare, "first", "gpu", 2) == ["a/gpu-0", "a/gpu-1"]
    assert ask(bare, "second", "gpu") == ask(bare, "third", "half") == []
    withdraw(bare, *machine("a"))
    bare.settle()
    assert bare.devices_of("second") == bare.devices_of("third") == []
    for kind in ("Pod", "ResourceClaim"):
        bare.server.drop(kind, "first")
    bare.settle()
    assert bare.devices_of("second") == ["a/gpu-0"]
    assert bare.devices_of("third") == ["a/half-1-0"]


def test_a_device_that_is_held_by_the_v1_form_is_held_in_this_one(bare):
    publish(bare, *machine("a"))
    assert ask(bare, "first", "gpu") == ["a/gpu-0"]
    publish(bare, *composites("a"))
    withdraw(bare, *machine("a"))

    assert ask(bare, "second", "gpu", 2) == []
    assert ask(bare, "third", "gpu") == ["a/gpu-1"]


def test_without_the_mark_they_are_a_copy_for_readers(bare):
    publish(bare, *composites("a", taint=None))

    assert ask(bare, "p", "half") == []
    publish(bare, *machine("a", taints=False), *composites("a"))
    assert ask(bare, "q", "half") == []  # kube-scheduler sees the v1 slices


def test_a_node_that_takes_the_mark_back_is_left_alone(bare):
    publish(bare, *composites("a"))
    assert ask(bare, "p", "half") == ["a/half-0-0"]
    publish(bare, *composites("a", taint=None))

    assert ask(bare, "q", "half") == []
    assert "no device" in bare.told("q")


def test_half_a_pool_is_not_used(bare):
    first, second = composites("a")
    publish(bare, first)
    assert ask(bare, "p", "gpu") == []
    publish(bare, second)
    bare.settle()
    assert bare.devices_of("p") == ["a/gpu-0"]
    withdraw(bare, first)
    assert ask(bare, "q", "gpu") == []


def test_slices_of_both_kinds_may_have_one_name(bare):
    publish(bare, *composites("a"), *machine("b"))
    renamed = [{**one, "metadata": {"name": f"a-{number}"}} for number, one in enumerate(machine("b"))]
    withdraw(bare, *machine("b"))
    publish(bare, *renamed)
    withdraw(bare, *renamed)

    assert ask(bare, "p", "gpu", 2) == ["a/gpu-0", "a/gpu-1"]


def test_a_node_without_the_label_is_not_the_controllers(bare):
    publish(bare, *composites("a"))
    bare.server.put("Node", {"metadata": {"name": "a"}})

    assert ask(bare, "p", "half") == []


def test_other_taints_of_the_devices_count(bare):
    slices = composites("a")
    for one in slices[1]["spec"]["devices"]:
        if one["name"] != "half-1-1":
            one["composite"]["taints"] = [TAINT, {"key": "ill", "effect": "NoSchedule"}]
    publish(bare, *slices)

    assert ask(bare, "p", "half") == ["a/half-1-1"]


@pytest.mark.parametrize(
    "spec", [{}, {"driver": DRIVER, "pool": 1}, {"driver": DRIVER, "pool": {"name": "a"}}]
)
def test_one_that_cannot_be_read_is_a_problem_and_nothing_else(bare, spec):
    publish(bare, *composites("b"), {"kind": KIND, "metadata": {"name": "odd"}, "spec": spec})

    assert list(bare.coordinator.seen.problems) == ["composite/odd"]
    assert ask(bare, "p", "half") == ["b/half-0-0"]
    withdraw(bare, {"kind": KIND, "metadata": {"name": "odd"}})
    assert bare.coordinator.seen.problems == {}


def test_pools_of_several_nodes_are_not_read_in_this_form():
    (_, listed) = composites("multi-node/x")

    assert read_composite_slice(listed).content is None


@pytest.fixture
def following(tmp_path):
    """Follow composite slices at a server with some answers; return what is kept, and the requests."""
    with ExitStack() as opened:

        def follow(*answers):
            script = Script()
            script.answers(*answers)
            opened.enter_context(contextmanager(serving)(script))
            file = write_kubeconfig(
                tmp_path / "kubeconfig", f"http://127.0.0.1:{script.server_port}", {}, {"token": "t"}
            )
            cluster = Cluster.connect(file, None, DRIVER)
            opened.callback(cluster.close)
            watched, stop = cluster.composite_slices, Event()
            problems = []
            for problem in watched.follow(stop):
                problems.append(problem)
                if watched.is_synced:
                    stop.set()
                    break
            assert set(problems) == {""}
            return watched, script.requests

        yield follow


def test_only_slices_that_an_agent_labelled_are_asked_for(following):
    added = {"uid": "u", "resourceVersion": "1"}
    stored = [{**one, "metadata": {**one["metadata"], **added}} for one in composites("a")]
    listed = {"metadata": {"resourceVersion": "1"}, "items": stored}

    watched, (request, *_) = following(Reply(listed), Stream(then="hang"))

    assert request.path == "/apis/tangram.dev/v1alpha1/compositeresourceslices"
    assert request.query["labelSelector"] == "tangram.dev/allocator=controller"
    assert request.query["fieldSelector"] == f"spec.driver={DRIVER}"
    assert [one.is_owned for one in watched.store.values()] == [None, True]


def test_a_server_without_the_kind_keeps_no_controller_from_starting(following):
    watched, _ = following(Reply(status(404, "NotFound"), 404))

    assert watched.is_synced
    assert list(watched.store.values()) == []
