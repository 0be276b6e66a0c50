"""What all subproblems share: taking a device changes one state, and a guided walk finds the first answer."""

from hypothesis import given, settings
from hypothesis import strategies as st
from random_subproblems import bundled_subproblems, contested_subproblem, counted_subproblems

from scheduler_core.engine.solve.subproblem import after, guided
from scheduler_core.tables.bits import positions

MANY = settings(max_examples=200)
SUBPROBLEMS = counted_subproblems() | bundled_subproblems().map(lambda found: (found[0], found[-1]))


@MANY
@given(SUBPROBLEMS)
def test_a_guided_walk_ends_in_the_first_answer_wherever_there_is_one(given_subproblem):
    subproblem, states = given_subproblem
    if subproblem.fits(states):
        assert guided(subproblem, states) == subproblem.first(states)


@MANY
@given(SUBPROBLEMS, st.data())
def test_taking_a_device_of_a_member_sets_its_bit_and_changes_no_other_state(given_subproblem, data):
    subproblem, states = given_subproblem
    number = data.draw(st.integers(0, len(states) - 1))
    member = subproblem.members[number]
    for position in positions(member.view.tables.free(states[number])):
        then = after(subproblem, states, number, position)

        assert then[number] == states[number] | 1 << position
        assert then[:number] + then[number + 1 :] == states[:number] + states[number + 1 :]


@MANY
@given(SUBPROBLEMS)
def test_candidates_are_free_suit_their_turn_and_come_in_listed_order(given_subproblem):
    subproblem, states = given_subproblem

    offered = list(subproblem.candidates(states, 0, subproblem.start()))

    ranks = [subproblem.members[number].ranks[position] for number, position in offered]
    assert ranks == sorted(ranks)
    for number, position in offered:
        view = subproblem.members[number].view
        assert view.tables.free(states[number]) & view.masks[subproblem.order[0]] & 1 << position


def test_a_guided_walk_passes_over_a_device_that_a_later_turn_needs():
    assert guided(contested_subproblem(), (0, 0)) == ((1, 0), (0, 0))
