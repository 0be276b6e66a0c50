"""What the publisher knows of the API server's slices: its watch and its own writes, and no call more."""

from __future__ import annotations

import threading
from itertools import islice

import pytest
from scripted_api import Clock, Reply, Script, Stream, serving, status, write_kubeconfig
from scripted_api.watching import error

from agent.api import ApiSliceStore
from agent.publishing.errors import NotThere, Outdated
from agent.publishing.ports import Heard, Interrupted
from kube_api import RESOURCE_SLICES, KubeApi, Limits


@pytest.fixture
def server():
    yield from serving(Script())


@pytest.fixture
def stop():
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def store(server, tmp_path):
    address = f"http://127.0.0.1:{server.server_port}"
    clock = Clock()
    api = KubeApi.connect(
        write_kubeconfig(tmp_path / "kubeconfig", address, {}, {"token": "t"}),
        user_agent="test",
        clock=clock,
        sleep=clock.sleep,
        random=lambda: 0.0,
        limits=Limits(first_delay_s=0.001, watch_longest_delay_s=0.002),
        environ={},
    )
    yield ApiSliceStore(api, RESOURCE_SLICES, "spec.nodeName=node-1")
    api.close()


def slice_of(name="a", version=1, **metadata):
    found = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version), **metadata}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": found, "spec": {}}


def listing(version, *slices):
    return Reply({"metadata": {"resourceVersion": str(version)}, "items": list(slices)})


def line(kind, found):
    return {"type": kind, "object": found}


def test_the_first_list_is_new_even_when_it_is_empty(server, store, stop):
    server.answers(listing(10), Stream((), then="hang"))
    assert not store.is_listed

    assert next(store.changes(stop)) == Heard(is_new=True)

    assert store.is_listed
    assert store.documents() == ()
    assert server.requests[0].query == {"fieldSelector": "spec.nodeName=node-1", "limit": "500"}


def test_what_we_wrote_is_known_at_once_and_is_not_new_when_the_watch_tells_of_it(server, store, stop):
    created, replaced = slice_of("b", 11), slice_of("a", 12)
    watched = Stream((line("ADDED", created), line("MODIFIED", replaced)), then="hang")
    server.answers(listing(10, slice_of()), Reply(created, 201), Reply(replaced), watched)
    heard = store.changes(stop)
    next(heard)

    store.create(slice_of("b"))
    store.replace(slice_of("a"))

    assert store.documents() == (replaced, created)
    assert list(islice(heard, 2)) == [Heard(is_new=False)] * 2
    assert [request.method for request in server.requests] == ["GET", "POST", "PUT", "GET"]


def test_a_dry_run_is_not_stored(server, store, stop):
    server.answers(listing(10), Reply(slice_of("b", 11), 201))
    next(store.changes(stop))

    assert store.create(slice_of("b"), dry_run=True) == slice_of("b", 11)

    assert store.documents() == ()


@pytest.mark.parametrize("answer", [Reply(status(200)), Reply(slice_of("a", 11))])
def test_what_we_deleted_is_gone_at_once(server, store, stop, answer):
    gone = Stream((line("MODIFIED", slice_of("a", 11)), line("DELETED", slice_of("a", 12))), then="hang")
    server.answers(listing(10, slice_of()), answer, gone)
    heard = store.changes(stop)
    next(heard)

    store.delete("a", "uid-a", "10")

    assert store.documents() == ()
    assert list(islice(heard, 2)) == [Heard(is_new=False)] * 2


def test_what_was_deleted_before_us_is_gone_at_once(server, store, stop):
    server.answers(listing(10, slice_of()), Reply(status(404, "NotFound"), 404))
    next(store.changes(stop))

    with pytest.raises(NotThere):
        store.delete("a", "uid-a", "10")

    assert store.documents() == ()


def test_what_could_not_be_deleted_is_still_there(server, store, stop):
    server.answers(listing(10, slice_of()), Reply(status(409, "Conflict"), 409))
    next(store.changes(stop))

    with pytest.raises(Outdated):
        store.delete("a", "uid-a", "10")

    assert store.documents() == (slice_of(),)


def test_what_waits_for_its_finalizers_is_still_there(server, store, stop):
    marked = slice_of("a", 11, deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["x/y"])
    server.answers(listing(10, slice_of()), Reply(marked))
    next(store.changes(stop))

    store.delete("a", "uid-a", "10")

    assert store.documents() == (marked,)


def test_a_slice_that_cannot_be_read_is_told_and_hides_no_other(server, store, stop, caplog):
    spoilt = (
        b'{"type": "ADDED", "object": {"metadata": {"name": "bad", "resourceVersion": "11"}, "spec": %s}}\n'
    )
    lines = (spoilt % (b"[" * 100_000 + b"]" * 100_000), line("ADDED", slice_of("b", 12)))
    server.answers(listing(10), Stream(lines, then="hang"))

    heard = list(islice(store.changes(stop), 3))

    assert [one.is_new for one in heard] == [True, False, True]
    assert store.documents() == (slice_of("b", 12),)
    assert caplog.messages == ["ResourceSlice bad cannot be read: it is nested too deeply"]


def test_a_broken_watch_is_told_and_what_cannot_mend_itself_ends_it(server, store, stop):
    server.answers(listing(10), Stream((error(500, "InternalError"),)), Reply(status(404, "NotFound"), 404))
    heard = store.changes(stop)
    next(heard)

    assert isinstance(next(heard), Interrupted)
    with pytest.raises(NotThere):
        next(heard)
