"""Pictures: the memory-slice diagram is the KEP's, with words for what a row has nothing of."""

from __future__ import annotations

import pytest

from scheduler_core.model.device import DeviceName
from scheduler_core.state.testing import device, pool
from tangram.pictures.counted import counted
from tangram.pictures.memory_slices import Layout, layouts, picture
from tangram.pictures.sizes import markdown

KEP_DIAGRAM = """
| MemSlice 0 | MemSlice 1 | MemSlice 2 | MemSlice 3 | MemSlice 4 | MemSlice 5 | MemSlice 6 | MemSlice 7 |
|                        used                       |                       3g.20gb                     |
|           used          |          2g.10gb        |           used          |           used          |
|   1g.5gb   |   1g.5gb   |    used    |    used    |    used    |    used    |    used    |    used    |
"""


def slices(first: int, last: int) -> dict[str, int]:
    return {f"memorySlice{index}": 1 for index in range(first, last + 1)}


def partition(name: str, profile: str, first: int, last: int):
    return device(name, sources=["gpu-0"], attributes={"profile": profile}, **slices(first, last))


def a100():
    return pool(
        device("gpu-0", attributes={"type": "gpu"}, **slices(0, 7)),
        partition("small-0", "1g.5gb", 0, 0),
        partition("small-1", "1g.5gb", 1, 1),
        partition("middle", "2g.10gb", 2, 3),
        partition("large", "3g.20gb", 4, 7),
    )


def layout_of(*names: str) -> Layout:
    held = {DeviceName(name): "default/mine" for name in names}
    return layouts(a100(), held, frozenset(held))[0]


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("|")]


def test_the_kep_claim_is_drawn_as_the_kep_draws_it():
    layout = layout_of("small-0", "small-1", "middle", "large")

    drawn = picture(layout, width=120).plain

    assert cells(drawn) == cells(KEP_DIAGRAM)


def test_every_line_of_the_diagram_has_one_width():
    drawn = picture(layout_of("small-1", "large"), width=120).plain

    assert {len(line) for line in drawn.splitlines()} == {105}


def test_a_narrow_terminal_gets_narrow_cells():
    drawn = picture(layout_of("small-0", "middle"), width=60).plain

    assert {len(line) for line in drawn.splitlines()} == {57}
    assert "2g.10gb" in drawn


def test_what_a_row_has_nothing_of_is_free_used_or_unusable():
    scarce = pool(
        device("gpu-0", attributes={"type": "gpu"}, engines=2, **slices(0, 3)),
        *(
            device(
                f"small-{index}",
                sources=["gpu-0"],
                attributes={"profile": "1g"},
                engines=1,
                **slices(index, index),
            )
            for index in range(4)
        ),
        device("half", sources=["gpu-0"], attributes={"profile": "2g"}, engines=1, **slices(2, 3)),
    )

    def drawn(*names, width=60):
        held = {DeviceName(name): "default/mine" for name in names}
        return cells(picture(layouts(scarce, held, frozenset())[0], width).plain)[1:]

    assert drawn("small-0") == [["", "1g", "free", "free", "free", ""]]
    assert drawn("small-0", "half") == [
        ["", "used", "unusable", "2g", ""],
        ["", "1g", "unusable", "used", "used", ""],
    ]
    assert drawn("small-0", "half", width=16) == [["", "#", "x", "2g", ""], ["", "1g", "x", "#", "#", ""]]


@pytest.mark.parametrize("width", [17, 40, 60, 80, 120])
def test_no_profile_is_cut_a_long_one_is_a_letter_that_is_told_below(width):
    held = {DeviceName(name): "default/mine" for name in ("small-0", "middle", "large")}

    drawn = picture(layouts(a100(), held, frozenset())[0], width).plain

    for label in ("1g.5gb", "2g.10gb", "3g.20gb"):
        assert drawn.count(label) == 1
    assert "\nA: " in drawn or width >= 60


def test_a_gpu_that_is_held_whole_fills_all_its_memory_slices():
    layout = layout_of("gpu-0")

    assert [(cut.label, cut.start, cut.size) for cut in layout.cuts] == [("gpu", 0, 8)]


def test_what_others_hold_is_drawn_apart_from_what_is_new():
    held = {DeviceName("small-0"): "default/other", DeviceName("large"): "default/mine"}

    layout = layouts(a100(), held, frozenset({DeviceName("large")}))[0]

    assert [(cut.holder, cut.is_new) for cut in layout.cuts] == [
        ("default/other", False),
        ("default/mine", True),
    ]
    assert {span.style for span in picture(layout, 120).spans} >= {"black on cyan", "bold black on green"}


def test_devices_without_memory_slices_have_no_layout():
    nics = pool(device("nic", vfSlots=2), device("vf-0", sources=["nic"], vfSlots=1))

    assert layouts(nics, {DeviceName("vf-0"): "default/mine"}, frozenset()) == ()


def test_markdown_columns_line_up():
    table = markdown(["node", "bytes"], [["a", "1 000"], ["longer", "2"]])

    assert table.splitlines() == [
        "| node   | bytes |",
        "| ------ | ----: |",
        "| a      | 1 000 |",
        "| longer |     2 |",
    ]


def test_numbers_agree_with_their_nouns():
    assert [counted(number, "GPU") for number in (0, 1, 8)] == ["no GPU", "1 GPU", "8 GPUs"]
