"""Keys of partial assignments: equal ones come to the same end; exchanged GPUs have one key."""

import pytest
from hypothesis import given
from searched_nodes import SEEDS, SETTINGS, questioned, settled, size, twin

from scheduler_core.model.claim import DistinctAttribute, MatchAttribute
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.testing import DRIVER, claim, device, held, pool, request

MOST = 60  # partial assignments that one example compares
PART = f"device.attributes['{DRIVER}'].kind == 'part'"
BOARD = QualifiedName(f"{DRIVER}/board")


@SETTINGS
@given(SEEDS)
def test_partial_assignments_with_one_key_come_to_the_same_end(seed):
    found = settled(seed)
    if found is None or len({size(one) for options in found.space.requests for one in options}) > 1:
        return  # the search adds the number of results to its keys: here all are the same
    assignment, keys = found.assignment(), found.keys()
    ends = {}

    for request_number in range(1, len(found.space.requests)):
        for after in some_after(found, assignment, request_number):
            end = found.has_answer(after, request_number)
            if end is not None:
                known = ends.setdefault(keys.key(after, request_number, request_number, 0), end)
                assert known == end


def some_after(found, assignment, request_number):
    """Yield assignments in which the requests before one are served, at most ``MOST`` of them."""
    levels = [twin(assignment)]
    for number in range(request_number):
        reached = []
        for one in levels:
            tried = twin(one)
            for _ in found.ways(tried, number):
                reached.append(twin(tried))
                if len(reached) == MOST:
                    break
        levels = reached[:MOST]
    return levels


def machine(*more):
    """Two equal boards with two parts each, and what else there is."""
    boards = (device(f"b{n}", attributes={"kind": "whole", "board": f"b{n}"}, m=2) for n in range(2))
    parts = (
        device(f"b{n}-{part}", sources=[f"b{n}"], attributes={"kind": "part", "board": f"b{n}"}, m=1)
        for n in range(2)
        for part in range(2)
    )
    return pool(*boards, *parts, *more)


def keys_after(found, *, is_fixed=False):
    """The keys of the second request, by the device that the first one got."""
    keys = found.prepared.keys(found.rules, is_fixed=is_fixed)
    assignment, result = found.assignment(), {}
    for _, (taken,) in found.ways(assignment, 0):
        result[found.place(taken)[1]] = keys.key(assignment, 1, "second request", 0)
    return result


@pytest.mark.parametrize("rule", [MatchAttribute(BOARD), DistinctAttribute(BOARD)])
def test_parts_of_equal_boards_leave_one_key(rule):
    wanted = claim(request("a", PART), request("b", PART), constraints=[rule])

    keys = keys_after(questioned(machine(), wanted))

    assert len(keys) == 4
    assert keys["b0-0"] == keys["b1-0"]
    assert keys["b0-1"] == keys["b1-1"]


def test_a_board_that_is_in_use_in_part_is_told_apart():
    wanted = claim(request("a", "true"), request("b"))

    keys = keys_after(questioned(machine(), wanted, held=held("b0-0")))

    assert keys["b0-1"] != keys["b1-1"]


def test_a_board_that_a_later_request_names_is_told_apart():
    named = f"device.attributes['{DRIVER}'].board == 'b0'"
    keys = keys_after(questioned(machine(), claim(request("a", PART), request("b", named))))

    assert keys["b0-0"] != keys["b1-0"]


def test_nothing_is_exchanged_where_parts_of_the_node_are_fixed():
    wanted = claim(request("a", PART), request("b", PART))

    keys = keys_after(questioned(machine(), wanted), is_fixed=True)

    assert keys["b0-0"] != keys["b1-0"]


@pytest.mark.parametrize(("over", "is_open"), [(("a", "b"), True), (("a",), False)])
@pytest.mark.parametrize(
    "devices", [4, 40]
)  # of 40 devices no two rails form clusters: their values are shared
def test_a_rule_counts_only_while_a_request_that_it_binds_is_open(devices, over, is_open):
    rails = pool(*(device(f"d{n}", attributes={"board": f"b{n % 2}"}) for n in range(devices)))
    found = questioned(rails, claim(request("a"), request("b"), constraints=[MatchAttribute(BOARD, over)]))
    keys = found.prepared.keys(found.rules, is_fixed=True)
    seen = set()

    for joined in range(2):
        assignment = found.assignment()
        assignment.rules = tuple(rule.joined(rule.start, 0, joined) for rule in found.rules)
        seen.add(keys.key(assignment, 1, "second request", 0))

    assert (len(seen) == 2) is is_open
