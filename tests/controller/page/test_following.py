"""The page's value follows a cluster: objects come, change and go."""

from __future__ import annotations

import itertools
from threading import Event

import page_objects
import pytest

from controller import reading
from controller.page.following import Clocks, Following, rest_s

_READ = {
    "Node": reading.node,
    "ResourceSlice": reading.resource_slice,
    "DeviceClass": reading.device_class,
    "ResourceClaim": reading.claim,
    "Pod": reading.pod,
}


class Kind:
    """Objects of one kind, told by a test."""

    def __init__(self, kind):
        self.kind, self.is_synced, self.known = kind, False, {}

    def subscribe(self, hear):
        self.hear = hear

    def follow(self, stop):
        return iter(())

    def tell(self, document, *, is_gone=False):
        metadata = document["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        metadata.setdefault("uid", name)
        old = self.known.get((namespace, name))
        new = None if is_gone else _READ[self.kind](document)
        self.known[namespace, name] = new
        self.hear(namespace, name, old, new)


class Site:
    def __init__(self):
        self.now, self.told = 0.0, []
        self.kinds = {kind: Kind(kind) for kind in _READ}
        clocks = Clocks(lambda: self.now, lambda: self.now, lambda: "2026-05-04T08:00:00Z")
        self.following = Following(tuple(self.kinds.values()), page_objects.DRIVER, "a cluster", clocks)
        self.following.listen(Event())

    def tell(self, objects, *, is_gone=False):
        for kind, document in itertools.product(self.kinds, objects):
            if document["kind"] == kind:
                self.kinds[kind].tell(document, is_gone=is_gone)
        self.following.turn(self.told.append)
        return self.told[-1]


@pytest.fixture
def site():
    made = Site()
    made.tell([*page_objects.node("dgx-1"), page_objects.device_class("gpu")])
    return made


def holders(value):
    return {claim: one["pods"] for claim, one in value["claims"].items()}


def test_a_pod_that_comes_and_goes_is_in_the_value_and_then_not(site):
    objects = page_objects.running("vision", "infer-0", "dgx-1", "gpu-2-mig-3g-20gb-0-3")
    value = site.tell(objects)
    assert holders(value) == {"vision/infer-0-gpu": ["infer-0"]}
    assert value["nodes"][0]["used"] == 4
    assert site.tell(objects, is_gone=True)["nodes"][0]["used"] == 0


def test_a_pod_waits_until_its_claim_has_a_device(site):
    value = site.tell(page_objects.waiting("vision", "infer-0", "gpu"))
    assert [(one["name"], one["reason"]) for one in value["waiting"]] == [
        ("infer-0", "node dgx-1 has its devices free: they are not allocated yet")
    ]
    value = site.tell([page_objects.held("vision", "infer-0-gpu", "dgx-1", ["gpu-0"], "infer-0")])
    assert value["waiting"] == []


def test_if_only_time_has_passed_no_reason_is_computed_again(site):
    before = site.tell(page_objects.waiting("vision", "infer-0", "gpu"))
    site.now += 60
    site.following.turn(site.told.append)
    after = site.told[-1]
    assert len(after["history"]) == len(before["history"]) + 1
    assert after["waiting"] is before["waiting"]


def test_a_node_that_is_gone_leaves_the_page(site):
    assert site.tell(page_objects.node("dgx-1"), is_gone=True)["nodes"] == []


def test_kinds_that_are_not_listed_yet_are_told(site):
    assert "objects of kind Pod are not read yet" in site.following.value()["notes"]
    for one in site.kinds.values():
        one.is_synced = True
    assert site.following.value()["notes"] == []


def test_what_is_wrong_with_a_watch_is_told_until_it_works_again(site):
    pods, stop = site.kinds["Pod"], Event()
    pods.follow = lambda _: iter(["list pods: forbidden"])
    site.following._follow(pods, stop)
    assert "list pods: forbidden" in site.following.value()["notes"]
    pods.follow = lambda _: iter([""])
    site.following._follow(pods, stop)
    assert "list pods: forbidden" not in site.following.value()["notes"]


def test_after_an_error_the_page_says_that_it_is_not_up_to_date_and_the_log_says_it_once(site, caplog):
    before = site.following.value()
    for number in range(2):
        site.kinds["Pod"].hear("team", f"pod-{number}", None, "no pod at all")
        assert rest_s(site.following.safe_turn(site.told.append)) > 0
    broken = site.told[-1]
    assert broken["nodes"] == before["nodes"]
    assert broken["notes"][0].startswith("what is shown is not up to date since 2026-05-04T08:00:00Z: Attrib")
    assert len([one for one in caplog.records if one.exc_info]) == 1
    value = site.tell(page_objects.waiting("vision", "infer-0", "gpu"))
    assert [one["name"] for one in value["waiting"]] == ["infer-0"]
    assert value["notes"][0] == broken["notes"][0]


def test_following_goes_on_after_an_error(site):
    stop, errors = Event(), iter([RuntimeError("odd"), None])

    def turn(tell):
        error = next(errors)
        if error is not None:
            raise error
        stop.set()
        return 0.0

    site.following.turn = turn
    site.following.run(site.told.append, stop)
    assert next(errors, "all were taken") == "all were taken"


def test_a_change_makes_only_the_nodes_anew_that_it_touches(site):
    before = site.tell(page_objects.small_node("other"))
    held = page_objects.running("vision", "infer-0", "dgx-1", "gpu-0")
    changed, same = before["nodes"]
    value = site.tell(held)
    assert value["nodes"][0] != changed
    assert value["nodes"][1] is same


def test_after_work_it_rests_four_times_as_long_and_never_so_long_that_a_change_waits_for_an_old_one():
    assert rest_s(0.2) == pytest.approx(0.8)
    assert rest_s(0.001) == 0.5
    assert rest_s(60.0) == 5.0


def test_after_a_look_that_found_nothing_it_listens_at_once(site):
    assert rest_s(site.following.turn(site.told.append)) == 0


def test_what_counts_is_work_and_not_how_long_a_busy_machine_took_for_it(site):
    times = iter((10.0, 10.25))
    site.following._clocks = site.following._clocks._replace(work=lambda: next(times))
    site.kinds["DeviceClass"].tell(page_objects.device_class("vf"))
    assert site.following.turn(site.told.append) == 0.25
