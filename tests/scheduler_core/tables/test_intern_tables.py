"""Intern tables: equal things are one object, different things are not."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.quantity import Quantity
from scheduler_core.state.testing import DRIVER
from scheduler_core.tables.intern_tables import InternTables
from scheduler_core.tables.structure_class import AttributeGroup

AMOUNTS = st.dictionaries(st.sampled_from("mks"), st.integers(0, 4), max_size=3)


def quantities(amounts, family):
    return {
        key: Quantity.of(1024 * amount) if family == "" else Quantity.bytes_of(1024 * amount)
        for key, amount in amounts.items()
    }


def class_key(intern_tables, draws, total, keys=("x",)):
    """A component of one source of which every device draws something."""
    source = intern_tables.number({"m": Quantity(total)})
    facts = tuple((0, ((0, intern_tables.number({"m": Quantity(draw)}), None),), (), None) for draw in draws)
    group = AttributeGroup(keys, tuple(range(len(draws))), (False,) * len(keys))
    return DRIVER, facts, (source,), (group,)


@given(AMOUNTS, AMOUNTS)
def test_amounts_have_one_number_where_they_are_equal_whatever_their_suffix(one, other):
    intern_tables = InternTables()

    numbers = [
        intern_tables.number(quantities(amounts, family)) for amounts in (one, other) for family in ("", "i")
    ]

    assert numbers[0] == numbers[1]
    assert numbers[2] == numbers[3]
    assert (numbers[0] == numbers[2]) is (list(one.items()) == list(other.items()))


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=4), st.lists(st.integers(1, 3), min_size=1, max_size=4)
)
def test_structure_classes_are_one_object_where_their_keys_are_equal(one, other):
    intern_tables = InternTables()

    first, again, second = (
        intern_tables.structure_class(class_key(intern_tables, draws, 5)) for draws in (one, one, other)
    )

    assert first is again
    assert (first is second) is (one == other)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(2, 50))
def test_components_that_differ_in_units_or_attributes_only_share_their_occupancy_tables(draws, unit):
    intern_tables = InternTables()
    large = [unit * draw for draw in draws]

    first, second = (
        intern_tables.structure_class(key)
        for key in (
            class_key(intern_tables, draws, 6),
            class_key(intern_tables, large, 6 * unit, keys=("y", "z")),
        )
    )

    assert first is not second
    assert first.tables is second.tables


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=1, max_size=6))
def test_a_structure_class_has_one_template_until_its_components_differ_in_more_entries(rows):
    intern_tables = InternTables()
    found = intern_tables.structure_class(class_key(intern_tables, [1], 1, keys=("x", "y")))
    templates = {}

    for row in rows:
        found.note([row])
        template = intern_tables.template(found, row)
        assert templates.setdefault(found.varying, template) is template
        assert set(template.open) == found.varying

    assert len(set(templates.values())) == len(templates)


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2)), min_size=2, max_size=5))
def test_listings_are_one_object_where_names_and_indexes_are_equal(entries):
    intern_tables = InternTables()

    listings = [intern_tables.layout((name,), ("s",), (index,)) for name, index in entries]

    for (entry, listing), (other, theirs) in zip(
        zip(entries, listings, strict=True), zip(entries[1:], listings[1:], strict=True), strict=False
    ):
        assert (listing is theirs) is (entry == other)
