"""The text of a metric is kept series by series, and is always what Prometheus's own client would write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Counter, Gauge, Histogram, generate_latest

from daemon.metrics.definition import Definition
from daemon.metrics.registry import Registry

LABELS = ("zone", "Node_1", "a")
BUCKETS = (0.1, 1.0, 30.0)
HELP = 'With "quotes", a \\ and\na second line.'
DEFINITIONS = {
    "writes_total": Definition("counter", HELP, LABELS),
    "looks_total": Definition("counter", HELP),
    "age": Definition("gauge", HELP),
    "devices": Definition("gauge", HELP, LABELS),
    "info": Definition("gauge", HELP, LABELS, prefix="product_"),
    "seconds": Definition("histogram", HELP, LABELS, BUCKETS),
    "wait_seconds": Definition("histogram", HELP, (), BUCKETS),
}

ODD_TEXTS = ("", "x", "y", 'a "b"', "\\", "\\n", "\n", "\r\u2028\x85", "é{}=,")
texts = st.sampled_from(ODD_TEXTS) | st.text(max_size=4)
values_of_labels = st.tuples(*[texts] * len(LABELS))
numbers = st.floats() | st.integers(0, 3).map(float) | st.sampled_from([1e6, 1e7, 1.5e21, 0.1])
amounts = st.floats(0, 1e9)
pages = st.just(("page",))
operations = st.lists(
    st.one_of(
        pages,
        st.tuples(st.just("add"), st.just("writes_total"), values_of_labels, amounts),
        st.tuples(st.just("add"), st.just("looks_total"), st.just(()), amounts),
        st.tuples(st.just("add"), st.just("devices"), values_of_labels, numbers),
        st.tuples(st.just("set"), st.just("age"), st.just(()), numbers),
        st.tuples(st.just("set"), st.just("devices"), values_of_labels, numbers),
        st.tuples(st.just("observe"), st.just("seconds"), values_of_labels, amounts),
        st.tuples(st.just("observe"), st.just("wait_seconds"), st.just(()), amounts),
        st.tuples(
            st.just("replace"),
            st.sampled_from(["devices", "info"]),
            st.dictionaries(values_of_labels, numbers, max_size=4),
        ),
    ),
    max_size=20,
)


class Client:
    """The oracle: the same metrics, kept and written by Prometheus's client alone."""

    def __init__(self) -> None:
        self.metrics: dict[str, Any] = {
            "writes_total": Counter("test_writes_total", HELP, LABELS, registry=None),
            "looks_total": Counter("test_looks_total", HELP, registry=None),
            "age": Gauge("test_age", HELP, registry=None),
            "devices": Gauge("test_devices", HELP, LABELS, registry=None),
            "info": Gauge("product_info", HELP, LABELS, registry=None),
            "seconds": Histogram("test_seconds", HELP, LABELS, buckets=BUCKETS, registry=None),
            "wait_seconds": Histogram("test_wait_seconds", HELP, buckets=BUCKETS, registry=None),
        }
        self.shown = {"writes_total", "looks_total", "seconds", "wait_seconds"}
        self.known: dict[str, list[tuple[str, ...]]] = {}

    def do(self, verb: str, name: str, values: Any, number: float = 0.0) -> None:
        if verb == "replace":
            for gone in set(self.known.get(name, ())) - values.keys():
                self.metrics[name].remove(*gone)
            self.known[name] = []
            for each, one in values.items():
                self.do("set", name, each, one)
            return
        self.shown.add(name)
        self.known.setdefault(name, []).append(values)
        series = self.metrics[name].labels(*values) if values else self.metrics[name]
        getattr(series, {"add": "inc", "set": "set", "observe": "observe"}[verb])(number)

    def text(self) -> str:
        shown = [self.metrics[name] for name in DEFINITIONS if name in self.shown]
        return "".join(generate_latest(metric).decode() for metric in shown)


def do(metrics: Registry, verb: str, name: str, values: Any, number: float = 0.0) -> None:
    if verb == "replace":
        metrics.replace(name, {named(each): one for each, one in values.items()})
        return
    labels: dict[str, Any] = dict(named(values))
    getattr(metrics, verb)(name, number, **labels)


def named(values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(LABELS, values, strict=True)) if values else ()


@given(operations)
def test_every_page_is_byte_by_byte_what_prometheuss_client_writes(operations: Any) -> None:
    metrics, client = Registry("test_", DEFINITIONS), Client()

    for each in operations:
        if each == ("page",):
            assert metrics.text() == client.text()
        else:
            do(metrics, *each)
            client.do(*each)

    assert metrics.text() == client.text()


def test_a_page_writes_only_the_series_that_have_changed(monkeypatch: Any) -> None:
    metrics = Registry("test_", DEFINITIONS)
    pods = [(("zone", "z"), ("Node_1", "n"), ("a", f"pod-{number}")) for number in range(300)]
    metrics.replace("info", dict.fromkeys(pods, 1.0))
    metrics.text()
    written: list[int] = []

    def noting(collector: Any) -> bytes:
        written.append(sum(len(metric.samples) for metric in collector.collect()))
        return generate_latest(collector)

    monkeypatch.setattr("daemon.metrics.family.generate_latest", noting)
    metrics.replace("info", dict.fromkeys([*pods[1:], (*pods[0][:2], ("a", "other"))], 1.0))

    assert 'a="other"' in metrics.text()
    assert metrics.text().count("product_info{") == 300
    assert written == [1]


def test_labels_of_a_series_may_be_given_in_any_order() -> None:
    metrics = Registry("test_", DEFINITIONS)

    metrics.replace("info", {(("a", "1"), ("zone", "2"), ("Node_1", "3")): 1.0})

    assert 'product_info{Node_1="3",a="1",zone="2"} 1.0\n' in metrics.text()
