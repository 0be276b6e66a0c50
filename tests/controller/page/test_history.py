"""Use over time: points as far apart as the room for them allows."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from controller.page.history import FIRST_S, MOST, History
from controller.page.value import Point


def lasting(seconds, step=1.0):
    history, now = History(), 0.0
    while now < seconds:
        if history.is_due(now):
            history.add(Point(now, 0.5, None))
        now += step
    return history


def test_points_are_five_seconds_apart_at_first():
    assert [one.at for one in lasting(21).points] == [0, 5, 10, 15, 20]


def test_a_day_is_kept_from_begin_to_end_in_a_bounded_number_of_points():
    points = lasting(86400, FIRST_S).points
    assert len(points) <= MOST
    assert points[0].at == 0
    assert points[-1].at > 86000
    assert len({after.at - before.at for before, after in pairwise(points)}) <= 2


@given(st.lists(st.floats(0, 1e6), max_size=50))
def test_points_are_in_order_even_where_the_clock_is_set_back(times):
    history = History()
    for now in times:
        history.add(Point(now, None, None))
    found = [one.at for one in history.points]
    assert found == sorted(set(found))
    assert not times or found[-1] == times[-1]
