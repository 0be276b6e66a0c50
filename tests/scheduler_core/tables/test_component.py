"""Components and compiled pools: every device is found, and comes back as it was published."""

from hypothesis import given
from hypothesis import strategies as st
from random_components import changed, machine

from scheduler_core.state.testing import device, pool
from scheduler_core.tables.pool_compiler import PoolCompiler

MACHINES = st.builds(lambda chance: changed(chance, machine(0)), st.randoms(use_true_random=False))


@given(MACHINES)
def test_every_device_of_a_pool_is_found_by_its_name_and_no_other_is(published):
    compiled = PoolCompiler().compile(published)

    for one in published.devices:
        component, position = compiled.find(one.name)
        assert component.device(position) == one
    assert compiled.find("nothing") is None


@given(MACHINES)
def test_each_device_is_listed_once_at_its_index_in_the_pool(published):
    compiled = PoolCompiler().compile(published)

    listed = [entry for component in compiled.components for entry in component.listed_devices()]

    assert sorted(index for index, _ in listed) == list(range(len(published.devices)))
    assert all(one == published.devices[index] for index, one in listed)


@given(MACHINES, st.data())
def test_some_attributes_of_a_device_are_those_of_them_that_it_has(published, data):
    compiled = PoolCompiler().compile(published)
    component, position = compiled.find(data.draw(st.sampled_from(published.devices)).name)
    keys = data.draw(st.lists(st.sampled_from(component.template.structure_class.keys), unique=True))

    found = component.some_attributes(position, keys)

    every = component.device(position).attributes
    assert found == {key: every[key] for key in keys if key in every}


@given(MACHINES)
def test_a_pool_has_one_node_selection_where_all_its_devices_have_that_one(published):
    compiled = PoolCompiler().compile(published)

    selections = {one.nodes for one in published.devices}

    assert (compiled.selection is not None) is (len(selections) == 1)
    for one in published.devices:
        component, position = compiled.find(one.name)
        assert component.selection(position) == one.nodes


def test_a_source_from_which_no_device_draws_comes_back_with_the_pool():
    published = pool(device("lonely", m=3), device("b", m=2), device("p", sources=["b"], m=1))

    assert PoolCompiler().compile(published).restored() == published


def test_an_empty_pool_has_no_common_node_selection():
    assert PoolCompiler().compile(pool()).selection is None
