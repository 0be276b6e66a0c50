"""The Lease at a real API server, and electors that share it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Queue

import pytest

from controller.election.elector import Elector
from controller.election.ports import LeaseError, LeaseOutdated
from controller.election.values import Times
from controller.lease_api import LEASES, ApiLease
from kube_api import KubeApi

pytestmark = pytest.mark.cluster

SHORT = Times(lease_s=8.0, longest_write_s=1.0, renew_every_s=0.3)
Open = Callable[[], ApiLease]


class Running:
    """An elector in a thread. ``told`` gets what it says."""

    def __init__(self, lease: ApiLease, identity: str) -> None:
        self.told: Queue[bool] = Queue()
        self.elector = Elector(lease, identity, SHORT, self.told.put)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.elector.run, args=(self._stop,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


def test_a_lease_is_made_renewed_and_given_back(open_lease: Open) -> None:
    lease = open_lease()
    assert lease.read() is None

    made = lease.create("a", 15.0)
    renewed = lease.write(made, "a", 15.0)
    freed = lease.write(renewed, "", 15.0)

    assert (made.holder, renewed.holder, freed.holder) == ("a", "a", "")
    assert made.lasts_s == freed.lasts_s == 15.0
    assert open_lease().read() == freed


def test_a_lease_that_somebody_else_wrote_is_not_written_over(open_lease: Open) -> None:
    mine, other = open_lease(), open_lease()
    made = mine.create("a", 15.0)
    seen = other.read()
    assert seen is not None
    other.write(seen, "b", 15.0)

    with pytest.raises(LeaseOutdated):
        mine.write(made, "a", 15.0)
    with pytest.raises(LeaseOutdated):
        mine.create("a", 15.0)


def test_what_others_wrote_into_the_object_stays_there(
    open_lease: Open, lease_name: str, kubeconfig: Path
) -> None:
    lease, api = open_lease(), KubeApi.connect(kubeconfig, user_agent="test")
    lease.create("a", 15.0)
    api.patch(LEASES, lease_name, {"metadata": {"labels": {"app": "tangram"}}}, "default")

    seen = lease.read()
    assert seen is not None
    lease.write(seen, "b", 15.0)

    stored = api.get(LEASES, lease_name, "default")
    assert stored.metadata.labels == {"app": "tangram"}
    assert stored.document["spec"]["leaseTransitions"] == 2
    api.close()


def test_a_server_that_does_not_answer_is_told_with_the_object(tmp_path: Path) -> None:
    cluster = {"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}]}
    context = {"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}
    users = {"users": [{"name": "u", "user": {}}]}
    file = tmp_path / "nowhere"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **cluster, **context, **users}))

    with pytest.raises(LeaseError, match="cannot get Lease default/tangram: "):
        ApiLease.connect(file, None, "default", "tangram", 1.0).read()


def test_one_elector_writes_and_after_its_end_the_other(open_lease: Open) -> None:
    open_lease().create("", SHORT.lease_s)  # as one that was given back: nobody has to be waited for
    first = Running(open_lease(), "first")
    assert first.told.get(timeout=30) is True
    second = Running(open_lease(), "second")
    assert first.elector.may_write()
    assert not second.elector.may_write()

    first.end()
    assert first.told.get(timeout=30) is False
    assert not first.elector.may_write()
    first.elector.release()

    assert second.told.get(timeout=30) is True
    second.end()


def test_an_elector_whose_lease_was_taken_by_hand_stops_writing(open_lease: Open) -> None:
    operator = open_lease()
    operator.create("", SHORT.lease_s)
    running = Running(open_lease(), "first")
    assert running.told.get(timeout=30) is True

    while True:  # it renews several times a second: the operator's write may come late
        seen = operator.read()
        assert seen is not None
        try:
            operator.write(seen, "operator", 3600.0)
            break
        except LeaseOutdated:
            continue

    assert running.told.get(timeout=30) is False
    running.end()
    running.elector.release()
    left = operator.read()
    assert left is not None
    assert left.holder == "operator"
