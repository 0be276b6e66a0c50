"""A watch of a real API server loses nothing, also when the server goes away and comes back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from threading import Event

import pytest
from real_api import RealApi

from kube_api import Disconnected, Invalid, KubeApi, Object, Removed, Resource, Synced, Upserted, WatchEvent

pytestmark = pytest.mark.cluster

CONFIG_MAPS = Resource.of("v1", "ConfigMap", "configmaps", namespaced=True)


def labelled(name: str, value: str) -> dict[str, object]:
    return {"metadata": {"name": name, "labels": {"is": value}}}


def words(change: WatchEvent[Object]) -> str:
    match change:
        case Synced(items=items):
            return f"all: {' '.join(item.metadata.name for item in items)}"
        case Upserted(object=found):
            return f"now {found.metadata.name}"
        case Removed(object=found):
            return f"gone {found.metadata.name}"
        case Disconnected():
            return "disconnected"


def test_changes_come_in_their_order(real: KubeApi, namespace: str, stop: Event) -> None:
    real.create(CONFIG_MAPS, labelled("old", "x"), namespace)
    changes = real.watch(CONFIG_MAPS, namespace, stop=stop)
    said = [words(next(changes))]

    real.create(CONFIG_MAPS, labelled("new", "x"), namespace)
    real.patch(CONFIG_MAPS, "old", {"data": {"a": "1"}}, namespace)
    real.delete(CONFIG_MAPS, "new", namespace)
    said += [words(next(changes)) for _ in range(3)]

    assert said == ["all: old", "now new", "now old", "gone new"]


def test_an_object_that_leaves_the_selection_is_gone_for_it(
    real: KubeApi, namespace: str, stop: Event
) -> None:
    changes = real.watch(CONFIG_MAPS, namespace, label_selector="is=mine", stop=stop)
    said = [words(next(changes))]

    real.create(CONFIG_MAPS, labelled("other", "yours"), namespace)
    real.create(CONFIG_MAPS, labelled("one", "mine"), namespace)
    real.patch(CONFIG_MAPS, "one", labelled("one", "yours"), namespace)
    said += [words(next(changes)) for _ in range(2)]

    assert said == ["all: ", "now one", "gone one"]


def test_it_goes_on_when_the_server_ends_it_as_usual(
    real_connect: Callable[..., KubeApi], real: KubeApi, namespace: str, stop: Event
) -> None:
    changes = real_connect(watch_lasts_s=1.0).watch(CONFIG_MAPS, namespace, stop=stop)
    said = [words(next(changes))]

    for number in range(4):
        real.create(CONFIG_MAPS, labelled(f"c-{number}", "x"), namespace)
        said.append(words(next(changes)))
        stop.wait(0.9)

    assert said == ["all: ", "now c-0", "now c-1", "now c-2", "now c-3"]


def test_a_field_that_cannot_be_selected_ends_it(real: KubeApi, namespace: str, stop: Event) -> None:
    with pytest.raises(Invalid, match=r"cannot list ConfigMap .*not a known field selector"):
        next(real.watch(CONFIG_MAPS, namespace, field_selector="data.x=1", stop=stop))


def test_a_server_that_was_killed_and_forgot_history_is_followed_again(
    real: KubeApi, real_server: RealApi, namespace: str, stop: Event
) -> None:
    """The API server dies, etcd forgets all old versions, and the objects have changed meanwhile."""
    real.create(CONFIG_MAPS, labelled("kept", "x"), namespace)
    changes = real.watch(CONFIG_MAPS, namespace, stop=stop)
    assert words(next(changes)) == "all: kept"
    real.create(CONFIG_MAPS, labelled("seen", "x"), namespace)
    assert words(next(changes)) == "now seen"

    real_server.stop_api_server()
    assert words(next(changes)) == "disconnected"
    real_server.start_api_server()
    real.delete(CONFIG_MAPS, "seen", namespace)
    real_server.forget_history()
    real_server.stop_api_server()
    real_server.start_api_server()
    after = [words(change) for change in takewhile(lambda change: not isinstance(change, Synced), changes)]
    real.create(CONFIG_MAPS, labelled("last", "x"), namespace)

    assert "now seen" not in after
    assert words(next(changes)) == "now last"
