"""A MIG layout: what a GPU can be divided into is found a place, and only what it cannot is refused."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.hardware.errors import HardwareError
from agent.hardware.simulated import load_node
from agent.hardware.simulated.rules import create_gpu_instance
from agent.hardware.simulated.state import GpuState
from agent.inventory.describe import describe
from agent.inventory.modes import GpuModes, MigPlace, ModesOfGpu
from agent.inventory.offered import offered
from agent.inventory.options.settings import Settings
from agent.policy.applied import settings_on
from agent.policy.files import BadPolicy
from agent.policy.mig_layout import Impossible, placed
from agent.policy.model import LayoutPart
from agent.policy.option import refuse_disagreeing
from agent.policy.resolution import resolve

CARDS = {name: load_node(name).cards[0] for name in ("a100x2", "hgx-h100", "a30x4")}
PROFILES = {name: {one.name: one for one in card.model.profiles} for name, card in CARDS.items()}
ON = GpuState(mig_current=True, mig_pending=True)


def layout_text(*parts: str) -> str:
    return f"- gpus:\n  - migLayout: [{', '.join(f'{{{part}}}' for part in parts)}]\n"


def places(resolution, number: int = 0) -> list[str]:
    layout = list(resolution.settings.gpus.values())[number].layout
    return [f"{one.profile}@{one.placement.start}" for one in layout]


def test_a_layout_with_places_is_taken_as_it_is(resolved) -> None:
    found = resolved(layout_text("profile: 3g.20gb, start: 4", "profile: 1g.5gb, start: 2"))

    assert places(found) == ["1g.5gb@2", "3g.20gb@4"]


def test_partitions_without_a_place_get_the_lowest_that_leaves_room_for_all_large_ones_first(
    resolved,
) -> None:
    found = resolved(layout_text("profile: 1g.5gb, count: 3", "profile: 3g.20gb"))
    beside = resolved(layout_text("profile: 1g.5gb, count: 2", "profile: 2g.10gb", "profile: 3g.20gb"))

    assert places(found) == ["3g.20gb@0", "1g.5gb@4", "1g.5gb@5", "1g.5gb@6"]
    assert places(beside) == ["2g.10gb@0", "1g.5gb@2", "1g.5gb@3", "3g.20gb@4"]  # none begins at slice 7


def test_a_layout_divides_its_gpus_so_they_are_not_whole_unless_the_entry_says_so(policy) -> None:
    layout = "migLayout: [{profile: 3g.20gb, count: 2}]"
    for said, modes in (
        (layout, ModesOfGpu(whole=False)),
        (f"{layout}\n    migMode: dynamic", ModesOfGpu(whole=False)),
        (f"{layout}\n    migMode: kept", ModesOfGpu(whole=False, keeps_mig=True)),
        (f"{layout}\n    modes: [whole, mig]", ModesOfGpu()),
        (f"{layout}\n    modes: [mig, fraction]", ModesOfGpu(whole=False, shared=100)),
    ):
        assert policy(f"- gpus:\n  - {said}\n").policy.rules[0].gpus[0].modes == modes


IMPOSSIBLE = {
    "a profile that the GPU lacks": (
        ["profile: 1g.12gb"],
        "policy.yaml:5: rules[0].gpus[0].migLayout[0].profile: '1g.12gb': gpu-0 (NVIDIA A100-SXM4-40GB) "
        "lacks it; it has 1g.10gb, 1g.5gb",
    ),
    "a place that the profile cannot have": (
        ["profile: 4g.20gb, start: 4"],
        "migLayout[0].start: 4: gpu-0 (NVIDIA A100-SXM4-40GB) has no place for 4g.20gb there; it may begin "
        "at memory slice 0",
    ),
    "places that overlap": (
        ["profile: 3g.20gb, start: 0", "profile: 2g.10gb, start: 2"],
        "migLayout[1].start: 2: gpu-0 (NVIDIA A100-SXM4-40GB) cannot have 2g.10gb there: it overlaps "
        "migLayout[0], 3g.20gb at 0-3",
    ),
    "more slices than there are": (
        ["profile: 3g.20gb, count: 2", "profile: 1g.5gb"],
        "cannot have this layout: it needs 9 memory slices, the GPU has 8",
    ),
    "more of a profile than can exist": (
        ["profile: 1g.5gb, count: 8"],
        "it needs 8 of 1g.5gb, at most 7 can exist",
    ),
    "more compute slices than there are": (
        ["profile: 1g.5gb, count: 7", "profile: 1g.5gb+me"],
        "it needs 8 compute slices, the GPU has 7",
    ),
    "no room for what comes with others": (
        ["profile: 1g.5gb, start: 2", "profile: 4g.20gb"],
        "there is no place for all of its partitions at once",
    ),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_a_layout_that_a_gpu_cannot_have_is_refused_with_line_and_value(what: str, resolved) -> None:
    parts, told = IMPOSSIBLE[what]

    with pytest.raises(BadPolicy) as refused:
        resolved(layout_text(*parts))

    assert told in str(refused.value)
    assert str(refused.value).startswith("policy.yaml:5: rules[0].gpus[0].migLayout")


def test_a_layout_for_a_gpu_without_mig_is_refused_unless_another_entry_says_how_it_is_offered(
    policy, uncut
) -> None:
    layout = layout_text("profile: 1g.5gb")

    with pytest.raises(BadPolicy, match=r"gpu-0 \(NVIDIA L40S\) cannot be cut by MIG"):
        policy(layout).placed(lambda one: resolve(one, {}, uncut))

    both = f"{layout}  - select: {{products: [NVIDIA L40S]}}\n    modes: [whole]\n"
    found = policy(both).placed(lambda one: resolve(one, {}, uncut)).settings
    assert {one.layout for one in found.gpus.values()} == {None}


def test_profiles_and_a_layout_of_one_rank_disagree_and_the_more_specific_one_counts(resolved) -> None:
    layout = layout_text("profile: 3g.20gb")

    with pytest.raises(BadPolicy, match=r"gpus\[1\]\.migProfiles: disagrees with .*gpus\[0\]\.migLayout"):
        resolved(f"{layout}  - migProfiles: [1g.5gb]\n")

    found = resolved(f"{layout}  - select: {{numbers: [1]}}\n    migProfiles: [1g.5gb]\n").settings
    first, second = found.gpus.values()
    assert (first.profiles, len(first.layout)) == (None, 1)
    assert (second.profiles, second.layout) == (("1g.5gb",), None)


def test_an_option_about_modes_does_not_go_with_a_layout(policy) -> None:
    file = policy(layout_text("profile: 3g.20gb"))

    with pytest.raises(BadPolicy, match="speaks of what --gpu-modes of the command line says"):
        file.placed(lambda one: refuse_disagreeing(one, ("--gpu-modes",)))


def published(resolution, node):
    return describe(offered(settings_on(Settings(), resolution.settings, node).on(node)))


def test_only_the_partitions_of_a_layout_are_published_and_all_of_them_can_be_had_at_once(
    resolved, node
) -> None:
    parts = ("profile: 3g.20gb, start: 4", "profile: 1g.5gb, count: 2", "profile: 2g.10gb")
    devices = published(resolved(layout_text(*parts)), node)
    books = copy(devices.books)

    names = [name for name in devices.by_name if name.startswith("gpu-0")]
    for name in names:
        books.take(name, name)

    assert names == [
        "gpu-0-mig-1g-5gb-2",
        "gpu-0-mig-1g-5gb-3",
        "gpu-0-mig-2g-10gb-0-1",
        "gpu-0-mig-3g-20gb-4-7",
    ]


def test_compute_instances_are_cut_from_the_partitions_of_a_layout_alone(resolved, node) -> None:
    text = layout_text("profile: 3g.20gb, start: 4") + "    computeInstances: true\n"

    names = [name for name in published(resolved(text), node).by_name if name.startswith("gpu-0")]

    assert names[0] == "gpu-0-mig-3g-20gb-4-7"
    assert len(names) > 1
    assert all("3g-20gb-4-7" in name for name in names)


def test_a_gpu_whose_mig_mode_cannot_be_turned_on_withholds_the_partitions_of_its_layout_alone(
    resolved, node
) -> None:
    layout = frozenset({MigPlace("3g.20gb", node.gpus[0].profiles[4].placements[1])})
    modes = GpuModes(ModesOfGpu(whole=False, layout=layout))
    stuck = [replace(one, gpu=replace(one.gpu, mig=replace(one.gpu.mig, pending=True))) for one in node.gpus]

    withheld = offered(replace(node, gpus=tuple(stuck), modes=modes)).withheld

    assert [one.device for one in withheld] == ["gpu-0-mig-3g-20gb-4-7", "gpu-1-mig-3g-20gb-4-7"]


def can_be_made(card, state: GpuState, wanted: Sequence) -> bool:
    """Try every place of every partition on the simulated GPU, which refuses as hardware does."""
    if not wanted:
        return True
    profile, starts = wanted[0]
    for placement in profile.placements:
        if placement.start in starts:
            try:
                after, _ = create_gpu_instance(card, state, profile.profile_id, placement)
            except HardwareError:
                continue
            if can_be_made(card, after, wanted[1:]):
                return True
    return False


@st.composite
def layouts(draw) -> tuple[str, list[LayoutPart]]:
    product = draw(st.sampled_from(sorted(CARDS)))
    names = sorted(PROFILES[product])
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.none() | st.none() | st.integers(0, 7))
        count = 1 if start is not None else draw(st.integers(1, 3))
        parts.append(LayoutPart(draw(st.sampled_from(names)), count, start))
    return product, parts


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(layout=layouts())
def test_a_layout_is_refused_exactly_where_no_order_and_no_places_can_make_it(layout) -> None:
    product, parts = layout
    card, profiles = CARDS[product], PROFILES[product]
    anywhere = range(8)
    wanted = [
        (profiles[one.profile], anywhere if one.start is None else (one.start,))
        for one in parts
        for _ in range(one.count)
    ]

    try:
        found = placed(parts, card.model.profiles)
    except Impossible:
        assert not can_be_made(card, ON, wanted)
        return
    state = ON
    for place in found:
        state, _ = create_gpu_instance(card, state, profiles[place.profile].profile_id, place.placement)
    assert sorted(one.profile for one in found) == sorted(one.name for one, _ in wanted)


@given(layout=layouts(), shuffle=st.randoms(use_true_random=False))
def test_whether_a_layout_is_possible_does_not_depend_on_its_order(layout, shuffle) -> None:
    product, parts = layout
    other = list(parts)
    shuffle.shuffle(other)

    def is_possible(some: list[LayoutPart]) -> bool:
        try:
            return bool(placed(some, CARDS[product].model.profiles))
        except Impossible:
            return False

    assert is_possible(other) == is_possible(parts)
