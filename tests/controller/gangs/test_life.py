"""What a group waits for, and when it gives its devices back."""

from hypothesis import given
from hypothesis import strategies as st

from controller.gangs.life import (
    Complete,
    Gathering,
    GiveBack,
    Members,
    Placed,
    Question,
    Started,
    TimedOut,
    Why,
    giving_back,
    lived,
    next_look_s,
    question,
    unfit,
)
from controller.gangs.values import Gang

FOUR = Gang(minimum=4)
HASTY = Gang(minimum=4, timeout_s=60.0)


def members(waiting="", holding="", bound=""):
    """Members by letters."""
    return Members(waiting=frozenset(waiting), holding=frozenset(holding), bound=frozenset(bound))


def test_a_group_gathers_until_its_minimum_exists():
    life = lived(None, FOUR, members("abc"), 10.0)

    assert life == Gathering(have=3, minimum=4, since_s=10.0)
    assert question(life, members("abc")) is None


def test_a_complete_group_is_asked_about_as_a_whole():
    life = lived(Gathering(3, 4, 10.0), FOUR, members("abcde"), 11.0)

    assert life == Complete(missing=4, since_s=10.0)
    assert question(life, members("abcde")) == Question(frozenset("abcde"), 4)


def test_a_group_whose_members_have_devices_is_placed_until_they_are_bound():
    assert lived(None, FOUR, members(holding="abcd"), 5.0) == Placed(5.0)
    assert lived(Placed(5.0), FOUR, members(holding="ab", bound="cd"), 6.0) == Placed(5.0)
    assert lived(Placed(5.0), FOUR, members(bound="abcd"), 7.0) == Started()


def test_members_beyond_the_minimum_are_served_one_by_one():
    for now in (members("xy", holding="abcd"), members("xy", bound="abcd")):
        assert question(lived(None, FOUR, now, 0.0), now) == Question(frozenset("xy"), 0)


def test_a_group_that_half_disappeared_gives_back_what_is_not_bound():
    now = members("d", holding="b", bound="a")

    life = lived(Placed(5.0), FOUR, now, 6.0)

    assert life == GiveBack(Why.TOO_FEW, 5.0)
    assert giving_back(life, now) == frozenset("b")
    assert question(life, now) is None


def test_bound_members_keep_their_devices_whatever_happens():
    now = members(bound="a")

    assert giving_back(lived(Started(), FOUR, now, 6.0), now) == frozenset()


def test_a_started_group_that_lost_a_member_waits_for_its_replacement():
    assert lived(Started(), FOUR, members(bound="abc"), 9.0) == Gathering(3, 4, 9.0)
    now = members("x", bound="abc")
    assert question(lived(Gathering(3, 4, 9.0), FOUR, now, 10.0), now) == Question(frozenset("x"), 1)


def test_a_member_whose_devices_were_taken_away_is_asked_about_beside_the_others():
    now = members("d", holding="abc")

    assert question(lived(Placed(0.0), FOUR, now, 1.0), now) == Question(frozenset("d"), 1)


def test_where_that_member_fits_nowhere_the_others_give_back_and_all_are_asked_about():
    now = members("d", holding="bc", bound="a")
    life = unfit(lived(Placed(0.0), FOUR, now, 1.0), now)

    assert life == GiveBack(Why.UNFIT, 0.0)
    assert giving_back(life, now) == frozenset("bc")
    then = members("bcd", bound="a")
    assert question(lived(life, FOUR, then, 2.0), then) == Question(frozenset("bcd"), 3)


def test_a_group_of_which_nobody_holds_anything_stays_complete_where_it_does_not_fit():
    now = members("abcd")
    life = lived(None, FOUR, now, 1.0)

    assert unfit(life, now) == life


def test_a_group_that_waits_too_long_gives_back_and_is_not_asked_about_for_as_long_again():
    now = members("cd", holding="ab")
    life = lived(Placed(0.0), HASTY, now, 60.0)

    assert life == TimedOut(frozenset("abcd"), 120.0)
    assert giving_back(life, now) == frozenset("ab")
    waiting = members("abcd")
    assert lived(life, HASTY, waiting, 119.0) == life
    assert question(life, waiting) is None
    assert lived(life, HASTY, waiting, 120.0) == Complete(4, 120.0)


def test_after_a_time_out_a_change_of_the_members_begins_the_wait_anew():
    life = TimedOut(frozenset("abcd"), 120.0)

    assert lived(life, HASTY, members("abce"), 70.0) == Complete(4, 70.0)


def test_a_group_without_a_time_never_times_out():
    assert isinstance(lived(Gathering(3, 4, 0.0), FOUR, members("abc"), 1e9), Gathering)
    assert next_look_s(Gathering(3, 4, 0.0), FOUR) is None


def test_a_group_with_a_time_says_when_to_look_again():
    assert next_look_s(Gathering(3, 4, 5.0), HASTY) == 65.0
    assert next_look_s(TimedOut(frozenset("a"), 120.0), HASTY) == 120.0
    assert next_look_s(Started(), HASTY) is None


def test_time_counts_from_the_first_look_through_all_that_comes_before_the_start():
    life = lived(None, HASTY, members("abc"), 0.0)
    life = lived(life, HASTY, members("abcd"), 30.0)
    life = lived(life, HASTY, members(holding="abcd"), 59.0)

    assert isinstance(lived(life, HASTY, members(holding="abcd"), 60.0), TimedOut)


LOOKS = st.lists(
    st.tuples(st.text("abcdef", max_size=6), st.text("whb", min_size=6, max_size=6), st.floats(0.1, 40.0)),
    max_size=8,
)


@given(looks=LOOKS, gang=st.builds(Gang, st.integers(1, 5), st.sampled_from([None, 60.0])))
def test_devices_are_given_or_given_back_and_never_both_and_never_of_a_bound_member(looks, gang):
    life, now_s = None, 0.0
    for letters, states, later in looks:
        now_s += later
        state_of = dict(zip("abcdef", states, strict=True))
        parts = {state: frozenset(one for one in letters if state_of[one] == state) for state in "whb"}
        now = Members(waiting=parts["w"], holding=parts["h"], bound=parts["b"])
        life = lived(life, gang, now, now_s)
        asked, back = question(life, now), giving_back(life, now)

        assert not (asked and back)
        assert back <= now.holding
        if asked:
            assert asked.members <= now.waiting
            assert len(now.holding | now.bound) + asked.minimum >= gang.minimum
            assert asked.minimum <= len(asked.members)
        if now.holding and len(now.all) < gang.minimum:
            assert back == now.holding
