"""The page of a server in a real Chromium: changes show without loading it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import page_objects
import pytest
from chromium import page_of
from page_objects import Object
from playwright.sync_api import Browser, expect

from daemon.page.hub import Hub
from daemon.page.server import serving_page
from scheduler_core.codec.documents import Document
from tangram.page.file_cluster import FileCluster
from tangram.page.report import page_of as value_of

pytestmark = pytest.mark.browser


def value(objects: Sequence[Object], **more: object) -> dict[str, object]:
    cluster = FileCluster(Document(f"object {at}", one) for at, one in enumerate(objects))
    return {**value_of(cluster, page_objects.DRIVER, "a made-up cluster"), "live": True, **more}


class Served:
    """A page that is served."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self.objects = list(objects)
        self.hub = Hub(value(objects))
        self.address = ""

    def add(self, objects: Sequence[Object]) -> None:
        self.objects += objects
        self.hub.put(value(self.objects))

    def remove(self, *names: str) -> None:
        self.objects = [one for one in self.objects if one["metadata"]["name"] not in names]
        self.hub.put(value(self.objects))


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served([*page_objects.node("dgx-1"), page_objects.device_class("gpu")])
    with serving_page(("127.0.0.1", 0), made.hub, is_local=True) as port:
        made.address = f"http://127.0.0.1:{port}/"
        yield made


def test_a_pod_comes_and_goes_and_the_page_shows_it_without_being_loaded_again(
    chromium: Browser, served: Served
) -> None:
    with page_of(chromium) as page:
        page.goto(served.address)
        expect(page.locator("#state")).to_contain_text("Live")
        page.evaluate("window.isTheSame = true")
        page.locator("summary", has_text="dgx-1").click()
        served.add(page_objects.running("vision", "infer-0", "dgx-1", "gpu-2-mig-3g-20gb-0-3"))
        held = page.get_by_role(
            "link", name="vision/infer-0: 3g.20gb of gpu-2, memory slices 0 to 3", exact=True
        )
        expect(held).to_be_visible()
        expect(page.locator(".facts b")).to_have_text("4 of 64")
        served.add(page_objects.waiting("speech", "tts-0", "gpu"))
        expect(page.locator("#waiting li.pending")).to_have_count(1)
        expect(page.locator("#said")).to_have_text("1 pod waiting")
        served.remove("infer-0", "infer-0-gpu", "tts-0", "tts-0-gpu")
        expect(held).to_have_count(0)
        expect(page.locator("#waiting")).to_have_text("No pod waits for devices.")
        expect(page.locator("details.node[open]")).to_have_count(1)
        assert page.evaluate("window.isTheSame")


def test_nodes_come_and_go(chromium: Browser, served: Served) -> None:
    with page_of(chromium) as page:
        page.goto(served.address)
        expect(page.locator("#state")).to_contain_text("Live")
        served.add(page_objects.small_node("node-2"))
        expect(page.locator(".node .title")).to_have_text(["dgx-1", "node-2"])
        served.remove("node-2", f"node-2-{page_objects.DRIVER}")
        expect(page.locator(".node .title")).to_have_text(["dgx-1"])


def test_use_and_fragmentation_over_time_are_drawn(chromium: Browser, served: Served) -> None:
    points = [{"at": 1777881600 + 60 * at, "use": at / 10, "fragmentation": 0.25} for at in range(4)]
    with page_of(chromium) as page:
        page.goto(served.address)
        expect(page.locator("#history")).to_be_hidden()
        served.hub.put(value(served.objects, history=points))
        expect(page.get_by_role("img", name="In use 30 %, fragmentation 25 % at 08:03:00")).to_be_visible()


def test_a_server_that_ends_is_told(chromium: Browser) -> None:
    hub = Hub(value([*page_objects.small_node("node-1")]))
    page = chromium.new_page()
    with serving_page(("127.0.0.1", 0), hub, is_local=True) as port:
        page.goto(f"http://127.0.0.1:{port}/")
        expect(page.locator("#state")).to_contain_text("Live")
    expect(page.locator("#state")).to_have_text("The server does not answer; this is the last that it sent")
    page.close()


def test_an_address_that_is_wrongly_escaped_keeps_no_page_from_being_live(
    chromium: Browser, served: Served
) -> None:
    with page_of(chromium) as page:
        page.goto(f"{served.address}#50%")
        expect(page.locator("#state")).to_contain_text("Live")


