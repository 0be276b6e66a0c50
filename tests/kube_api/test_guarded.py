"""A guard is asked before each piece of a request that changes something, at every attempt."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scripted_api import Reply, Script, document

from kube_api import RESOURCE_CLAIMS, KubeApi, Withheld

CLAIM = document("train", 7)


def allowing(times: int) -> Callable[[], bool]:
    """A guard that says yes so many times, then no."""
    left = iter([True] * times)
    return lambda: next(left, False)


def test_what_is_only_read_needs_no_permission(api: KubeApi, server: Script) -> None:
    server.answers(Reply(CLAIM))

    assert api.guarded(lambda: False).get(RESOURCE_CLAIMS, "train", "default").metadata.name == "train"


def test_a_write_that_is_not_allowed_sends_nothing(api: KubeApi, server: Script) -> None:
    server.answers(Reply(CLAIM))

    with pytest.raises(Withheld, match=r"cannot replace ResourceClaim .*train: .* may not write any more"):
        api.guarded(lambda: False).replace(RESOURCE_CLAIMS, CLAIM, "default")

    assert server.said == []


@pytest.mark.parametrize("verb", ["replace", "create", "patch", "delete"])
def test_every_verb_that_changes_something_asks(api: KubeApi, server: Script, verb: str) -> None:
    server.answers(Reply(CLAIM))
    guarded = api.guarded(lambda: False)
    calls: dict[str, Callable[[], object]] = {
        "replace": lambda: guarded.replace(RESOURCE_CLAIMS, CLAIM, "default"),
        "create": lambda: guarded.create(RESOURCE_CLAIMS, CLAIM, "default"),
        "patch": lambda: guarded.patch(RESOURCE_CLAIMS, "train", {"metadata": {}}, "default"),
        "delete": lambda: guarded.delete(RESOURCE_CLAIMS, "train", "default"),
    }

    with pytest.raises(Withheld):
        calls[verb]()


def test_permission_that_ends_between_headers_and_body_holds_the_body_back(
    api: KubeApi, server: Script
) -> None:
    server.answers(Reply(CLAIM))

    with pytest.raises(Withheld):
        api.guarded(allowing(1)).replace(RESOURCE_CLAIMS, CLAIM, "default")

    assert [one.body for one in server.requests if one.body] == []


def test_a_second_attempt_asks_again(api: KubeApi, server: Script) -> None:
    server.answers(Reply(status=503, headers={"Retry-After": "1"}), Reply(CLAIM))

    with pytest.raises(Withheld):
        api.guarded(allowing(2)).replace(RESOURCE_CLAIMS, CLAIM, "default")

    assert len(server.said) == 1


def test_the_same_server_without_the_guard_is_not_held_back(api: KubeApi, server: Script) -> None:
    server.answers(Reply(CLAIM))
    api.guarded(lambda: False)

    assert api.replace(RESOURCE_CLAIMS, CLAIM, "default").metadata.name == "train"
