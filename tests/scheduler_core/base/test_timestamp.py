"""Time stamps as numbers: what the standard library says of the same text."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.timestamp import seconds_of

zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(min_value=datetime(1000, 1, 1)), zones)
def test_a_time_stamp_is_the_second_that_the_calendar_says(moment, zone):
    moment = moment.replace(microsecond=0, tzinfo=zone)

    assert seconds_of(moment.isoformat()) == (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()


def test_parts_of_a_second_count_and_z_is_utc():
    assert seconds_of("1970-01-01T00:00:01.5Z") == 1.5


@pytest.mark.parametrize("text", ["", "now", "2026-01-01", "2026-01-01T00:00:00", "2026-1-1T00:00:00Z"])
def test_any_other_text_is_no_time_stamp(text):
    assert seconds_of(text) is None
