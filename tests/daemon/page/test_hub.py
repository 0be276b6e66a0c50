"""Readers of the page's value get the newest one, and what has changed since the one that they have."""

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.page.hub import Ended, Hub, changes, event

NODES = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2)).map(
    lambda found: [{"name": name, "used": used} for name, used in sorted(found.items())]
)
VALUES = st.fixed_dictionaries({"nodes": NODES, "waiting": st.lists(st.integers(0, 3)), "made": st.text()})


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


def test_a_reader_gets_the_value_that_there_is_and_then_waits_for_another_one():
    hub = Hub({"nodes": []})
    number, value = hub.next(None, 0)
    assert value == {"nodes": []}
    assert hub.next(number, 0) is None
    hub.put({"nodes": [1]})
    hub.put({"nodes": [2]})
    assert hub.next(number, 0)[1] == hub.value == {"nodes": [2]}


def test_a_reader_that_waits_is_woken_by_a_value_and_by_the_end():
    hub, found = Hub({"nodes": []}), []

    def read():
        number = None
        try:
            while True:
                number, value = hub.next(number, 60)
                found.append(value["nodes"])
                seen.release()
        except Ended:
            found.append("ended")

    seen = threading.Semaphore(0)
    reader = threading.Thread(target=read)
    reader.start()
    seen.acquire()
    hub.put({"nodes": [1]})
    seen.acquire()
    hub.end()
    reader.join()
    assert found == [[], [1], "ended"]


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "\u2028", "event: x\n\n"])
def test_an_event_is_one_line_of_data(text):
    told = event("change", {"text": text}).decode()
    head, data, *rest = told.splitlines()
    assert (head, rest) == ("event: change", [""])
    assert json.loads(data.removeprefix("data: ")) == {"text": text}
