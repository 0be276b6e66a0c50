"""Pool templates: what they read is what reading from the start gives, or nothing."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from random_components import changed, exact, machine

from scheduler_core.model.device import QualifiedName
from scheduler_core.state.testing import DRIVER
from scheduler_core.tables.component import CompiledPool
from scheduler_core.tables.entries import identity
from scheduler_core.tables.pool_compiler import PoolCompiler
from scheduler_core.tables.pool_template import PoolTemplate

SERIAL, LABEL, AT = (QualifiedName(f"{DRIVER}/{name}") for name in ("serial", "label", "at"))


def template_of_known_machines():
    """A template of a machine type of which two were compiled: it is known that serial numbers differ."""
    compiler = PoolCompiler()
    compiler.compile(machine(0))
    return PoolTemplate(machine(1), compiler.compile(machine(1)).components)


def as_pool(published, components):
    """The pool that some components are restored to."""
    found = CompiledPool(
        id=published.id,
        generation=published.generation,
        components=tuple(components),
        seen_from=published.seen_from,
        rejected=published.rejected,
        spare={},
        waits=False,
    )
    return exact(found.restored())


@settings(max_examples=300)
@given(st.randoms(use_true_random=False), st.integers(0, 3), st.integers(0, 2))
def test_what_a_template_reads_is_the_pool_as_it_was_published(chance, number, changes):
    published = machine(number)
    for _ in range(changes):
        published = changed(chance, published)

    components = template_of_known_machines().read(published)

    if components is not None:
        assert as_pool(published, components) == exact(published)
        assert [one.nodes for one in components] == [
            one.nodes for one in PoolCompiler().compile(published).components
        ]


@given(st.integers(2, 1000))
def test_a_machine_that_differs_in_what_machines_differ_in_is_read_by_the_template(number):
    template = template_of_known_machines()

    components = template.read(machine(number))

    assert components is not None
    assert [one.own for one in components] == [(f"{number}-0",), (f"{number}-1",)]


@given(st.data())
def test_a_machine_that_differs_in_anything_else_is_not(data):
    published = machine(2)
    index = data.draw(st.sampled_from(range(len(published.devices))))
    one = published.devices[index]
    other = data.draw(
        st.sampled_from(
            [
                replace(one, attributes={**one.attributes, QualifiedName(f"{DRIVER}/kind"): "other"}),
                replace(
                    one, attributes={key: value for key, value in one.attributes.items() if key == SERIAL}
                ),
                replace(one, is_shareable=True),
                replace(one, only_with="true"),
                replace(one, capacity={}),
            ]
        )
    )

    devices = (*published.devices[:index], other, *published.devices[index + 1 :])

    assert template_of_known_machines().read(replace(published, devices=devices)) is None


def test_a_template_is_out_of_date_once_machines_differ_in_more():
    compiler = PoolCompiler()
    compiler.compile(machine(0))
    template = PoolTemplate(machine(1), compiler.compile(machine(1)).components)
    first = machine(2).devices[0]
    renamed = replace(first, attributes={**first.attributes, QualifiedName(f"{DRIVER}/kind"): "other"})

    compiler.compile(replace(machine(2), devices=(renamed, *machine(2).devices[1:])))

    assert template.read(machine(3)) is None


def labelled(number, labels):
    """A machine whose parts have a label each, beside what it has already."""
    published, left = machine(number), list(labels)
    return replace(
        published,
        devices=tuple(
            replace(one, attributes={**one.attributes, LABEL: left.pop(0)}) if one.draws else one
            for one in published.devices
        ),
    )


@given(st.lists(st.sampled_from(["x", "y", 1, True]), min_size=6, max_size=6))
def test_labels_are_read_where_they_differ_within_each_board_as_in_the_machines_known(labels):
    compiler = PoolCompiler()
    known = [labelled(number, [f"{number}-{part}" for part in range(6)]) for number in range(2)]
    compiler.compile(known[0])
    template = PoolTemplate(known[1], compiler.compile(known[1]).components)
    published = labelled(2, labels)

    components = template.read(published)

    differ = [len({identity(label) for label in board}) > 1 for board in (labels[:3], labels[3:])]
    assert (components is not None) is all(differ)
    if components is not None:
        assert as_pool(published, components) == exact(published)


def test_an_attribute_that_equals_the_known_one_in_python_only_is_a_difference():
    published = machine(2)
    index = next(n for n, one in enumerate(published.devices) if one.attributes.get(AT) == 1)
    one = published.devices[index]

    true = replace(one, attributes={**one.attributes, AT: True})

    devices = (*published.devices[:index], true, *published.devices[index + 1 :])
    assert template_of_known_machines().read(replace(published, devices=devices)) is None
