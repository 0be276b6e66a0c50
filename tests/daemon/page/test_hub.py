"""Readers of the page's value get the newest one, and what has changed since the one that they have."""

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.page.hub import Ended, Hub, changes, encoded, event

NODES = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2)).map(
    lambda found: [{"name": name, "used": used} for name, used in sorted(found.items())]
)
VALUES = st.fixed_dictionaries({"nodes": NODES, "waiting": st.lists(st.integers(0, 3)), "made": st.text()})


def told(found):
    """An event of the hub as its name and its value."""
    number, text = found
    head, data, *_ = text.decode().splitlines()
    return number, head.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def patched(value, change):
    """What the page's script does with a change."""
    nodes = {one["name"]: one for one in value["nodes"]} | change.get("nodes", {})
    kept = [node for _, node in sorted(nodes.items()) if node is not None]
    return value | change | {"nodes": kept}


@given(VALUES, VALUES)
def test_a_reader_that_takes_in_the_changes_has_the_new_value(old, new):
    assert patched(old, changes(old, new)) == new


@given(VALUES)
def test_nothing_is_told_where_nothing_has_changed(value):
    assert changes(value, dict(value)) == {}


@given(VALUES, VALUES)
def test_values_and_changes_are_encoded_as_they_are(old, new):
    assert json.loads(encoded(new)) == new
    assert json.loads(encoded(changes(old, new))) == changes(old, new)


def node(name):
    return {"nodes": [{"name": name}]}


def test_a_reader_gets_the_value_that_there_is_then_a_change_and_all_where_it_missed_one():
    hub = Hub(node("a"))
    number, kind, value = told(hub.next(None, 0))
    assert (kind, value) == ("all", node("a"))
    assert hub.next(number, 0) is None
    hub.put(node("b"))
    number, kind, value = told(hub.next(number, 0))
    assert (kind, value) == ("change", {"nodes": {"a": None, "b": {"name": "b"}}})
    hub.put(node("c"))
    hub.put(node("d"))
    assert told(hub.next(number, 0))[1:] == ("all", node("d"))
    assert (hub.value, json.loads(hub.text())) == (node("d"), node("d"))


def test_whatever_is_told_is_encoded_once_for_all_readers():
    hub = Hub(node("a"))
    number, first = hub.next(None, 0)
    assert hub.next(None, 0)[1] is first
    hub.put(node("b"))
    assert hub.next(number, 0)[1] is hub.next(number, 0)[1]
    assert hub.text() is hub.text()


def test_a_reader_that_waits_is_woken_by_a_value_and_by_the_end():
    hub, found = Hub({"nodes": []}), []

    def read():
        number = None
        try:
            while True:
                number, _, value = told(hub.next(number, 60))
                found.append(value["nodes"])
                seen.release()
        except Ended:
            found.append("ended")

    seen = threading.Semaphore(0)
    reader = threading.Thread(target=read)
    reader.start()
    seen.acquire()
    hub.put(node("a"))
    seen.acquire()
    hub.end()
    reader.join()
    assert found == [[], {"a": {"name": "a"}}, "ended"]


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "\u2028", "event: x\n\n"])
def test_an_event_is_one_line_of_data(text):
    head, data, *rest = event("change", encoded({"text": text})).decode().splitlines()
    assert (head, rest) == ("event: change", [""])
    assert json.loads(data.removeprefix("data: ")) == {"text": text}
