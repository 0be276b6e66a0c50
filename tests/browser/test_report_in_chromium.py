"""The page of ``tangram report`` in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import page_objects
import pytest
from chromium import page_of
from page_objects import Object
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.browser
Written = Callable[[Sequence[Object]], str]
HOSTILE = (
    "<img src=x onerror=document.title='owned'></script><script>document.title='owned'</script>\u2028'\"&"
)


@pytest.fixture
def address(written: Written) -> str:
    return written(page_objects.small_cluster())


def test_it_shows_nodes_figures_namespaces_and_pods_that_wait(chromium: Browser, address: str) -> None:
    with page_of(chromium) as page:
        page.goto(address)
        expect(page.locator("#count")).to_have_text("2 nodes")
        expect(page.locator("#figures")).to_contain_text("Memory slices in use41 of 128")
        expect(page.locator("#namespaces tr")).to_have_count(4)
        expect(page.locator("#waiting li.pending")).to_have_count(2)
        expect(page.locator("#waiting")).to_contain_text("vision/infer-9-gpu matches no device")


def test_a_node_opens_to_its_pcie_tree_and_every_holder_has_a_name(chromium: Browser, address: str) -> None:
    with page_of(chromium) as page:
        page.goto(address)
        page.locator("summary", has_text="dgx-1").click()
        tree = page.get_by_role("group", name="PCIe tree of dgx-1: 8 GPUs, 8 NICs")
        expect(tree).to_contain_text("switch 0000:41:00.0")
        held = page.get_by_role(
            "link", name="recsys/rank-0: 3g.20gb of gpu-2, memory slices 0 to 3", exact=True
        )
        expect(held).to_be_visible()


def test_devices_of_other_drivers_and_of_no_node_are_listed_with_their_holders(
    chromium: Browser, written: Written
) -> None:
    spec = {"driver": "net.example.com", "allNodes": True, "devices": [{"name": "a"}, {"name": "b"}]}
    pool = {"name": "rack-1", "generation": 1, "resourceSliceCount": 1}
    shared = {"kind": "ResourceSlice", "metadata": {"name": "rack-1"}, "spec": {**spec, "pool": pool}}
    claim, pod = page_objects.running("team", "job", "rack-1", "b")
    claim["status"]["allocation"]["devices"]["results"][0]["driver"] = "net.example.com"
    with page_of(chromium) as page:
        page.goto(written([*page_objects.small_node("n"), shared, claim, pod]))
        expect(page.locator("#figures")).to_contain_text("Other devices in use1 of 2")
        expect(page.locator("#namespaces tr td").nth(4)).to_have_text("1")
        expect(page.locator(".node .title")).to_have_text(["n", "devices of no single node"])
        page.locator("summary", has_text="devices of no single node").click()
        tree = page.locator(".inside svg[role=group]")
        expect(tree).to_contain_text("1 of 2 free · pool rack-1 · usable from all nodes")
        held = page.get_by_role("link", name="team/job: b (device of net.example.com)", exact=True)
        expect(held).to_be_visible()
        expect(page.locator(".holders td").nth(2)).to_have_text("b (device of net.example.com)")


def test_the_link_of_a_pod_opens_its_node_and_marks_its_devices(chromium: Browser, address: str) -> None:
    with page_of(chromium) as page:
        page.goto(f"{address}#pod=vision%2Finfer-2")
        expect(page.locator("details.node[open]")).to_have_count(1)
        expect(page.locator("#said")).to_have_text("vision/infer-2 has devices on dgx-1")
        expect(page.locator("svg a.chosen")).to_have_count(2)
        page.evaluate("location.hash = '#pod=speech%2Ftts-0'")
        expect(page.locator("#said")).to_have_text("speech/tts-0 has no devices")


def test_a_namespace_filters_nodes_and_waiting_pods(chromium: Browser, address: str) -> None:
    with page_of(chromium) as page:
        page.goto(address)
        page.locator("#namespace").select_option("speech")
        expect(page.locator("#count")).to_have_text("1 of 2 nodes")
        expect(page.locator("#waiting li.pending")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator("#count")).to_have_text("2 nodes")


def test_it_can_be_used_by_keyboard_alone(chromium: Browser, address: str) -> None:
    with page_of(chromium) as page:
        page.goto(address)
        page.keyboard.press("/")
        page.keyboard.type("train-0")
        expect(page.locator("#count")).to_have_text("1 of 2 nodes")
        page.keyboard.press("Escape")
        page.locator("#search").blur()
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.locator("details.node[open] .title")).to_have_text("dgx-2")


def test_names_that_are_markup_stay_text(chromium: Browser, written: Written) -> None:
    hostile = [*page_objects.node("dgx-1"), page_objects.device_class("gpu")]
    hostile += page_objects.running(HOSTILE, HOSTILE, "dgx-1", "gpu-0")
    hostile += page_objects.waiting(HOSTILE, f"{HOSTILE}2", HOSTILE)
    with page_of(chromium) as page:
        page.goto(written(hostile))
        page.locator("summary", has_text="dgx-1").click()
        expect(page.locator("#namespaces button")).to_have_text(HOSTILE)
        expect(page.locator(".holders td a")).to_have_text(f"{HOSTILE}/{HOSTILE}")
        expect(page).to_have_title("Tangram: who holds what")
        assert page.locator("img").count() == 0


@pytest.mark.parametrize("width", [360, 640, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_narrow_and_wide_windows(chromium: Browser, address: str, width: int, scheme: str) -> None:
    with page_of(chromium, width=width, scheme=scheme) as page:
        page.goto(f"{address}#node=dgx-1")
        expect(page.locator("details.node[open] svg a").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("document.documentElement.dataset.theme") == scheme


def test_of_many_pods_that_wait_the_first_are_shown_and_the_others_on_demand(
    chromium: Browser, written: Written
) -> None:
    many = [one for number in range(20) for one in page_objects.waiting("team", f"job-{number:02}")]
    with page_of(chromium) as page:
        page.goto(written([*page_objects.small_node("n"), page_objects.device_class("mig"), *many]))
        expect(page.locator("#waiting li[id]")).to_have_count(5)
        page.get_by_role("button", name="Show 15 more pods").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#waiting li[id]")).to_have_count(20)
        expect(page.get_by_role("button", name="Show the first 5 only")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#waiting li[id]")).to_have_count(5)


def test_the_link_of_a_pod_that_waits_shows_it_wherever_it_stands_in_the_line(
    chromium: Browser, written: Written
) -> None:
    many = [one for number in range(20) for one in page_objects.waiting("team", f"job-{number:02}")]
    with page_of(chromium) as page:
        page.goto(written([*page_objects.small_node("n"), *many]) + "#pod=team%2Fjob-17")
        expect(page.get_by_role("link", name="team/job-17")).to_be_in_viewport()


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_a_linked_node_stands_below_the_tools_and_not_under_them(
    chromium: Browser, written: Written, width: int
) -> None:
    nodes = [one for number in range(40) for one in page_objects.small_node(f"node-{number:02}")]
    name = "a-team-with-a-quite-long-namespace-name"
    held = page_objects.running(name, "job", "node-20", "gpu-0")
    with page_of(chromium, width=width) as page:
        page.goto(written([*nodes, *held]) + "#node=node-20")
        row = page.locator("details.node[open] summary")
        expect(row).to_be_in_viewport()
        tools = page.locator("#tools").bounding_box()
        found = row.bounding_box()
        assert tools is not None
        assert found is not None
        assert found["y"] >= tools["y"] + tools["height"]


def test_of_a_thousand_nodes_only_those_in_view_are_drawn(chromium: Browser, written: Written) -> None:
    nodes = [one for number in range(1000) for one in page_objects.small_node(f"node-{number:03}")]
    with page_of(chromium) as page:
        page.goto(written(nodes))
        expect(page.locator("#count")).to_have_text("1,000 nodes")
        expect(page.locator(".strips svg").first).to_be_visible()
        assert page.locator(".strips:has(svg)").count() < 60
        page.get_by_label("Find a node, pod or claim").fill("node-777")
        expect(page.locator(".node .title")).to_have_text("node-777")
        expect(page.locator(".node .facts")).to_contain_text("0 of 1")
