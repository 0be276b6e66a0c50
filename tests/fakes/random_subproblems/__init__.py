"""Random subproblems of a plan, and every answer to them by trying everything."""

from collections.abc import Iterator, Sequence

from hypothesis import strategies as st
from random_components import structures

from scheduler_core.base.effort import Effort
from scheduler_core.engine.solve.bundled import LOOSE, BundledSubproblem
from scheduler_core.engine.solve.component_view import ComponentView
from scheduler_core.engine.solve.counted import CountedSubproblem, LimitedGroup
from scheduler_core.engine.solve.subproblem import Member, Picks, States
from scheduler_core.tables.bits import positions
from scheduler_core.tables.occupancy import OccupancyTables
from scheduler_core.tables.structure import Structure

COLUMNS = 2


@st.composite
def members(draw: st.DrawFn, groups: Sequence[int]) -> tuple[tuple[Member, ...], States]:
    """Components, one per group number, in the order of their first device, and a state of each.

    Half of the time they are of one structure, and some of them equal in everything.
    """
    if draw(st.booleans()):
        tables = OccupancyTables(draw(structures(3)))
        views = [draw(_views(tables)), draw(_views(tables))]
        states = [0, draw(st.integers(0, tables.everything))]
        drawn = [(draw(st.sampled_from(views)), draw(st.sampled_from(states))) for _ in groups]
    else:
        drawn = []
        for _ in groups:
            tables = OccupancyTables(draw(structures(4)))
            drawn.append((draw(_views(tables)), draw(st.just(0) | st.integers(0, tables.everything))))
    owners = draw(
        st.permutations([number for number, (view, _) in enumerate(drawn) for _ in range(view.tables.size)])
    )
    ranks = [
        tuple(rank for rank, owner in enumerate(owners) if owner == number) for number in range(len(groups))
    ]
    order = sorted(range(len(groups)), key=lambda number: ranks[number][0])
    found = tuple(
        Member(component=number, view=drawn[number][0], ranks=ranks[number], group=group)
        for number, group in zip(order, groups, strict=True)
    )
    return found, tuple(drawn[number][1] for number in order)


@st.composite
def _views(draw: st.DrawFn, tables: OccupancyTables) -> ComponentView:
    """A component as some columns see it: a column often suits every position, or the first one alone."""
    masks = st.just(tables.everything) | st.just(1) | st.integers(0, tables.everything)
    return ComponentView(tables, tuple(draw(masks) for _ in range(COLUMNS)), Effort())


ORDERS = st.lists(st.integers(0, COLUMNS - 1), min_size=1, max_size=4).map(tuple)


@st.composite
def counted_subproblems(draw: st.DrawFn) -> tuple[CountedSubproblem, States]:
    """Up to three components, in limited groups or each in a group of its own."""
    groups = draw(st.sampled_from([(0,), (0, 1), (0, 0), (0, 1, 2), (0, 0, 1), (0, 1, 0)]))
    found, states = draw(members(groups))
    limited = tuple(
        LimitedGroup(
            tuple(index for index, mine in enumerate(groups) if mine == group),
            is_limited=groups.count(group) > 1 or draw(st.booleans()),
        )
        for group in range(max(groups) + 1)
    )
    marks = tuple(draw(st.booleans()) for _ in range(COLUMNS))
    return CountedSubproblem(found, limited, draw(ORDERS), marks, Effort()), states


def equal_members(groups: Sequence[int], size: int = 1) -> tuple[Member, ...]:
    """Components of some free devices, equal but for their group; every device suits every column."""
    tables = OccupancyTables(Structure(parents=((),) * size, draws=((),) * size, totals=(0,)))
    view = ComponentView(tables, (tables.everything,) * COLUMNS, Effort())
    return tuple(
        Member(number, view, tuple(range(number * size, (number + 1) * size)), group)
        for number, group in enumerate(groups)
    )


def contested_subproblem() -> CountedSubproblem:
    """Two turns and two components of one device: the first suits both turns, the second the first turn."""
    tables = OccupancyTables(Structure(parents=((),), draws=((),), totals=(0,)))
    both, one = (ComponentView(tables, masks, Effort()) for masks in ((1, 1), (1, 0)))
    found = (Member(0, both, (0,), 0), Member(1, one, (1,), 1))
    groups = tuple(LimitedGroup((number,), is_limited=False) for number in range(2))
    return CountedSubproblem(found, groups, (0, 1), (False, False), Effort())


@st.composite
def bundled_subproblems(draw: st.DrawFn) -> tuple[BundledSubproblem, tuple[int, ...], int, States]:
    """Up to three components in groups, the owner of each turn, and how many groups may hold bundles."""
    groups, holding = draw(
        st.sampled_from(
            [((0, 1), 2), ((0, 1), 1), ((0, 0, 1), 2), ((0, 0, 1), 1), ((0, 1, 2), 2), ((0, 0), 1)]
        )
    )
    found, states = draw(members(groups))
    order = draw(ORDERS)
    owners = tuple(draw(st.sampled_from([LOOSE, 0, 0, 1])) for _ in order)
    owners = (0, *owners[1:]) if 0 not in owners else owners
    subproblem = BundledSubproblem(
        members=found,
        order=order,
        owners=owners,
        groups=tuple(
            tuple(index for index, mine in enumerate(groups) if mine == group)
            for group in range(max(groups) + 1)
        ),
        holding=holding,
        columns=COLUMNS,
        effort=Effort(),
    )
    return subproblem, owners, holding, states


def answers(
    subproblem: CountedSubproblem | BundledSubproblem, states: States, picks: Picks = ()
) -> Iterator[Picks]:
    """Yield every way to take a free device per turn, those with devices listed early first."""
    if len(picks) == len(subproblem.order):
        yield picks
        return
    column = subproblem.order[len(picks)]
    free = [
        (member.ranks[position], number, position)
        for number, member in enumerate(subproblem.members)
        for position in positions(member.view.tables.free(states[number]) & member.view.masks[column])
    ]
    for _, number, position in sorted(free):
        taken = (*states[:number], states[number] | 1 << position, *states[number + 1 :])
        yield from answers(subproblem, taken, (*picks, (number, position)))