def test_a_reader_who_comes_back_keeps_what_was_searched_for(chromium: Browser) -> None:
    nodes = [*page_objects.small_node("node-1"), *page_objects.small_node("node-2")]
    with page_of(chromium) as page:
        with serving_page(("127.0.0.1", 0), Hub(value(nodes)), is_local=True) as port:
            page.goto(f"http://127.0.0.1:{port}/#pod=team%2Ffirst")
            expect(page.locator("#state")).to_contain_text("Live")
            page.get_by_label("Find a node, pod or claim").fill("node-1")
            expect(page.locator("#count")).to_have_text("1 of 2 nodes")
        expect(page.locator("#state")).to_contain_text("The server does not answer")
        nodes += page_objects.small_node("node-10")
        with serving_page(("127.0.0.1", port), Hub(value(nodes)), is_local=True):
            expect(page.locator("#count")).to_have_text("2 of 3 nodes", timeout=20_000)
            assert page.locator("#search").input_value() == "node-1"


def test_nodes_are_in_the_order_of_their_numbers_before_and_after_a_change(
    chromium: Browser, served: Served
) -> None:
    served.add([*page_objects.small_node("node-10"), *page_objects.small_node("node-2")])
    with page_of(chromium) as page:
        page.goto(served.address)
        expect(page.locator(".node .title")).to_have_text(["dgx-1", "node-2", "node-10"])
        served.add(page_objects.small_node("node-3"))
        expect(page.locator(".node .title")).to_have_text(["dgx-1", "node-2", "node-3", "node-10"])


POINTS = [{"at": 1777881600 + at, "use": 0.1, "fragmentation": 0.2} for at in range(9)]


def test_what_a_reader_has_opened_or_is_about_to_choose_stays_while_the_page_changes(
    chromium: Browser, served: Served
) -> None:
    served.add(
        [page_objects.device_class("mig"), *page_objects.waiting("vision", "infer-9", "mig", "9g.90gb")]
    )
    with page_of(chromium) as page:
        page.goto(served.address)
        expect(page.locator("#state")).to_contain_text("Live")
        summary = page.locator("#waiting summary")
        summary.click()
        page.locator("#namespace option").last.evaluate("one => { one.isTheSame = true; }")
        has_focus = "document.activeElement.localName === 'summary'"
        served.hub.put(value(served.objects, history=POINTS))
        expect(page.locator("#history")).to_be_visible()
        assert page.evaluate(has_focus)
        assert page.locator("#namespace option").last.evaluate("one => one.isTheSame === true")
        served.add(page_objects.waiting("vision", "infer-a", "gpu"))
        expect(page.locator("#waiting li.pending")).to_have_count(2)
        expect(page.locator("#waiting details[open]")).to_have_count(1)
        assert page.evaluate(has_focus)
        assert page.locator("#namespace option").last.evaluate("one => one.isTheSame === true")
        summary.click()
        served.add(page_objects.waiting("vision", "infer-b", "gpu"))
        expect(page.locator("#waiting li.pending")).to_have_count(3)
        expect(page.locator("#waiting details[open]")).to_have_count(0)


def test_a_device_that_has_the_focus_keeps_it_when_its_node_changes(
    chromium: Browser, served: Served
) -> None:
    served.add(page_objects.running("vision", "infer-0", "dgx-1", "gpu-2-mig-3g-20gb-0-3"))
    with page_of(chromium) as page:
        page.goto(served.address)
        page.locator("summary", has_text="dgx-1").click()
        page.locator("svg a").first.focus()
        served.add(page_objects.running("vision", "infer-1", "dgx-1", "gpu-3-mig-3g-20gb-0-3"))
        expect(page.locator("svg a")).to_have_count(2)
        label = "document.activeElement.getAttribute('aria-label')"
        assert page.evaluate(label) == "vision/infer-0: 3g.20gb of gpu-2, memory slices 0 to 3"


def test_a_pod_that_comes_after_its_claim_is_named_as_its_holder(chromium: Browser, served: Served) -> None:
    claim, pod = page_objects.running("vision", "infer-0", "dgx-1", "gpu-2-mig-3g-20gb-0-3")
    alone = {**claim, "status": {key: one for key, one in claim["status"].items() if key != "reservedFor"}}
    with page_of(chromium) as page:
        page.goto(served.address)
        page.locator("summary", has_text="dgx-1").click()
        served.add([alone])
        expect(page.locator(".holders td").first).to_contain_text("no pod")
        served.objects.remove(alone)
        served.add([claim, pod])
        expect(page.locator(".holders td").first).to_contain_text("vision/infer-0")
